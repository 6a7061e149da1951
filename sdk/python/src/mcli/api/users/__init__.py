"""Calls about users."""

from __future__ import annotations

from muster.runs import get_users as get_users
