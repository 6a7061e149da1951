"""Reading."""

from __future__ import annotations

from muster.runs import get_cluster as get_cluster, get_clusters as get_clusters
