"""Changing what is kept with a run."""

from __future__ import annotations

from muster.runs import update_run_metadata as update_run_metadata
