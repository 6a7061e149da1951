"""Forgetting."""

from __future__ import annotations

from muster.runs import delete_secrets as delete_secrets
