"""Deployments as mcli shows them: workloads of the kind inference."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Dict, List, Mapping, Optional, Union

from .client import Client
from .errors import UnsupportedError
from .fromdocument import config_of, metadata_of
from .models import Workload, parse_time
from .places import places
from .runconfig import KEPT, Machines, MCLIRunConfigValidationError, RunConfig, _no_variables, document, known_fields, read_file

#: What of a run's document has no meaning in that of a deployment.
_OF_RUNS = ("retry", "preemptible", "priority", "maxDuration", "parameters")


@dataclass
class InferenceDeploymentConfig:
    """A deployment to be submitted. ``gpus`` in ``compute`` are those of one replica.

    Without an image the command runs as a process of the machine, which is told
    its port in ``PORT``; in a container that is ``port``.
    """

    name: Optional[str] = None
    image: Optional[str] = None
    command: str = ""
    replicas: int = 1
    compute: Dict[str, Any] = field(default_factory=dict)
    env_variables: Union[Dict[str, str], List[Dict[str, str]]] = field(default_factory=_no_variables)
    integrations: List[Dict[str, Any]] = field(default_factory=list)
    metadata: Dict[str, Any] = field(default_factory=dict)
    model: Optional[Dict[str, Any]] = None
    default_model: Optional[Dict[str, Any]] = None
    port: int = 8080
    # Deprecated: they stood at the top before there was compute.
    cluster: Optional[str] = None
    gpu_type: Optional[str] = None
    gpu_num: Optional[int] = None

    def __post_init__(self) -> None:
        self._run()  # which moves what is deprecated, and refuses what is wrong

    @classmethod
    def from_dict(cls, d: Mapping[str, Any]) -> "InferenceDeploymentConfig":
        """A configuration of a mapping. Unknown names are ignored with a warning."""
        return cls(**known_fields(cls, d, "deployment"))

    @classmethod
    def from_file(cls, path: Any) -> "InferenceDeploymentConfig":
        """A configuration of a YAML or JSON file."""
        return cls.from_dict(read_file(path))

    def to_dict(self) -> Dict[str, Any]:
        """What it says, without what is empty."""
        return {k: v for k, v in vars(self).items() if v not in (None, "", [], {})}

    def _run(self) -> RunConfig:
        run = RunConfig(
            name=self.name,
            image=self.image,
            command=self.command,
            compute=self.compute,
            env_variables=self.env_variables,
            integrations=self.integrations,
            cluster=self.cluster,
            gpu_type=self.gpu_type,
            gpu_num=self.gpu_num,
        )
        self.compute, self.command = run.compute, run.command
        self.cluster = self.gpu_type = self.gpu_num = None
        return run

    def document(self, machines: Optional[Machines] = None) -> Dict[str, Any]:
        """The workload document."""
        for name, v in (("model", self.model), ("default_model", self.default_model)):
            if v:
                raise UnsupportedError(422, "%s: models are not served by name" % name, hint="give the image and the command of a server of the model")
        if int(self.compute.get("nodes") or 1) > 1:
            raise MCLIRunConfigValidationError("compute.nodes: a replica is one task of one node", hint="ask for replicas instead")
        if isinstance(self.replicas, bool) or not isinstance(self.replicas, int) or self.replicas < 0:
            raise MCLIRunConfigValidationError("replicas: %r is not a whole number" % (self.replicas,))
        run = self._run()
        doc = {k: v for k, v in document(run, machines).items() if k not in _OF_RUNS}
        if doc.pop("workers") > 1:
            raise MCLIRunConfigValidationError("compute.gpus: no node has %s GPUs for a replica" % self.compute.get("gpus"), hint="gpus are those of one replica")
        doc.update(kind="inference", replicas=self.replicas, ports=[self.port])
        doc["env"] = run.environment
        doc["annotations"][KEPT + "config"] = json.dumps(self.to_dict(), default=str)
        if self.metadata:
            doc["metadata"] = dict(self.metadata)
        return doc


#: mcli's older name.
FinalInferenceDeploymentConfig = InferenceDeploymentConfig


class InferenceDeploymentReplica:
    """One replica of a deployment."""

    def __init__(self, task: Mapping[str, Any]) -> None:
        self.index = int(task["index"])
        self.name = str(task.get("name") or "%s-%d" % (task.get("role") or "replica", self.index))
        self.status = "READY" if task.get("ready") else str(task["state"]).upper()
        self.latest_restart_count = int(task.get("restarts") or 0)
        self.latest_restart_time: Optional[datetime] = parse_time(task.get("startedAt")) if self.latest_restart_count else None

    def __repr__(self) -> str:
        return "InferenceDeploymentReplica(name=%r, status=%r)" % (self.name, self.status)


class InferenceDeployment:
    """A deployment: what it is, how many replicas are ready, where it answers."""

    def __init__(self, workload: Workload, client: Optional[Client] = None) -> None:
        self._client = client or workload.client
        self._update(workload)

    def _update(self, w: Workload) -> None:
        self.workload = w
        word = w.statuses.get("mcli") or {}
        self.deployment_uid: str = w.id
        self.name: str = w.name
        self.created_at: datetime = w.created_at
        self.updated_at: datetime = parse_time(w.raw.get("since")) or w.created_at
        self.deleted_at: Optional[datetime] = w.ended_at if w.phase == "Deleted" else None
        self.created_by: str = w.user
        self.reason: Optional[str] = str(word["reason"]) if word.get("reason") else None
        self.image: str = str(w.raw.get("image") or w.spec.get("image") or "")
        self.gpus: int = w.gpus
        self.metadata: Dict[str, Any] = metadata_of(w)
        served = w.raw.get("replicas") or {}
        self.public_dns: str = str(served.get("url") or "")
        self.current_version: int = int(served.get("generation") or 0)
        self.replicas_wanted: int = int(served.get("wanted") or 0)
        self.replicas_ready: int = int(served.get("ready") or 0)
        ready = self.replicas_ready > 0 and w.phase == "Running"
        self.status: str = "READY" if ready else str(word.get("status") or "UNKNOWN").upper()
        self.replicas: List[InferenceDeploymentReplica] = [InferenceDeploymentReplica(t) for t in w.tasks]

    @property
    def replicas_shown(self) -> str:
        """Ready replicas and wanted ones."""
        return "%d/%d" % (self.replicas_ready, self.replicas_wanted)

    @property
    def config(self) -> InferenceDeploymentConfig:
        """What it was submitted with; of one that was submitted otherwise what of its document a configuration can say."""
        spec = self.workload.spec
        kept = (spec.get("annotations") or {}).get(KEPT + "config")
        if kept:
            return InferenceDeploymentConfig.from_dict(json.loads(kept))
        run = config_of(self.workload)
        compute = {k: v for k, v in run.compute.items() if k != "gpus"}
        count = int(self.replicas_wanted or 1)
        if self.gpus:
            compute["gpus"] = self.gpus // count
        port = (spec.get("ports") or [8080])[0]
        return InferenceDeploymentConfig(
            name=run.name,
            image=run.image,
            command=run.command,
            replicas=int(spec.get("replicas", 1)),
            compute=compute,
            env_variables=run.env_variables,
            integrations=run.integrations,
            metadata=run.metadata,
            port=int(port["port"] if isinstance(port, Mapping) else port),
        )

    @property
    def submitted_config(self) -> InferenceDeploymentConfig:
        """The same, by mcli's other name."""
        return self.config

    @property
    def cluster(self) -> str:
        """Where its replicas are, or the only one where they could be; "" while that is open."""
        return places(self._client, self.workload.tasks).cluster(self.workload.spec, self.workload.tasks)

    @property
    def gpu_type(self) -> str:
        """The product of its GPUs, or the type that it asks for; "none" where it has none."""
        return places(self._client, self.workload.tasks).product(self.workload.spec, self.workload.tasks) if self.gpus else "none"

    def refresh(self) -> "InferenceDeployment":
        """Reads it again."""
        self._update(self._client.workload(self.deployment_uid))
        return self

    def delete(self) -> "InferenceDeployment":
        """Ends and removes it."""
        self._update(self._client.delete(self.workload))
        return self

    def ping(self, timeout: Optional[float] = 10) -> Dict[str, Any]:
        """Whether it is there. See :func:`muster.ping`."""
        from .deployments import ping

        return dict(ping(self, timeout=timeout))

    def predict(self, inputs: Mapping[str, Any], timeout: Optional[float] = 60, stream: bool = False) -> Any:
        """What it answers. See :func:`muster.predict`."""
        from .deployments import predict

        return predict(self, inputs, timeout=timeout, stream=stream)

    def __repr__(self) -> str:
        return "InferenceDeployment(name=%r, status=%s, replicas=%s)" % (self.name, self.status, self.replicas_shown)

    def _repr_html_(self) -> str:
        from ._card import workload_card

        return workload_card(self.workload)
