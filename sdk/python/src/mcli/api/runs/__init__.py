"""Calls about runs."""

from __future__ import annotations

from muster.run import Run as Run, RunLifecycle as RunLifecycle, Resumption as Resumption
from muster.runconfig import RunConfig as RunConfig
from muster.runs import (
    RunStatusNotReached as RunStatusNotReached,
    create_interactive_run as create_interactive_run,
    create_run as create_run,
    delete_run as delete_run,
    delete_runs as delete_runs,
    follow_run_logs as follow_run_logs,
    get_run as get_run,
    get_run_logs as get_run_logs,
    get_runs as get_runs,
    start_run as start_run,
    start_runs as start_runs,
    stop_run as stop_run,
    stop_runs as stop_runs,
    update_run as update_run,
    update_run_metadata as update_run_metadata,
    wait_for_run_status as wait_for_run_status,
    watch_run_status as watch_run_status,
)
from muster.runstatus import RunStatus as RunStatus
