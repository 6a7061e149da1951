"""mcli's SDK on Muster: published ``from mcli import …`` lines run unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List

if TYPE_CHECKING:
    from .sdk import *

from muster._version import __version__

# Written out, since `import *` asks for nothing that is only found by __getattr__.
__all__ = [
    "ClusterDetails",
    "ClusterUtilization",
    "ClusterUtilizationByRun",
    "ComputeConfig",
    "DatabricksSecret",
    "DockerSecret",
    "EnvVarSecret",
    "FinalInferenceDeploymentConfig",
    "FinalRunConfig",
    "FormattedRunEvent",
    "GCPSecret",
    "GitSSHSecret",
    "HuggingFaceSecret",
    "InferenceDeployment",
    "InferenceDeploymentConfig",
    "InferenceDeploymentReplica",
    "Instance",
    "InstanceUtilization",
    "MAPIException",
    "MCLIConfig",
    "MCLIRunConfigValidationError",
    "MountedSecret",
    "Node",
    "OCISecret",
    "ObjectList",
    "PaginatedObjectList",
    "Resumption",
    "Run",
    "RunConfig",
    "RunLifecycle",
    "RunStatus",
    "RunStatusNotReached",
    "RunType",
    "S3Secret",
    "SFTPSSHSecret",
    "SSHSecret",
    "SchedulingConfig",
    "Secret",
    "create_finetuning_run",
    "create_inference_deployment",
    "create_interactive_run",
    "create_pretraining_run",
    "create_run",
    "create_secret",
    "delete_inference_deployment",
    "delete_inference_deployments",
    "delete_run",
    "delete_runs",
    "delete_secrets",
    "follow_inference_deployment_logs",
    "follow_run_logs",
    "get_cluster",
    "get_clusters",
    "get_inference_deployment",
    "get_inference_deployment_logs",
    "get_inference_deployments",
    "get_run",
    "get_run_logs",
    "get_runs",
    "get_secrets",
    "get_users",
    "initialize",
    "ping",
    "predict",
    "set_api_key",
    "start_run",
    "start_runs",
    "stop_run",
    "stop_runs",
    "update_inference_deployment",
    "update_inference_deployments",
    "update_run",
    "update_run_metadata",
    "wait_for_run_status",
    "watch_run_status",
]


# What stands in modules of mcli's own.
_OWN = {"ComputeConfig": ".utils.utils_config", "SchedulingConfig": ".utils.utils_config", "MCLIConfig": ".config"}

# What mcli has and Muster has not, with what there is instead.
_NOT_OFFERED = {
    "create_default_deployment": "there are no models that are served by name: write an image and a command, and call create_inference_deployment",
    "EventType": "the type of an event is a text: see FormattedRunEvent.event_type of run.events",
    "FeatureFlag": "nothing here is switched on by flags of an account",
    "Finetune": "there is no managed fine-tuning service: write it as a run, and call create_run",
    "finetune": "there is no managed fine-tuning service: write it as a run, and call create_run",
    "pretrain": "there is no managed training service: write it as a run, and call create_run",
}


def __getattr__(name: str) -> Any:
    import muster

    if name in ("api", "config", "models", "objects", "sdk", "utils"):
        import importlib

        return importlib.import_module("." + name, __name__)
    if name in _OWN:
        import importlib

        value = globals()[name] = getattr(importlib.import_module(_OWN[name], __name__), name)
        return value
    if name in _NOT_OFFERED:
        raise ImportError("mcli.%s is not offered by Muster: %s" % (name, _NOT_OFFERED[name]))
    # One by one, so that a script imports only what it uses.
    if name.startswith("_"):
        raise AttributeError("module 'mcli' has no attribute %r" % name)
    try:
        value = getattr(muster, name)
    except AttributeError:
        raise AttributeError("module 'mcli' has no attribute %r" % name) from None
    globals()[name] = value
    return value


def __dir__() -> List[str]:
    from . import sdk

    return sorted([*globals(), *sdk.__all__])
