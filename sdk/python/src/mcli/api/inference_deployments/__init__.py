"""Calls about deployments."""

from __future__ import annotations

from muster.deployments import (
    create_inference_deployment as create_inference_deployment,
    delete_inference_deployment as delete_inference_deployment,
    delete_inference_deployments as delete_inference_deployments,
    get_inference_deployment as get_inference_deployment,
    get_inference_deployment_logs as get_inference_deployment_logs,
    get_inference_deployments as get_inference_deployments,
    ping as ping,
    predict as predict,
    update_inference_deployment as update_inference_deployment,
    update_inference_deployments as update_inference_deployments,
)
