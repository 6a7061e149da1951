"""Reading."""

from __future__ import annotations

from muster.runs import get_run as get_run, get_runs as get_runs
