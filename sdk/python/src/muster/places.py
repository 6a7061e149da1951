"""Where nodes are and what GPUs they have, which a workload itself does not say."""

from __future__ import annotations

import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Tuple

if TYPE_CHECKING:
    from .client import Client

_AGE = 10.0  # seconds for which an answer serves all that ask
_YOUNG = 1.0  # and for which it serves them where it does not know a node


class Places:
    """The nodes and clusters of a server as they were when it answered."""

    def __init__(self, client: "Client") -> None:
        self.at = time.monotonic()
        self.nodes: Dict[str, Mapping[str, Any]] = {str(n["name"]): n for n in client.cluster()["nodes"]}
        self.clusters: List[str] = [str(c["name"]) for c in client.clusters()]

    def of(self, tasks: Iterable[Mapping[str, Any]]) -> List[Tuple[Mapping[str, Any], Mapping[str, Any]]]:
        """Tasks whose nodes are known, each with its node."""
        return [(t, self.nodes[t["node"]]) for t in tasks if t.get("node") in self.nodes]

    def cluster(self, spec: Mapping[str, Any], tasks: Iterable[Mapping[str, Any]]) -> str:
        """Where tasks are, or the only one where they could be; "" where it is open."""
        for _, node in self.of(tasks):
            return str(node["backend"])
        named = spec.get("clusters") or self.clusters
        return str(named[0]) if len(named) == 1 else ""

    def product(self, spec: Mapping[str, Any], tasks: Iterable[Mapping[str, Any]]) -> str:
        """The GPU that tasks have, or ask for; "" where nobody can tell before they have one."""
        for task, node in self.of(tasks):
            for d in node.get("devices") or []:
                if d["id"] in (task.get("devices") or []):
                    return str(d["product"])
        gpu = (spec.get("resources") or {}).get("gpu")
        return str(gpu.get("type") or "") if isinstance(gpu, Mapping) else ""

    def instance(self, spec: Mapping[str, Any], tasks: Iterable[Mapping[str, Any]]) -> str:
        """The sort of node that tasks are on, or ask for."""
        for _, node in self.of(tasks):
            return instance_of(node)[0]
        return str(spec.get("nodeType") or "")


def instance_of(node: Mapping[str, Any]) -> Tuple[str, str, int]:
    """The sort of a node: its name, its GPUs' product ("none": it has no GPU) and their number."""
    devices = node.get("devices") or []
    products = [str(d.get("product", "")) for d in devices]
    product = max(products, key=products.count) if products else "none"
    label = (node.get("labels") or {}).get("node-type")
    return str(label or ("%dx%s" % (len(devices), product) if devices else "cpu")), product, len(devices)


_known: "weakref.WeakKeyDictionary[Client, Places]" = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def places(client: "Client", tasks: Iterable[Mapping[str, Any]] = ()) -> Places:
    """Where the nodes of a server are; asked once for many workloads."""
    with _lock:
        p = _known.get(client)
    age = time.monotonic() - p.at if p is not None else 0.0
    if p is None or age > _AGE or (age > _YOUNG and any(t.get("node") and t["node"] not in p.nodes for t in tasks)):
        p = Places(client)
        with _lock:
            _known[client] = p
    return p
