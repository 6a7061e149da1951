"""Muster: submit, follow and explain AI workloads; report from inside them.

Everything is imported when it is first used, so that `import muster` costs
next to nothing in a training image.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List

from ._version import __version__

if TYPE_CHECKING:
    from .client import (
        ANY as ANY,
        Client as Client,
        default_client as default_client,
        set_default_client as set_default_client,
    )
    from .aio import (
        AsyncClient as AsyncClient,
        AsyncWorkload as AsyncWorkload,
    )
    from .models import (
        ENDS as ENDS,
        Change as Change,
        Page as Page,
        Workload as Workload,
    )
    from .errors import (
        MusterError as MusterError,
        InvalidError as InvalidError,
        NotFoundError as NotFoundError,
        ConflictError as ConflictError,
        IllegalPhaseError as IllegalPhaseError,
        UnschedulableError as UnschedulableError,
        UnsupportedError as UnsupportedError,
        UnavailableError as UnavailableError,
        UnauthenticatedError as UnauthenticatedError,
        ForbiddenError as ForbiddenError,
        DiskFullError as DiskFullError,
        NoLogsError as NoLogsError,
        InternalError as InternalError,
        UnreachableError as UnreachableError,
        WorkloadFailed as WorkloadFailed,
    )
    from .runstatus import (
        RunStatus as RunStatus,
        RunType as RunType,
    )
    from .runconfig import (
        RunConfig as RunConfig,
        FinalRunConfig as FinalRunConfig,
        MCLIRunConfigValidationError as MCLIRunConfigValidationError,
    )
    from .run import (
        FormattedRunEvent as FormattedRunEvent,
        Node as Node,
        ObjectList as ObjectList,
        PaginatedObjectList as PaginatedObjectList,
        Resumption as Resumption,
        Run as Run,
        RunLifecycle as RunLifecycle,
    )
    from .runs import (
        MAPIException as MAPIException,
        RunStatusNotReached as RunStatusNotReached,
        create_interactive_run as create_interactive_run,
        create_run as create_run,
        create_secret as create_secret,
        delete_run as delete_run,
        delete_runs as delete_runs,
        delete_secrets as delete_secrets,
        follow_run_logs as follow_run_logs,
        get_cluster as get_cluster,
        get_clusters as get_clusters,
        get_run as get_run,
        get_run_logs as get_run_logs,
        get_runs as get_runs,
        get_secrets as get_secrets,
        get_users as get_users,
        initialize as initialize,
        set_api_key as set_api_key,
        start_run as start_run,
        start_runs as start_runs,
        stop_run as stop_run,
        stop_runs as stop_runs,
        update_run as update_run,
        update_run_metadata as update_run_metadata,
        wait_for_run_status as wait_for_run_status,
        watch_run_status as watch_run_status,
    )
    from .deployment import (
        FinalInferenceDeploymentConfig as FinalInferenceDeploymentConfig,
        InferenceDeployment as InferenceDeployment,
        InferenceDeploymentConfig as InferenceDeploymentConfig,
        InferenceDeploymentReplica as InferenceDeploymentReplica,
    )
    from .deployments import (
        create_finetuning_run as create_finetuning_run,
        create_inference_deployment as create_inference_deployment,
        create_pretraining_run as create_pretraining_run,
        delete_inference_deployment as delete_inference_deployment,
        delete_inference_deployments as delete_inference_deployments,
        follow_inference_deployment_logs as follow_inference_deployment_logs,
        get_inference_deployment as get_inference_deployment,
        get_inference_deployment_logs as get_inference_deployment_logs,
        get_inference_deployments as get_inference_deployments,
        ping as ping,
        predict as predict,
        update_inference_deployment as update_inference_deployment,
        update_inference_deployments as update_inference_deployments,
    )
    from .clusters import (
        ClusterDetails as ClusterDetails,
        ClusterUtilization as ClusterUtilization,
        ClusterUtilizationByRun as ClusterUtilizationByRun,
        Instance as Instance,
        InstanceUtilization as InstanceUtilization,
    )
    from .secrets import (
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
    from ._job import (
        ImageOptions as ImageOptions,
        Job as Job,
        JobOptions as JobOptions,
        ResourceOptions as ResourceOptions,
        SchedulingOptions as SchedulingOptions,
        job as job,
    )
    from .inrun import (
        Preemption as Preemption,
        ThisRun as ThisRun,
        checkpoint as checkpoint,
        flush as flush,
        on_preempt as on_preempt,
        report as report,
        resume_from as resume_from,
        stopping as stopping,
        this_run as this_run,
    )

_WHERE: Dict[str, str] = {
    "ANY": "client",
    "Client": "client",
    "default_client": "client",
    "set_default_client": "client",
    "AsyncClient": "aio",
    "AsyncWorkload": "aio",
    "ENDS": "models",
    "Change": "models",
    "Page": "models",
    "Workload": "models",
    "MusterError": "errors",
    "InvalidError": "errors",
    "NotFoundError": "errors",
    "ConflictError": "errors",
    "IllegalPhaseError": "errors",
    "UnschedulableError": "errors",
    "UnsupportedError": "errors",
    "UnavailableError": "errors",
    "UnauthenticatedError": "errors",
    "ForbiddenError": "errors",
    "DiskFullError": "errors",
    "NoLogsError": "errors",
    "InternalError": "errors",
    "UnreachableError": "errors",
    "WorkloadFailed": "errors",
    "RunStatus": "runstatus",
    "RunType": "runstatus",
    "RunConfig": "runconfig",
    "FinalRunConfig": "runconfig",
    "MCLIRunConfigValidationError": "runconfig",
    "FormattedRunEvent": "run",
    "Node": "run",
    "ObjectList": "run",
    "PaginatedObjectList": "run",
    "Resumption": "run",
    "Run": "run",
    "RunLifecycle": "run",
    "MAPIException": "runs",
    "RunStatusNotReached": "runs",
    "create_interactive_run": "runs",
    "create_run": "runs",
    "create_secret": "runs",
    "delete_run": "runs",
    "delete_runs": "runs",
    "delete_secrets": "runs",
    "follow_run_logs": "runs",
    "get_cluster": "runs",
    "get_clusters": "runs",
    "get_run": "runs",
    "get_run_logs": "runs",
    "get_runs": "runs",
    "get_secrets": "runs",
    "get_users": "runs",
    "initialize": "runs",
    "set_api_key": "runs",
    "start_run": "runs",
    "start_runs": "runs",
    "stop_run": "runs",
    "stop_runs": "runs",
    "update_run": "runs",
    "update_run_metadata": "runs",
    "wait_for_run_status": "runs",
    "watch_run_status": "runs",
    "FinalInferenceDeploymentConfig": "deployment",
    "InferenceDeployment": "deployment",
    "InferenceDeploymentConfig": "deployment",
    "InferenceDeploymentReplica": "deployment",
    "create_finetuning_run": "deployments",
    "create_inference_deployment": "deployments",
    "create_pretraining_run": "deployments",
    "delete_inference_deployment": "deployments",
    "delete_inference_deployments": "deployments",
    "follow_inference_deployment_logs": "deployments",
    "get_inference_deployment": "deployments",
    "get_inference_deployment_logs": "deployments",
    "get_inference_deployments": "deployments",
    "ping": "deployments",
    "predict": "deployments",
    "update_inference_deployment": "deployments",
    "update_inference_deployments": "deployments",
    "ClusterDetails": "clusters",
    "ClusterUtilization": "clusters",
    "ClusterUtilizationByRun": "clusters",
    "Instance": "clusters",
    "InstanceUtilization": "clusters",
    "DatabricksSecret": "secrets",
    "DockerSecret": "secrets",
    "EnvVarSecret": "secrets",
    "GCPSecret": "secrets",
    "GitSSHSecret": "secrets",
    "HuggingFaceSecret": "secrets",
    "MountedSecret": "secrets",
    "OCISecret": "secrets",
    "S3Secret": "secrets",
    "SFTPSSHSecret": "secrets",
    "SSHSecret": "secrets",
    "Secret": "secrets",
    "ImageOptions": "_job",
    "Job": "_job",
    "JobOptions": "_job",
    "ResourceOptions": "_job",
    "SchedulingOptions": "_job",
    "job": "_job",
    "Preemption": "inrun",
    "ThisRun": "inrun",
    "checkpoint": "inrun",
    "flush": "inrun",
    "on_preempt": "inrun",
    "report": "inrun",
    "resume_from": "inrun",
    "stopping": "inrun",
    "this_run": "inrun",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError("module 'muster' has no attribute %r" % name)
    import importlib

    value = getattr(importlib.import_module("." + _WHERE[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> List[str]:
    return sorted([*globals(), *_WHERE])


__all__ = ["__version__", *_WHERE]
