"""Deployments."""

from __future__ import annotations

from muster.deployment import InferenceDeployment as InferenceDeployment, InferenceDeploymentReplica as InferenceDeploymentReplica
