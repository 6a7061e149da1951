"""Runs that were not submitted as a RunConfig: what a document says, as one."""

from __future__ import annotations

import os
import shlex
from typing import Any, Dict, List, Mapping

from .models import Workload
from .runconfig import _INTEGRATIONS, KEPT, WRAPPER, Machines, RunConfig, _compute, _scheduling, clean_name, cores_of, hours_of, priority_word


def config_of(w: Workload) -> RunConfig:
    """What of a document a configuration can say; further fields of it are left out."""
    spec = w.spec
    nodes = int(spec.get("workers") or 1)
    retry = spec.get("retry") or {}
    scheduling: Dict[str, Any] = {
        "priority": priority_word(w.priority),
        "preemptible": bool(w.raw.get("preemptible")),
        "max_retries": int(retry.get("limit") or 0),
        "retry_on_system_failure": int(retry.get("system", 3)) > 0,
        "max_duration": hours_of(spec.get("maxDuration")),
    }
    return RunConfig(
        name=str(spec.get("namePrefix") or w.name),
        image=str(w.raw.get("image") or spec.get("image") or "") or None,
        command=_command(spec),
        compute=_filled(_compute_of(w, spec, nodes)),
        scheduling=_filled(scheduling),
        integrations=[_integration_of(i) for i in spec.get("integrations") or []],
        env_variables=_variables(spec, str(w.gpus or nodes)),
        parameters=dict(spec.get("parameters") or {}),
        metadata=metadata_of(w),
    )


def metadata_of(w: Workload) -> Dict[str, Any]:
    """What is kept with a workload: the command line keeps a configuration's metadata as annotations."""
    notes = {k: v for k, v in (w.spec.get("annotations") or {}).items() if not k.startswith(KEPT)}
    return {**notes, **w.metadata}


def _filled(d: Mapping[str, Any]) -> Dict[str, Any]:
    return {k: v for k, v in d.items() if v not in (None, "", 0, [])}


def _command(spec: Mapping[str, Any]) -> str:
    command: Any = spec.get("command") or ""
    words: List[str] = [str(a) for a in spec.get("args") or []]
    if isinstance(command, str):
        return shlex.join([*shlex.split(command), *words]) if words else command
    argv = [str(a) for a in command]
    if not words and (argv[:3] == ["/bin/sh", "-c", WRAPPER] and len(argv) == 4 or argv[:2] == ["/bin/bash", "-c"] and len(argv) == 3):
        return argv[-1]
    return shlex.join([*argv, *words])


def _compute_of(w: Workload, spec: Mapping[str, Any], nodes: int) -> Dict[str, Any]:
    resources = spec.get("resources") or {}
    gpu = resources.get("gpu")
    cores = cores_of(resources.get("cpu", 0)) * nodes
    clusters = spec.get("clusters") or []
    names = [v for t in spec.get("nodeAffinity") or [] if t.get("key") == "kubernetes.io/hostname" and t.get("op") == "In" for v in t.get("values") or []]
    return {
        "cluster": clusters[0] if len(clusters) == 1 else None,
        "instance": spec.get("nodeType"),
        "nodes": nodes if nodes > 1 else None,
        "node_names": names,
        "gpu_type": gpu.get("type") if isinstance(gpu, Mapping) else None,
        "gpus": w.gpus,
        "cpus": int(cores) if cores == int(cores) else None,
    }


def _variables(spec: Mapping[str, Any], world: str) -> Dict[str, str]:
    from ._work import _CARRIED

    added = () if spec.get("image") else _CARRIED  # which the client adds
    return {k: v for k, v in (spec.get("env") or {}).items() if k not in added and (k, v) != ("WORLD_SIZE", world)}


def _integration_of(i: Mapping[str, Any]) -> Dict[str, Any]:
    for sort, (name, names) in _INTEGRATIONS.items():
        if i.get(name):
            back = {v: k for k, v in names.items()}
            return {"integration_type": sort, **{back[k]: v for k, v in i[name].items()}}
    return dict(i)


def changed(w: Workload, config: RunConfig, fields: Mapping[str, Any], machines: Machines) -> Dict[str, Any]:
    """The document of a workload with what a clone is to have otherwise.

    ``config`` is what it says as a configuration, ``fields`` are those of
    :meth:`muster.Run.clone`. All that no configuration can say stays.
    """
    doc = w.spec
    doc["namePrefix"] = clean_name(str(fields.get("name") or config.name))
    doc.pop("name", None)
    if fields.get("image"):
        doc["image"] = fields["image"]
        doc.pop("build", None)
    if fields.get("cluster"):
        doc["clusters"] = [fields["cluster"]]
    if any(fields.get(k) is not None for k in ("instance", "nodes", "gpu_type", "gpus")):
        _resize(doc, config, fields, machines)
    if any(fields.get(k) is not None for k in ("priority", "preemptible", "max_retries", "max_duration")):
        given = {k: fields[k] for k in ("priority", "preemptible", "max_retries", "max_duration") if fields.get(k) is not None}
        doc.update(_scheduling({**config.scheduling, **given}))
    if os.environ.get("RUN_NAME"):
        doc["annotations"] = {**(doc.get("annotations") or {}), KEPT + "parent": os.environ["RUN_NAME"]}
    return doc


def _resize(doc: Dict[str, Any], config: RunConfig, fields: Mapping[str, Any], machines: Machines) -> None:
    asked = {k: fields[k] for k in ("cluster", "instance", "nodes", "gpu_type", "gpus") if fields.get(k) is not None}
    env: Dict[str, str] = {}
    new = _compute(RunConfig(compute={**config.compute, **asked}), machines, env)
    resources = {k: v for k, v in (doc.get("resources") or {}).items() if k != "gpu"}
    resources.update(new.pop("resources", {}))
    workers = new.pop("workers")
    doc.update(new, resources=resources)
    if workers > 1 or doc["kind"] == "distributed":  # what was submitted as a single task stays one
        doc.update(kind="distributed", workers=workers)
    doc.pop("minWorkers", None)
    if "WORLD_SIZE" in (doc.get("env") or {}):
        doc["env"] = {**doc["env"], **env}
