"""Reading."""

from __future__ import annotations

from muster.deployments import get_inference_deployment as get_inference_deployment, get_inference_deployments as get_inference_deployments
