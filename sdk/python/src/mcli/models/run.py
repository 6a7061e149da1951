"""Runs."""

from __future__ import annotations

from muster.run import (
    FormattedRunEvent as FormattedRunEvent,
    Node as Node,
    Resumption as Resumption,
    Run as Run,
    RunLifecycle as RunLifecycle,
)
