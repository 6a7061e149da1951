"""Submitting."""

from __future__ import annotations

from muster.deployments import create_inference_deployment as create_inference_deployment
