"""The configuration of a deployment."""

from __future__ import annotations

from muster.deployment import FinalInferenceDeploymentConfig as FinalInferenceDeploymentConfig, InferenceDeploymentConfig as InferenceDeploymentConfig
