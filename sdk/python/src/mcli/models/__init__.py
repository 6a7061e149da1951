"""What calls take and return."""

from __future__ import annotations

from muster.deployment import InferenceDeployment as InferenceDeployment, InferenceDeploymentConfig as InferenceDeploymentConfig
from muster.run import Run as Run, ObjectList as ObjectList, PaginatedObjectList as PaginatedObjectList
from muster.runconfig import FinalRunConfig as FinalRunConfig, RunConfig as RunConfig
from muster.runstatus import RunStatus as RunStatus, RunType as RunType
from muster.secrets import (
    DatabricksSecret as DatabricksSecret,
    DockerSecret as DockerSecret,
    EnvVarSecret as EnvVarSecret,
    GCPSecret as GCPSecret,
    GitSSHSecret as GitSSHSecret,
    HuggingFaceSecret as HuggingFaceSecret,
    MountedSecret as MountedSecret,
    OCISecret as OCISecret,
    S3Secret as S3Secret,
    SFTPSSHSecret as SFTPSSHSecret,
    SSHSecret as SSHSecret,
    Secret as Secret,
)
from muster.clusters import (
    ClusterDetails as ClusterDetails,
    ClusterUtilization as ClusterUtilization,
    ClusterUtilizationByRun as ClusterUtilizationByRun,
    Instance as Instance,
    InstanceUtilization as InstanceUtilization,
)
