"""Every call of the pages about the life of a run, in the order of that life."""

from mcli import (
    RunConfig,
    RunStatus,
    create_run,
    delete_run,
    get_run,
    get_run_logs,
    get_runs,
    start_run,
    stop_run,
    wait_for_run_status,
    watch_run_status,
)

# Submitted: pending, queued, starting, running.
run = create_run(RunConfig(name="lifecycle", command="echo working; sleep 60", compute={"gpus": 0}))
for update in watch_run_status(run):
    print("->", update.status)
    if update.status.after(RunStatus.RUNNING, inclusive=True):
        break

# Stopped before it was done; terminating comes first, and holds its nodes.
stop_run(run, reason="enough")
run = wait_for_run_status(run, RunStatus.STOPPED)
print(run.status, run.reason)
assert run.status.is_terminal()

# Started again: the whole life begins anew, as another resumption.
start_run(run)
run = wait_for_run_status(run, RunStatus.RUNNING)
print("resumption", run.latest_resumption.index)
stop_run(run)
run = wait_for_run_status(run, RunStatus.STOPPED)
for entry in run.lifecycle:
    print(entry.resumption_index, entry.status)

# Failed: the reason is the exit code, and the log that of the node that failed.
bad = create_run(RunConfig(name="bad", command="echo no such file >&2; exit 2", compute={"gpus": 0}))
bad = wait_for_run_status(bad, RunStatus.COMPLETED)
print(bad.status, bad.reason)
for text in get_run_logs(bad, failed=True):
    print(text, end="")

# Listed, looked at, deleted.
for r in get_runs(statuses=["stopped", "failed"]):
    print(r.name, r.status, r.reason)
print(get_run(bad.name).get_gpu_hours(), "GPU-hours")
for r in (run, bad):
    delete_run(r)
