"""Lists."""

from __future__ import annotations

from muster.run import ObjectList as ObjectList, PaginatedObjectList as PaginatedObjectList
