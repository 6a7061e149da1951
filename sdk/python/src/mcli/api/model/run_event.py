"""Events of runs."""

from __future__ import annotations

from muster.run import FormattedRunEvent as FormattedRunEvent
