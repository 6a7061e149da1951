"""Listing."""

from __future__ import annotations

from muster.runs import get_secrets as get_secrets
