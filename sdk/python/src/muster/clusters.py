"""Clusters and how full they are, in the words of mcli."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

from .client import Client
from .models import Workload
from .places import instance_of
from .run import Run
from .runstatus import RunStatus

CLUSTER_COLUMNS = {"NAME": "name", "PROVIDER": "provider", "INSTANCES": "instances", "MULTI-NODE": "allow_multinode"}


class Node:
    """A node of an instance type."""

    def __init__(self, name: str, is_alive: bool, is_schedulable: bool) -> None:
        self.name = name
        self.is_alive = is_alive
        self.is_schedulable = is_schedulable


class Instance:
    """Nodes that are alike. ``gpus``, ``cpus`` and ``memory`` (bytes) are those of one."""

    def __init__(self, name: str, gpu_type: str, gpus: int, cpus: int, memory: int, node_details: List[Node]) -> None:
        self.name = name
        self.gpu_type = gpu_type
        self.gpus = gpus
        self.cpus = cpus
        self.memory = memory
        self.storage: Optional[int] = None
        self.node_details = node_details

    @property
    def nodes(self) -> int:
        """How many there are."""
        return len(self.node_details)


class InstanceUtilization:
    """How many GPUs of an instance type are used; a whole number, unless parts of GPUs are."""

    def __init__(self, instance: Instance, gpus_used: Union[int, float], gpus_available: Union[int, float], gpus_total: int) -> None:
        self.instance = instance
        self.gpus_used = gpus_used
        self.gpus_available = gpus_available
        self.gpus_total = gpus_total


class ClusterUtilizationByRun:
    """A run that is active or queued."""

    def __init__(self, r: Run) -> None:
        self.id = r.run_uid
        self.user = r.created_by
        self.name = r.name
        self.gpu_num = r.gpus
        self.gpu_type = r.gpu_type
        self.instance = r.instance
        self.created_at: datetime = r.created_at
        self.start_time: Optional[datetime] = r.started_at
        self.scheduling: Dict[str, Any] = {"priority": r.priority, "preemptible": r.preemptible}
        self.reason = r.reason
        self.estimated_end_time = r.estimated_end_time
        self.max_duration_seconds = r.max_duration_seconds

    def is_preemptible(self) -> bool:
        """Whether it may be stopped for others."""
        return bool(self.scheduling["preemptible"])


class ClusterUtilization:
    """How full a cluster is."""

    def __init__(self, instances: List[InstanceUtilization], active: List[ClusterUtilizationByRun], queued: List[ClusterUtilizationByRun]) -> None:
        self.cluster_instance_utils = instances
        self.active_runs_by_user = active
        self.queued_runs_by_user = queued
        self.active_deployments_by_user: List[ClusterUtilizationByRun] = []
        self.queued_deployments_by_user: List[ClusterUtilizationByRun] = []


class ClusterDetails:
    """A cluster."""

    def __init__(self, info: Mapping[str, Any], instances: List[Instance], utilization: Optional[ClusterUtilization]) -> None:
        self.id = str(info["name"])
        self.name = str(info["name"])
        self.provider = str(info["kind"])
        self.reachable = bool(info.get("reachable", True))
        self.allow_fractional = True
        self.allow_multinode = True
        self.cluster_instances = instances
        self.submission_types = ["TRAINING", "INTERACTIVE", "INFERENCE"]
        self.is_multitenant = True
        self.reservation_type: Optional[str] = None
        self.scheduler_enabled = True
        self.utilization = utilization

    @property
    def instances(self) -> str:
        """Its instance types in one line."""
        return ", ".join("%d %s" % (i.nodes, i.name) for i in self.cluster_instances)


def _instances(nodes: List[Mapping[str, Any]]) -> List[Tuple[Instance, float, int]]:
    """Nodes that are alike, with the GPUs used and the GPUs there are."""
    groups: Dict[Tuple[str, str, int], List[Mapping[str, Any]]] = {}
    for n in nodes:
        groups.setdefault(instance_of(n), []).append(n)
    out = []
    for (name, product, gpus), members in sorted(groups.items()):
        first = members[0]
        details = [Node(str(n["name"]), bool(n.get("ready")), bool(n.get("ready")) and not n.get("cordoned")) for n in members]
        i = Instance(name, product, gpus, int(first["cpu"]["total"]) // 1000, int(first["memory"]["total"]), details)
        out.append((i, sum(float(n["gpu"]["used"]) for n in members) / 1000, sum(int(n["gpu"]["total"]) for n in members) // 1000))
    return out


def details(client: Client, utilization: bool, timeout: Optional[float]) -> List[ClusterDetails]:
    """Every cluster of a server."""
    infos = client.clusters(timeout=timeout)
    nodes = client.cluster(timeout=timeout)["nodes"]
    runs: List[Run] = []
    if utilization:
        runs = [Run(w) for w in client.workloads(live=True, limit=1000, timeout=timeout).all()]
    out = []
    for info in infos:
        groups = _instances([n for n in nodes if n.get("backend") == info["name"]])
        use: Optional[ClusterUtilization] = None
        if utilization:
            use = ClusterUtilization(
                [InstanceUtilization(i, _whole(used), _whole(max(0.0, total - used)), total) for i, used, total in groups],
                [ClusterUtilizationByRun(r) for r in runs if _holds(r.workload) and _on(r.workload, info["name"], nodes)],
                [ClusterUtilizationByRun(r) for r in sorted(runs, key=_place) if r.status.before(RunStatus.STARTING) and r.cluster in ("", info["name"])],
            )
        out.append(ClusterDetails(info, [i for i, _, _ in groups], use))
    return out


def _whole(n: float) -> Union[int, float]:
    """A number as a person writes it: 8, not 8.0."""
    return int(n) if n == int(n) else n


def _place(r: Run) -> float:
    """Where it stands in the queue, by which ``mcli util`` orders too; who has no place comes last."""
    return float((r.workload.pending or {}).get("position") or "inf")


def _holds(w: Workload) -> bool:
    return w.phase in ("Starting", "Running", "Restarting", "Terminating")


def _on(w: Workload, cluster: str, nodes: List[Mapping[str, Any]]) -> bool:
    backend = {n["name"]: n.get("backend") for n in nodes}
    return any(backend.get(t.get("node")) == cluster for t in w.tasks)
