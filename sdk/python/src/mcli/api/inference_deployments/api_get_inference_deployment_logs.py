"""Output."""

from __future__ import annotations

from muster.deployments import get_inference_deployment_logs as get_inference_deployment_logs
