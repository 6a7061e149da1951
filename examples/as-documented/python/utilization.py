"""How full the clusters are."""

from mcli import get_clusters

for cluster in get_clusters(include_utilization=True):
    free = sum(i.gpus_available for i in cluster.utilization.cluster_instance_utils)
    print(
        cluster.name,
        "free GPUs:", free,
        "active:", len(cluster.utilization.active_runs_by_user),
        "queued:", len(cluster.utilization.queued_runs_by_user),
    )
