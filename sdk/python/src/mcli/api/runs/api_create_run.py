"""Submitting."""

from __future__ import annotations

from muster.runs import create_run as create_run
