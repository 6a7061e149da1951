"""What calls return."""

from __future__ import annotations

from muster.clusters import (
    ClusterDetails as ClusterDetails,
    ClusterUtilization as ClusterUtilization,
    ClusterUtilizationByRun as ClusterUtilizationByRun,
    Instance as Instance,
    InstanceUtilization as InstanceUtilization,
)
from muster.deployment import InferenceDeployment as InferenceDeployment, InferenceDeploymentReplica as InferenceDeploymentReplica
from muster.run import Run as Run
