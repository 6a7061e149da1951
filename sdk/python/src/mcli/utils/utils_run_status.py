"""The states of a run."""

from __future__ import annotations

from muster.runstatus import RunStatus as RunStatus
