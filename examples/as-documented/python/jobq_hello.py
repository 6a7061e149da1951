"""A function as a job: here, and in the cluster."""

from jobq import JobOptions, ResourceOptions, SchedulingOptions, job


@job(
    options=JobOptions(
        labels={"type": "hello-world@dev"},
        resources=ResourceOptions(memory="256Mi", cpu="1"),
        scheduling=SchedulingOptions(priority_class="background", queue_name="default"),
    )
)
def hello_world() -> None:
    print("Hello, World!")


if __name__ == "__main__":
    hello_world()
    workload = hello_world.submit("cluster").wait(timeout=120)
    print(workload.statuses["jobq"]["status"], "".join(workload.logs()), end="")
