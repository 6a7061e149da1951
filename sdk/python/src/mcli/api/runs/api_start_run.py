"""Running again."""

from __future__ import annotations

from muster.runs import start_run as start_run, start_runs as start_runs
