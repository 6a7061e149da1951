"""A service that is not there: its call says what is instead."""

from __future__ import annotations

from muster.deployments import create_finetuning_run as create_finetuning_run
