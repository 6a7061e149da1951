"""Changing."""

from __future__ import annotations

from muster.deployments import update_inference_deployment as update_inference_deployment, update_inference_deployments as update_inference_deployments
