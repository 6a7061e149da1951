"""Waiting."""

from __future__ import annotations

from muster.runs import wait_for_run_status as wait_for_run_status, watch_run_status as watch_run_status
