"""Deleting."""

from __future__ import annotations

from muster.deployments import delete_inference_deployment as delete_inference_deployment, delete_inference_deployments as delete_inference_deployments
