"""Secrets."""

from __future__ import annotations

from . import (
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

# As older programs call them.
MCLIDatabricksSecret = DatabricksSecret
MCLIDockerSecret = DockerSecret
MCLIEnvVarSecret = EnvVarSecret
MCLIGCPSecret = GCPSecret
MCLIGitSSHSecret = GitSSHSecret
MCLIHuggingFaceSecret = HuggingFaceSecret
MCLIMountedSecret = MountedSecret
MCLIOCISecret = OCISecret
MCLIS3Secret = S3Secret
MCLISFTPSSHSecret = SFTPSSHSecret
MCLISSHSecret = SSHSecret
