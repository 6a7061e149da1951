"""Deleting."""

from __future__ import annotations

from muster.runs import delete_run as delete_run, delete_runs as delete_runs
