"""Clusters."""

from __future__ import annotations

from muster.clusters import (
    ClusterDetails as ClusterDetails,
    ClusterUtilization as ClusterUtilization,
    ClusterUtilizationByRun as ClusterUtilizationByRun,
    Instance as Instance,
    InstanceUtilization as InstanceUtilization,
)
