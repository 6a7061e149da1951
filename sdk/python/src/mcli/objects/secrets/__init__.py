"""Secrets, as older programs import them."""

from __future__ import annotations

from ...models.mcli_secret import (
    DatabricksSecret as DatabricksSecret,
    MCLIDatabricksSecret as MCLIDatabricksSecret,
    DockerSecret as DockerSecret,
    MCLIDockerSecret as MCLIDockerSecret,
    EnvVarSecret as EnvVarSecret,
    MCLIEnvVarSecret as MCLIEnvVarSecret,
    GCPSecret as GCPSecret,
    MCLIGCPSecret as MCLIGCPSecret,
    GitSSHSecret as GitSSHSecret,
    MCLIGitSSHSecret as MCLIGitSSHSecret,
    HuggingFaceSecret as HuggingFaceSecret,
    MCLIHuggingFaceSecret as MCLIHuggingFaceSecret,
    MountedSecret as MountedSecret,
    MCLIMountedSecret as MCLIMountedSecret,
    OCISecret as OCISecret,
    MCLIOCISecret as MCLIOCISecret,
    S3Secret as S3Secret,
    MCLIS3Secret as MCLIS3Secret,
    SFTPSSHSecret as SFTPSSHSecret,
    MCLISFTPSSHSecret as MCLISFTPSSHSecret,
    SSHSecret as SSHSecret,
    MCLISSHSecret as MCLISSHSecret,
)
