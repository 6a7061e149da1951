"""Storing."""

from __future__ import annotations

from muster.runs import create_secret as create_secret
