"""The parts of a run's configuration, as types of mappings."""

from __future__ import annotations

from typing import List, TypedDict, Union


class ComputeConfig(TypedDict, total=False):
    """Where a run is to be, and on how much: ``RunConfig(compute=…)``."""

    cluster: str
    instance: str
    nodes: int
    node_names: List[str]
    gpus: int
    gpu_type: str
    cpus: int


class SchedulingConfig(TypedDict, total=False):
    """Order, limits and retries of a run: ``RunConfig(scheduling=…)``. ``max_duration`` is in hours."""

    priority: str
    preemptible: bool
    resumable: bool
    max_retries: int
    retry_on_system_failure: bool
    max_duration: Union[int, float]
