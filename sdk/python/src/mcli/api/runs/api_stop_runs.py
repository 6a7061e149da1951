"""Stopping."""

from __future__ import annotations

from muster.runs import stop_run as stop_run, stop_runs as stop_runs
