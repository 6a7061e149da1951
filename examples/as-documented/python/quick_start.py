"""A run from Python, as mcli's pages begin."""

from mcli import RunConfig, RunStatus, create_run, follow_run_logs, wait_for_run_status

cluster = "local"

config = RunConfig(
    name="hello-world",
    command='echo "Hello $RUN_NAME!"',
    compute={"cluster": cluster, "gpus": 0},
)
run = create_run(config)

# Wait for the run to start, then follow what it writes.
run = wait_for_run_status(run.name, RunStatus.RUNNING)
for line in follow_run_logs(run.name):
    print(line, end="")

run = wait_for_run_status(run.name, RunStatus.COMPLETED)
assert run.status == RunStatus.COMPLETED, (run.status, run.reason)
print(run.status.display_name)
