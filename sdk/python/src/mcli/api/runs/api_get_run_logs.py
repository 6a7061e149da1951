"""Output."""

from __future__ import annotations

from muster.runs import follow_run_logs as follow_run_logs, get_run_logs as get_run_logs
