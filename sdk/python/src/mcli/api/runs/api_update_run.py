"""Changing how runs are scheduled."""

from __future__ import annotations

from muster.runs import update_run as update_run
