"""Where mcli keeps its calls."""

from __future__ import annotations

