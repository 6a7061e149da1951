"""The configuration of a run."""

from __future__ import annotations

from muster.runconfig import FinalRunConfig as FinalRunConfig, RunConfig as RunConfig
