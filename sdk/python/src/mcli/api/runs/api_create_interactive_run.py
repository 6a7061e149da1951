"""Interactive runs."""

from __future__ import annotations

from muster.runs import create_interactive_run as create_interactive_run
