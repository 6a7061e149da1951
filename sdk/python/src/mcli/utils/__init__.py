"""Where mcli keeps the rest."""

from __future__ import annotations

