"""RunConfig: a run as mcli's users write it, and what Muster makes of it.

The fields, defaults and old names are mcli's. :func:`document` translates a
configuration into a workload document, in which resources are per task.
"""

from __future__ import annotations

import os
import re
import warnings
from dataclasses import dataclass, field, fields
from typing import Any, Dict, List, Mapping, Optional, Union

from .errors import InvalidError

NAME_MAX = 45  # characters, so that '-' and the six of the suffix fit behind it

#: Annotations under which a run keeps what a document has no field for.
KEPT = "mcli.muster.dev/"


class MCLIRunConfigValidationError(InvalidError, ValueError):
    """A run configuration cannot be run as it is."""

    def __init__(self, message: str = "", *, hint: str = "") -> None:
        InvalidError.__init__(self, 422, message, hint=hint)


# Old names of top-level fields, and where what they say belongs now.
_COMPUTE = {"gpu_type": "gpu_type", "gpu_num": "gpus", "cpus": "cpus", "cluster": "cluster", "platform": "cluster"}
_RENAMED = {"run_name": "name", "entrypoint": "command"}
_DROPPED = ("partitions", "optimization_level")
_CAMEL = re.compile(r"(?<=[a-z0-9])([A-Z])")

_COMPUTE_FIELDS = ("cluster", "instance", "nodes", "node_names", "gpu_type", "gpus", "cpus")
_SCHEDULING_FIELDS = ("priority", "preemptible", "max_retries", "retry_on_system_failure", "max_duration", "resumable")


def _no_variables() -> Dict[str, str]:
    return {}


@dataclass
class RunConfig:
    """A run to be submitted. ``gpus`` in ``compute`` is the total over all nodes.

    Without an image the command runs as a process of the machine, which only
    servers with a local backend offer.
    """

    name: Optional[str] = None
    parent_name: Optional[str] = None
    image: Optional[str] = None
    command: str = ""
    compute: Dict[str, Any] = field(default_factory=dict)
    scheduling: Dict[str, Any] = field(default_factory=dict)
    integrations: List[Dict[str, Any]] = field(default_factory=list)
    env_variables: Union[Dict[str, str], List[Dict[str, str]]] = field(default_factory=_no_variables)
    parameters: Dict[str, Any] = field(default_factory=dict)
    metadata: Dict[str, Any] = field(default_factory=dict)
    experiment_tracker: Dict[str, Any] = field(default_factory=dict)
    dependent_deployment: Optional[Dict[str, Any]] = None
    # Deprecated: each moves where it belongs, with a warning.
    run_name: Optional[str] = None
    gpu_type: Optional[str] = None
    gpu_num: Optional[int] = None
    cpus: Optional[int] = None
    platform: Optional[str] = None
    cluster: Optional[str] = None
    partitions: Optional[List[str]] = None
    optimization_level: Optional[int] = None
    entrypoint: Optional[str] = None

    def __post_init__(self) -> None:
        self.compute = dict(self.compute or {})
        self.scheduling = dict(self.scheduling or {})
        self.integrations = [dict(i) for i in self.integrations or []]
        self.command = (self.command or "").strip()
        for old, new in _COMPUTE.items():
            value = getattr(self, old)
            if value is not None:
                _deprecated(old, "compute.%s" % new)
                self.compute.setdefault(new, value)
                setattr(self, old, None)
        for old, new in _RENAMED.items():
            value = getattr(self, old)
            if value is not None:
                _deprecated(old, new)
                setattr(self, new, getattr(self, new) or value)
                setattr(self, old, None)
        self.command = self.command.strip()
        for old in _DROPPED:
            if getattr(self, old) is not None:
                _deprecated(old, None)
                setattr(self, old, None)

    @classmethod
    def from_dict(cls, d: Mapping[str, Any]) -> "RunConfig":
        """A configuration of a mapping. Unknown names are ignored with a warning."""
        return cls(**known_fields(cls, d, "run"))

    @classmethod
    def from_file(cls, path: Union[str, "os.PathLike[str]"]) -> "RunConfig":
        """A configuration of a YAML or JSON file."""
        return cls.from_dict(read_file(path))

    def to_dict(self) -> Dict[str, Any]:
        """What it says, without what is empty."""
        return {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) not in (None, "", [], {})}

    def to_yaml(self) -> str:
        """The same as YAML, as :meth:`from_file` reads it."""
        from ._yaml import dump

        return dump(self.to_dict())

    def __str__(self) -> str:
        return self.to_yaml()

    @property
    def environment(self) -> Dict[str, str]:
        """``env_variables`` as a mapping, whichever of its two forms it has."""
        if isinstance(self.env_variables, Mapping):
            pairs = list(self.env_variables.items())
        else:
            pairs = []
            for e in self.env_variables or []:
                if not isinstance(e, Mapping) or not (e.get("key") or e.get("envKey")):
                    raise MCLIRunConfigValidationError("env_variables: %r is no {key, value}" % (e,))
                pairs.append((e.get("key") or e.get("envKey") or "", e.get("value", e.get("envValue", ""))))
        return {str(k): _text(v) for k, v in pairs}


#: mcli's older name.
FinalRunConfig = RunConfig


def known_fields(cls: Any, d: Mapping[str, Any], of: str) -> Dict[str, Any]:
    """What a mapping says of a configuration, in the names of its fields. Unknown names are ignored with a warning."""
    if not isinstance(d, Mapping):
        raise MCLIRunConfigValidationError("a %s configuration is a mapping of names, not %r" % (of, type(d).__name__))
    known = {f.name for f in fields(cls)}
    given: Dict[str, Any] = {}
    for key, value in d.items():
        name = _snake(str(key))
        if name not in known:
            warnings.warn("the field %r of a %s configuration is not known, and ignored" % (key, of), UserWarning, stacklevel=3)
            continue
        if value is not None:
            given[name] = value
    for name, sort, word in (
        ("compute", Mapping, "a mapping"),
        ("scheduling", Mapping, "a mapping"),
        ("parameters", Mapping, "a mapping"),
        ("metadata", Mapping, "a mapping"),
        ("integrations", list, "a list"),
        ("command", str, "a text"),
        ("name", str, "a text"),
        ("image", str, "a text"),
    ):
        if name in given and not isinstance(given[name], sort):
            raise MCLIRunConfigValidationError("%s: %r is not %s" % (name, given[name], word))
    for name in ("compute", "scheduling"):
        if name in given:
            given[name] = {_snake(str(k)): v for k, v in given[name].items()}
    return given


def read_file(path: "Union[str, os.PathLike[str]]") -> Any:
    """What a YAML or JSON file says."""
    from ._yaml import YAMLError, load

    try:
        with open(path, encoding="utf-8") as f:
            return load(f.read()) or {}
    except UnicodeDecodeError as e:
        raise MCLIRunConfigValidationError("%s is not UTF-8: %s" % (os.fspath(path), e), hint="save it as UTF-8") from None
    except YAMLError as e:
        raise MCLIRunConfigValidationError("%s: %s" % (os.fspath(path), e.message), hint=e.hint) from None


def _deprecated(old: str, new: Optional[str]) -> None:
    text = "use %s" % new if new else "it has no meaning any more and is ignored"
    warnings.warn("the field %r of RunConfig is deprecated: %s" % (old, text), DeprecationWarning, stacklevel=4)


def _snake(name: str) -> str:
    return _CAMEL.sub(r"_\1", name).lower().replace("-", "_")


def _text(v: Any) -> str:
    if isinstance(v, bool):
        return "true" if v else "false"
    return str(v)


def clean_name(name: str) -> str:
    """The name as RFC 1123 has it, with a warning where it is another."""
    good = re.sub(r"[^a-z0-9-]+", "-", name.lower()).strip("-")[:NAME_MAX].strip("-")
    if not good:
        raise MCLIRunConfigValidationError("name: %r has no letter or digit" % name, hint="lower-case letters, digits and '-'")
    if good != name:
        warnings.warn("the name %r is not valid; the run is called %r" % (name, good), UserWarning, stacklevel=3)
    return good


class Machines:
    """What the nodes offer: needed where a total must be divided over nodes."""

    def __init__(self, cluster: Mapping[str, Any]) -> None:
        self.nodes: List[Mapping[str, Any]] = list(cluster.get("nodes") or [])

    def per_node(self, gpu_type: Optional[str], cluster: Optional[str]) -> int:
        """Most GPUs of that type on one node; 8 where there is none."""
        most = 0
        for n in self.nodes:
            if cluster and n.get("backend") != cluster:
                continue
            most = max(most, sum(1 for d in n.get("devices") or [] if matches(gpu_type, d.get("product", ""))))
        return most or 8

    def product(self, gpu_type: Optional[str]) -> Optional[str]:
        """What products of that type have in their names, as the scheduler compares."""
        if not gpu_type:
            return None
        for n in self.nodes:
            for d in n.get("devices") or []:
                if matches(gpu_type, d.get("product", "")):
                    return gpu_type if gpu_type.lower() in d["product"].lower() else str(d["product"])
        return gpu_type


def matches(gpu_type: Optional[str], product: str) -> bool:
    """Whether a product is of a type as mcli writes it: every part of a100_80gb is in its name."""
    if not gpu_type:
        return True
    flat = re.sub(r"[^a-z0-9]", "", product.lower())
    return all(part in flat for part in re.split(r"[^a-z0-9]+", gpu_type.lower()) if part)


def document(config: RunConfig, machines: Optional[Machines] = None) -> Dict[str, Any]:
    """The workload document of a run configuration."""
    if config.dependent_deployment:
        raise MCLIRunConfigValidationError(
            "dependent_deployment: a model server beside the nodes of a run is not offered",
            hint="submit it as a workload of kind inference, and give the run its address",
        )
    _known("compute", config.compute, _COMPUTE_FIELDS)
    _known("scheduling", config.scheduling, _SCHEDULING_FIELDS)
    doc: Dict[str, Any] = {"kind": "distributed"}  # a run of one node has MASTER_ADDR and NODE_RANK too
    if config.name:
        doc["namePrefix"] = clean_name(config.name)
    if config.image:
        doc["image"] = config.image
        doc["pullPolicy"] = "always"  # mcli always looks whether the tag has moved
    if config.command:
        doc["command"] = _bash(config.command)
    elif not config.image:
        raise MCLIRunConfigValidationError("there is neither a command nor an image", hint="say what is to be run")
    env = config.environment
    doc.update(_compute(config, machines or Machines({}), env))
    if env:
        doc["env"] = env
    doc.update(_scheduling(config.scheduling))
    steps = [_integration(i) for i in config.integrations] + _trackers(config.experiment_tracker)
    if steps:
        doc["integrations"] = steps
    if config.parameters:
        doc["parameters"] = config.parameters
    import json

    notes = {KEPT + "config": json.dumps(config.to_dict(), default=str)}
    parent = config.parent_name or os.environ.get("RUN_NAME")
    if parent:
        notes[KEPT + "parent"] = parent
    doc["annotations"] = notes
    return doc


def _known(where: str, given: Mapping[str, Any], names: Any) -> None:
    for k in given:
        if k not in names:
            warnings.warn("%s.%s is not known, and ignored" % (where, k), UserWarning, stacklevel=4)


WRAPPER = 'if command -v bash >/dev/null; then exec bash -c "$0"; fi; exec sh -c "$0"'


def _bash(command: str) -> List[str]:
    """mcli's commands are bash's; an image without it has at least sh."""
    return ["/bin/sh", "-c", WRAPPER, command]


def _number(where: str, v: Any) -> Optional[int]:
    if v is None:
        return None
    if isinstance(v, bool) or not re.match(r"[0-9]+$", str(v).strip()):
        raise MCLIRunConfigValidationError("%s: %r is not a whole number" % (where, v))
    return int(str(v))


def _compute(config: RunConfig, machines: Machines, env: Dict[str, str]) -> Dict[str, Any]:
    c = config.compute
    gpus, nodes, cpus = (_number("compute." + k, c.get(k)) for k in ("gpus", "nodes", "cpus"))
    gpu_type = c.get("gpu_type")
    if str(gpu_type or "").lower() in ("none", "cpu", ""):
        if gpu_type and gpus:
            raise MCLIRunConfigValidationError("compute: gpu_type %s contradicts gpus %d" % (gpu_type, gpus), hint="keep one of the two")
        gpus = 0 if gpu_type else gpus
        gpu_type = None
    out: Dict[str, Any] = {}
    instance = str(c.get("instance") or "")
    m = re.match(r"(\d+)x[ _-]?(.+)$", instance)
    if m and gpu_type is None:
        gpu_type = m.group(2)
    elif instance and not m:
        out["nodeType"] = instance
    if nodes == 0:
        raise MCLIRunConfigValidationError("compute.nodes: a run has at least one node")
    names = c.get("node_names")
    names = [n.strip() for n in names.split(",")] if isinstance(names, str) else list(names or [])
    whole = int(m.group(1)) if m else machines.per_node(gpu_type, c.get("cluster"))
    if gpus is None:
        gpus = whole * (nodes or 1) if (nodes and gpu_type) or m else 0
    if nodes is None:
        nodes = max(1, -(-gpus // whole))
    divided = c.get("nodes") is None and nodes > 1  # by us, and then nodes are whole ones
    if gpus % nodes or gpus > whole * nodes > whole or (divided and gpus != whole * nodes):
        raise MCLIRunConfigValidationError(
            "compute.gpus: %d GPUs cannot be divided over %d nodes of %d" % (gpus, nodes, whole), hint="ask for a multiple of %d" % whole
        )
    each = gpus // nodes
    resources: Dict[str, Any] = {}
    if each:
        resources["gpu"] = {"count": each}
        if gpu_type:
            resources["gpu"]["type"] = machines.product(str(gpu_type))
    if cpus:
        resources["cpu"] = -(-cpus // nodes)
    if resources:
        out["resources"] = resources
    out["workers"] = nodes
    if c.get("cluster"):
        out["clusters"] = [str(c["cluster"])]
    if names:
        out["nodeAffinity"] = [{"key": "kubernetes.io/hostname", "op": "In", "values": names}]
    # mcli counts GPUs in WORLD_SIZE, and nodes where there are none.
    env.setdefault("WORLD_SIZE", str(gpus or nodes))
    return out


_PRIORITIES = {"auto": None, "": None, "lowest": "very-low", "low": "low", "medium": "train", "high": "high"}


def priority_of(word: Any) -> Any:
    """The priority of a document for mcli's word; None: the default."""
    text = str(word if word is not None else "").lower()
    if text in _PRIORITIES:
        return _PRIORITIES[text]
    return int(text) if text.isdigit() else text


def priority_word(n: int) -> str:
    """mcli's word for the priority of a workload, or the number."""
    for word, value in (("lowest", 25), ("low", 40), ("medium", 50), ("high", 125)):
        if n == value:
            return word
    return str(n)


def cores_of(v: Any) -> float:
    """Cores of what a document says: 2, 0.5, "500m"."""
    text = str(v)
    return float(text[:-1]) / 1000 if text.endswith("m") else float(text)


_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def hours_of(text: Any) -> Optional[float]:
    """Hours of a length of time as documents write it; None: there is none."""
    total = sum(float(n) * _UNITS[u] for n, u in re.findall(r"([0-9.]+)(ms|[smhdw])", str(text or "")))
    return total / 3600 if total >= 1 else None


def seconds_of(hours: Any) -> str:
    """A length of time as documents write it, of hours."""
    try:
        seconds = float(hours) * 3600
    except (TypeError, ValueError):
        raise MCLIRunConfigValidationError("max_duration: %r is not a number of hours" % (hours,)) from None
    if not 1 <= seconds < 1e10:
        raise MCLIRunConfigValidationError("max_duration: %r hours is not between a second and 300 years" % (hours,))
    return "%ds" % round(seconds)


#: How often a run is tried again whose system failed, where that is wanted.
SYSTEM_RETRIES = 1000


def _scheduling(s: Mapping[str, Any]) -> Dict[str, Any]:
    out: Dict[str, Any] = {"preemptible": _flag("scheduling.preemptible", s.get("preemptible", s.get("resumable")))}
    priority = priority_of(s.get("priority"))
    if priority is not None:
        out["priority"] = priority
    out["retry"] = {
        "limit": _number("scheduling.max_retries", s.get("max_retries")) or 0,
        "system": SYSTEM_RETRIES if _flag("scheduling.retry_on_system_failure", s.get("retry_on_system_failure")) else 0,
    }
    if s.get("max_duration") is not None:
        out["maxDuration"] = seconds_of(s["max_duration"])
    return out


def _flag(where: str, v: Any) -> bool:
    if v is None or isinstance(v, bool):
        return bool(v)
    raise MCLIRunConfigValidationError("%s: %r is neither true nor false" % (where, v))


# Integrations: the native name, and its fields by mcli's.
_INTEGRATIONS: Dict[str, Any] = {
    "git_repo": ("git", {"git_repo": "repo", "git_branch": "branch", "git_commit": "commit", "path": "path", "ssh_clone": "ssh", "pip_install": "pip", "host": "host"}),
    "pip_packages": ("pip", {"packages": "packages", "upgrade": "upgrade"}),
    "apt_packages": ("apt", {"packages": "packages"}),
    "wandb": ("wandb", {"project": "project", "entity": "entity", "group": "group", "job_type": "jobType", "tags": "tags"}),
    "comet_ml": ("comet", {"project": "project", "workspace": "workspace"}),
    "mlflow": ("mlflow", {"experiment_name": "experiment", "tracking_uri": "trackingURI"}),
}


def _integration(i: Mapping[str, Any]) -> Dict[str, Any]:
    sort = i.get("integration_type") or i.get("type")
    if sort not in _INTEGRATIONS:
        raise MCLIRunConfigValidationError("integrations: the type %r is not known" % (sort,), hint="one of " + ", ".join(_INTEGRATIONS))
    name, names = _INTEGRATIONS[sort]
    given = dict(i.get("params") or {}) or {k: v for k, v in i.items() if k not in ("integration_type", "type")}
    out: Dict[str, Any] = {}
    for k, v in given.items():
        if k not in names:
            warnings.warn("integrations: %s has no field %r; it is ignored" % (sort, k), UserWarning, stacklevel=4)
        elif v is not None:
            out[names[k]] = v
    return {name: out}


def _trackers(t: Mapping[str, Any]) -> List[Dict[str, Any]]:
    out: List[Dict[str, Any]] = []
    for sort, given in (t or {}).items():
        g = dict(given or {})
        if sort == "mlflow":
            if g.get("model_registry_path"):
                warnings.warn("experiment_tracker: mlflow.model_registry_path is not used", UserWarning, stacklevel=4)
            out.append({"mlflow": {k: v for k, v in (("experiment", g.get("experiment_path")), ("trackingURI", g.get("tracking_uri"))) if v}})
        elif sort == "wandb":
            out.append(_integration({"integration_type": "wandb", **g}))
        else:
            raise MCLIRunConfigValidationError("experiment_tracker: %r is not known" % sort, hint="mlflow or wandb")
    return out
