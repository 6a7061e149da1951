"""Calls about secrets."""

from __future__ import annotations

from muster.runs import create_secret as create_secret, get_secrets as get_secrets, delete_secrets as delete_secrets
