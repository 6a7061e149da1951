"""The functions of mcli's SDK, with the same names, defaults and meaning.

Every call takes ``timeout`` (seconds, default 10) and ``future``: with
``future=True`` a ``concurrent.futures.Future`` is returned at once and timeout is
ignored. "run" is a name, an id or a :class:`Run`; list calls take names, Runs or
globs too.
"""

from __future__ import annotations

import fnmatch
import itertools
import threading
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, TypeVar, Union, overload

from ._default import default_client
from .errors import IllegalPhaseError, InvalidError, MusterError, NotFoundError
from .models import Page, Workload
from .run import RUN_COLUMNS, ObjectList, PaginatedObjectList, Run, run_name
from .runconfig import KEPT, SYSTEM_RETRIES, Machines, MCLIRunConfigValidationError, RunConfig, document, matches, priority_of, seconds_of
from .runstatus import RunStatus, RunType

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor
    from typing import Literal

    from .client import Client

T = TypeVar("T")
RunLike = Union[str, Run]
Runs = Union[Sequence[RunLike], RunLike]

#: Workloads that are runs.
KINDS = ("training", "distributed", "workspace")

#: mcli's name for what a call raises: it has ``status`` and ``message``.
MAPIException = MusterError


class RunStatusNotReached(MusterError):
    """The watch ended before the run had the status that was waited for."""

    default_code = "status_not_reached"


_pool: "Optional[ThreadPoolExecutor]" = None
_pool_lock = threading.Lock()


def _later(call: Callable[[], T]) -> "Future[T]":
    global _pool
    from concurrent.futures import ThreadPoolExecutor

    with _pool_lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(max_workers=16, thread_name_prefix="muster")
        return _pool.submit(call)


def _do(call: Callable[[Optional[float]], T], timeout: Optional[float], future: bool) -> Any:
    """The answer within timeout, or a future of it."""
    if future:
        return _later(lambda: call(None))
    return call(timeout)


def _remaining(timeout: Optional[float]) -> Callable[[], Optional[float]]:
    deadline = None if timeout is None else time.monotonic() + timeout

    def left() -> Optional[float]:
        if deadline is None:
            return None
        rest = deadline - time.monotonic()
        if rest <= 0:
            raise TimeoutError("it took longer than %g seconds" % (timeout or 0))
        return rest

    return left


# -- making runs ------------------------------------------------------------


def _create(client: Client, config: RunConfig, timeout: Optional[float], run_type: Optional[RunType] = None) -> Run:
    left = _remaining(timeout)
    if not isinstance(config, RunConfig):
        raise MCLIRunConfigValidationError("create_run takes a RunConfig, not %s" % type(config).__name__, hint="RunConfig.from_dict makes one")
    machines = Machines(client.cluster(timeout=left())) if config.compute else None
    doc = document(config, machines)
    if run_type is not None:
        doc["annotations"][KEPT + "type"] = run_type.value
    if config.metadata:
        doc["metadata"] = dict(config.metadata)
    return Run(client.submit(doc, timeout=left()))


def _find(client: Client, run: RunLike, timeout: Optional[float]) -> Workload:
    return client.workload(run_name(run), timeout=timeout)


def _stop(client: Client, run: RunLike, reason: Optional[str], timeout: Optional[float]) -> Run:
    left = _remaining(timeout)
    w = _find(client, run, left())
    try:
        return Run(client.stop(w, message=reason or "", timeout=left()))
    except IllegalPhaseError:
        # It has ended meanwhile, or is on its way: that is what was asked for.
        return Run(_find(client, w.id, left()))


def _changes(
    preemptible: Optional[bool],
    priority: Optional[str],
    max_retries: Optional[int],
    retry_on_system_failure: Optional[bool],
    max_duration: Optional[float],
) -> Dict[str, Any]:
    out: Dict[str, Any] = {}
    if preemptible is not None:
        out["preemptible"] = preemptible
    if priority is not None:
        out["priority"] = priority_of(priority)
    retry = {}
    if max_retries is not None:
        retry["limit"] = max_retries
    if retry_on_system_failure is not None:
        retry["system"] = SYSTEM_RETRIES if retry_on_system_failure else 0
    if retry:
        out["retry"] = retry
    if max_duration is not None:
        out["maxDuration"] = seconds_of(max_duration)
    if not out:
        raise InvalidError(422, "nothing is said that should change", hint="preemptible, priority, max_retries, retry_on_system_failure or max_duration")
    return out


def _many(client: Client, runs: Optional[Runs], left: Callable[[], Optional[float]]) -> List[Workload]:
    """The workloads that names, Runs and globs mean; globs mean one's own."""
    out: List[Workload] = []
    for r in [runs] if isinstance(runs, (str, Run)) else list(runs or []):
        name = run_name(r)
        if isinstance(r, str) and any(c in r for c in "*?["):
            prefix = r[: min(r.index(c) for c in "*?[" if c in r)]
            for w in client.workloads(kinds=KINDS, user=client.user, prefix=prefix, limit=1000, timeout=left()).all():
                if fnmatch.fnmatchcase(w.name, r):
                    out.append(w)
        else:
            out.append(client.workload(name, timeout=left()))
    return out

@overload
def create_run(run: RunConfig, *, timeout: Optional[float] = ..., future: "Literal[False]" = ...) -> Run: ...
@overload
def create_run(run: RunConfig, *, timeout: Optional[float] = ..., future: "Literal[True]") -> "Future[Run]": ...
def create_run(run: RunConfig, *, timeout: Optional[float] = 10, future: bool = False) -> Any:
    """Submits a run."""
    client = default_client()

    def call(t: Optional[float]) -> Run:
        return _create(client, run, t)

    return _do(call, timeout, future)


@overload
def create_interactive_run(run: RunConfig, *, timeout: Optional[float] = ..., future: "Literal[False]" = ...) -> Run: ...
@overload
def create_interactive_run(run: RunConfig, *, timeout: Optional[float] = ..., future: "Literal[True]") -> "Future[Run]": ...
def create_interactive_run(run: RunConfig, *, timeout: Optional[float] = 10, future: bool = False) -> Any:
    """Submits a run to connect to: its command sleeps until its ``max_duration``."""
    client = default_client()

    def call(t: Optional[float]) -> Run:
        if run.scheduling.get("max_duration") is None:
            raise MCLIRunConfigValidationError("scheduling.max_duration: an interactive run says for how many hours it is kept")
        config = RunConfig.from_dict(run.to_dict())
        config.name = config.name or "interactive"
        config.command = config.command or "sleep infinity"
        return _create(client, config, t, RunType.INTERACTIVE)

    return _do(call, timeout, future)


@overload
def start_run(run: RunLike, *, timeout: Optional[float] = ..., future: "Literal[False]" = ...) -> Run: ...
@overload
def start_run(run: RunLike, *, timeout: Optional[float] = ..., future: "Literal[True]") -> "Future[Run]": ...
def start_run(run: RunLike, *, timeout: Optional[float] = 10, future: bool = False) -> Any:
    """Runs an ended run again from the beginning, as a new attempt."""
    client = default_client()

    def call(t: Optional[float]) -> Run:
        left = _remaining(t)
        return Run(client.restart(_find(client, run, left()), timeout=left()))

    return _do(call, timeout, future)


@overload
def start_runs(runs: Runs, *, timeout: Optional[float] = ..., future: "Literal[False]" = ...) -> ObjectList[Run]: ...
@overload
def start_runs(runs: Runs, *, timeout: Optional[float] = ..., future: "Literal[True]") -> "Future[ObjectList[Run]]": ...
def start_runs(runs: Runs, *, timeout: Optional[float] = 10, future: bool = False) -> Any:
    """The same for many."""
    client = default_client()

    def call(t: Optional[float]) -> ObjectList[Run]:
        left = _remaining(t)
        return ObjectList([Run(client.restart(w, timeout=left())) for w in _many(client, runs, left)], RUN_COLUMNS)

    return _do(call, timeout, future)


@overload
def stop_run(run: RunLike, *, reason: Optional[str] = ..., timeout: Optional[float] = ..., future: "Literal[False]" = ...) -> Run: ...
@overload
def stop_run(run: RunLike, *, reason: Optional[str] = ..., timeout: Optional[float] = ..., future: "Literal[True]") -> "Future[Run]": ...
def stop_run(run: RunLike, *, reason: Optional[str] = None, timeout: Optional[float] = 10, future: bool = False) -> Any:
    """Stops a run, which takes a moment. One that has ended stays as it is."""
    client = default_client()

    def call(t: Optional[float]) -> Run:
        return _stop(client, run, reason, t)

    return _do(call, timeout, future)


@overload
def stop_runs(runs: Runs, *, reason: Optional[str] = ..., timeout: Optional[float] = ..., future: "Literal[False]" = ...) -> ObjectList[Run]: ...
@overload
def stop_runs(runs: Runs, *, reason: Optional[str] = ..., timeout: Optional[float] = ..., future: "Literal[True]") -> "Future[ObjectList[Run]]": ...
def stop_runs(runs: Runs, *, reason: Optional[str] = None, timeout: Optional[float] = 10, future: bool = False) -> Any:
    """The same for many."""
    client = default_client()

    def call(t: Optional[float]) -> ObjectList[Run]:
        left = _remaining(t)
        return ObjectList([_stop(client, w.id, reason, left()) for w in _many(client, runs, left)], RUN_COLUMNS)

    return _do(call, timeout, future)


@overload
def delete_run(run: RunLike, *, timeout: Optional[float] = ..., future: "Literal[False]" = ...) -> Run: ...
@overload
def delete_run(run: RunLike, *, timeout: Optional[float] = ..., future: "Literal[True]") -> "Future[Run]": ...
def delete_run(run: RunLike, *, timeout: Optional[float] = 10, future: bool = False) -> Any:
    """Deletes a run with its logs; one that runs is stopped first."""
    client = default_client()

    def call(t: Optional[float]) -> Run:
        left = _remaining(t)
        return Run(client.delete(_find(client, run, left()), timeout=left()))

    return _do(call, timeout, future)


@overload
def delete_runs(runs: Runs, *, timeout: Optional[float] = ..., future: "Literal[False]" = ...) -> ObjectList[Run]: ...
@overload
def delete_runs(runs: Runs, *, timeout: Optional[float] = ..., future: "Literal[True]") -> "Future[ObjectList[Run]]": ...
def delete_runs(runs: Runs, *, timeout: Optional[float] = 10, future: bool = False) -> Any:
    """The same for many."""
    client = default_client()

    def call(t: Optional[float]) -> ObjectList[Run]:
        left = _remaining(t)
        return ObjectList([Run(client.delete(w, timeout=left())) for w in _many(client, runs, left)], RUN_COLUMNS)

    return _do(call, timeout, future)


@overload
def get_run(run: RunLike, include_details: bool = ..., *, timeout: Optional[float] = ..., future: "Literal[False]" = ...) -> Run: ...
@overload
def get_run(run: RunLike, include_details: bool = ..., *, timeout: Optional[float] = ..., future: "Literal[True]") -> "Future[Run]": ...
def get_run(run: RunLike, include_details: bool = True, *, timeout: Optional[float] = 10, future: bool = False) -> Any:
    """One run."""
    client = default_client()

    def call(t: Optional[float]) -> Run:
        return Run(_find(client, run, t), include_details)

    return _do(call, timeout, future)


@overload
def update_run(run: RunLike, preemptible: Optional[bool] = ..., priority: Optional[str] = ..., max_retries: Optional[int] = ..., retry_on_system_failure: Optional[bool] = ..., max_duration: Optional[float] = ..., *, timeout: Optional[float] = ..., future: "Literal[False]" = ...) -> Run: ...
@overload
def update_run(run: RunLike, preemptible: Optional[bool] = ..., priority: Optional[str] = ..., max_retries: Optional[int] = ..., retry_on_system_failure: Optional[bool] = ..., max_duration: Optional[float] = ..., *, timeout: Optional[float] = ..., future: "Literal[True]") -> "Future[Run]": ...
def update_run(run: RunLike, preemptible: Optional[bool] = None, priority: Optional[str] = None, max_retries: Optional[int] = None, retry_on_system_failure: Optional[bool] = None, max_duration: Optional[float] = None, *, timeout: Optional[float] = 10, future: bool = False) -> Any:
    """Changes how a run is scheduled, while it has not ended. ``max_duration`` is in hours."""
    client = default_client()

    def call(t: Optional[float]) -> Run:
        left = _remaining(t)
        fields = _changes(preemptible, priority, max_retries, retry_on_system_failure, max_duration)
        return Run(client.change(_find(client, run, left()), fields, timeout=left()))

    return _do(call, timeout, future)


@overload
def update_run_metadata(run: RunLike, metadata: Mapping[str, Any], *, timeout: Optional[float] = ..., future: "Literal[False]" = ...) -> Run: ...
@overload
def update_run_metadata(run: RunLike, metadata: Mapping[str, Any], *, timeout: Optional[float] = ..., future: "Literal[True]") -> "Future[Run]": ...
def update_run_metadata(run: RunLike, metadata: Mapping[str, Any], *, timeout: Optional[float] = 10, future: bool = False) -> Any:
    """Merges into the metadata of a run."""
    client = default_client()

    def call(t: Optional[float]) -> Run:
        left = _remaining(t)
        return Run(client.update_metadata(_find(client, run, left()), metadata, timeout=left()))

    return _do(call, timeout, future)


@overload
def get_runs(runs: Optional[Runs] = ..., *, cluster_names: Optional[Sequence[str]] = ..., user_emails: Optional[Sequence[str]] = ..., before: Union[str, datetime, None] = ..., after: Union[str, datetime, None] = ..., gpu_types: Optional[Sequence[str]] = ..., gpu_nums: Optional[Sequence[int]] = ..., statuses: Optional[Sequence[Union[str, RunStatus]]] = ..., limit: Optional[int] = ..., all_users: bool = ..., include_details: bool = ..., include_deleted: bool = ..., run_types: Optional[Sequence[Union[str, RunType]]] = ..., timeout: Optional[float] = ..., future: "Literal[False]" = ...) -> PaginatedObjectList[Run]: ...
@overload
def get_runs(runs: Optional[Runs] = ..., *, cluster_names: Optional[Sequence[str]] = ..., user_emails: Optional[Sequence[str]] = ..., before: Union[str, datetime, None] = ..., after: Union[str, datetime, None] = ..., gpu_types: Optional[Sequence[str]] = ..., gpu_nums: Optional[Sequence[int]] = ..., statuses: Optional[Sequence[Union[str, RunStatus]]] = ..., limit: Optional[int] = ..., all_users: bool = ..., include_details: bool = ..., include_deleted: bool = ..., run_types: Optional[Sequence[Union[str, RunType]]] = ..., timeout: Optional[float] = ..., future: "Literal[True]") -> "Future[PaginatedObjectList[Run]]": ...
def get_runs(runs: Optional[Runs] = None, *, cluster_names: Optional[Sequence[str]] = None, user_emails: Optional[Sequence[str]] = None, before: Union[str, datetime, None] = None, after: Union[str, datetime, None] = None, gpu_types: Optional[Sequence[str]] = None, gpu_nums: Optional[Sequence[int]] = None, statuses: Optional[Sequence[Union[str, RunStatus]]] = None, limit: Optional[int] = 100, all_users: bool = False, include_details: bool = False, include_deleted: bool = False, run_types: Optional[Sequence[Union[str, RunType]]] = None, timeout: Optional[float] = 10, future: bool = False) -> Any:
    """Runs, newest first, a page of at most ``limit``; None: all of them.

    Filters add up. One's own, unless ``user_emails`` or ``all_users`` say otherwise.
    """
    client = default_client()

    def call(t: Optional[float]) -> PaginatedObjectList[Run]:
        left = _remaining(t)
        users = user_emails if user_emails is not None or all_users else [client.user]
        wanted = _Filter(runs, cluster_names, users, gpu_types, gpu_nums, statuses, run_types)
        first = client.workloads(kinds=KINDS, before=before, since=after, deleted=include_deleted, prefix=wanted.prefix, user=wanted.user, limit=min(limit or 1000, 1000), timeout=left())
        return _gather(first, wanted, limit, include_details)

    return _do(call, timeout, future)



class _Filter:
    """What a listing keeps. Names and one user are asked of the server, the rest is looked at here."""

    def __init__(
        self,
        runs: Optional[Runs],
        clusters: Optional[Sequence[str]],
        users: Optional[Sequence[str]],
        gpu_types: Optional[Sequence[str]],
        gpu_nums: Optional[Sequence[int]],
        statuses: Optional[Sequence[Union[str, RunStatus]]],
        run_types: Optional[Sequence[Union[str, RunType]]],
    ) -> None:
        self.names = None if runs is None else [run_name(r) for r in ([runs] if isinstance(runs, (str, Run)) else runs)]
        self.clusters, self.users, self.gpu_types, self.gpu_nums = clusters, users, gpu_types, gpu_nums
        self.statuses = None if statuses is None else [_status(s) for s in ([statuses] if isinstance(statuses, str) else statuses)]
        self.types = None if run_types is None else [RunType.from_string(x) for x in run_types]
        one = self.names[0] if self.names is not None and len(self.names) == 1 else ""
        self.prefix = one if one and len(one) != 26 and not any(c in one for c in "*?[") else None
        self.user = str(self.users[0]) if self.users is not None and len(self.users) == 1 else None

    def keeps(self, r: Run) -> bool:
        """Whether a run is meant."""
        if self.names is not None and not any(n == r.run_uid or fnmatch.fnmatchcase(r.name, n) for n in self.names):
            return False
        return (
            (self.clusters is None or r.cluster in self.clusters)
            and (self.users is None or r.created_by in self.users)
            and (self.gpu_types is None or any(t == r.gpu_type or (r.gpus > 0 and matches(t, r.gpu_type)) for t in self.gpu_types))
            and (self.gpu_nums is None or r.gpus in self.gpu_nums)
            and (self.statuses is None or r.status in self.statuses)
            and (self.types is None or r.run_type in self.types)
        )


def _gather(page: Page[Workload], wanted: _Filter, limit: Optional[int], details: bool) -> PaginatedObjectList[Run]:
    """As many runs as make a page, from as many of the server's pages as that takes."""
    out: List[Run] = []
    while True:
        for i, w in enumerate(page):
            r = Run(w, details)
            if not wanted.keeps(r):
                continue
            if limit is not None and len(out) == limit:
                rest = Page(list(page[i:]), page.cursor, page._more)
                return PaginatedObjectList(out, lambda: _gather(rest, wanted, limit, details), RUN_COLUMNS)
            out.append(r)
        if not page.has_next:
            return PaginatedObjectList(out, None, RUN_COLUMNS)
        if limit is not None and len(out) == limit:
            here = page
            return PaginatedObjectList(out, lambda: _gather(here.next_page(), wanted, limit, details), RUN_COLUMNS)
        page = page.next_page()


def _status(text: Union[str, RunStatus]) -> RunStatus:
    """The status of a name that somebody has written."""
    found = RunStatus.from_string(text)
    if found is RunStatus.UNKNOWN and str(text).upper() != "UNKNOWN":
        raise InvalidError(422, "%r is no status" % (text,), hint="one of " + ", ".join(s.value for s in RunStatus))
    return found


# -- following runs ---------------------------------------------------------


@overload
def watch_run_status(run: RunLike, timeout: Optional[float] = ..., *, future: "Literal[False]" = ...) -> Iterator[Run]: ...
@overload
def watch_run_status(run: RunLike, timeout: Optional[float] = ..., *, future: "Literal[True]") -> "Future[Iterator[Run]]": ...
def watch_run_status(run: RunLike, timeout: Optional[float] = None, *, future: bool = False) -> Any:
    """The run at each change of its status, the present one first.

    It ends when the run has ended for good: a preempted run passes through
    STOPPED and is queued again, so that is no end. With ``future`` the iterator
    is that of the future, which is done once the run is found.
    """
    changes = _watched(default_client(), run, None if future else timeout)
    return _later(lambda: itertools.chain([next(changes)], changes)) if future else changes


def _watched(client: Client, run: RunLike, timeout: Optional[float]) -> Iterator[Run]:
    w = client.workload(run_name(run))
    now = Run(w)
    yield now
    last = now.status
    if w.ended:
        return
    for change in client.watch(w.id, timeout=timeout):
        if change.workload is None:
            w = client.workload(w.id)
        else:
            w = change.workload
            w.raw["spec"] = now.workload.spec  # a watch tells no documents
        now = Run(w)
        if now.status is not last:
            last = now.status
            yield now
        if w.ended:
            return


@overload
def wait_for_run_status(run: RunLike, status: Union[str, RunStatus], timeout: Optional[float] = ..., *, future: "Literal[False]" = ...) -> Run: ...
@overload
def wait_for_run_status(run: RunLike, status: Union[str, RunStatus], timeout: Optional[float] = ..., *, future: "Literal[True]") -> "Future[Run]": ...
def wait_for_run_status(run: RunLike, status: Union[str, RunStatus], timeout: Optional[float] = None, *, future: bool = False) -> Any:
    """The run once its status is this one or a later one.

    So waiting for RUNNING returns too when it goes directly to FAILED: look at
    the status. Raises :class:`RunStatusNotReached` where the run ends before, as
    COMPLETED is before STOPPED and FAILED, and ``TimeoutError``.
    """
    wanted = _status(status)

    def call() -> Run:
        last: Optional[Run] = None
        for r in watch_run_status(run, timeout):
            if r.status.after(wanted, inclusive=True):
                return get_run(r, timeout=None)
            last = r
        raise RunStatusNotReached(0, "%s ended as %s and never was %s" % (last.name if last else run, last.status if last else "?", wanted))

    return _later(call) if future else call()


def _tasks(w: Workload, rank: Optional[int], node_rank: Optional[int], local: Optional[int], world: Optional[int], failed: bool) -> int:
    """The node whose output is meant."""
    given = [n for n in (rank, node_rank) if n is not None]
    if local is not None:
        # Our logs are those of tasks; the processes of one node share theirs.
        raise InvalidError(422, "local_gpu_rank: the processes of a node write one log", hint="give node_rank, or have each process write a file of its own")
    if world is not None:
        each = max(1, w.gpus // max(1, len(w.tasks)))
        given.append(world // each)
    if len(given) > 1:
        raise InvalidError(422, "only one of rank, node_rank and global_gpu_rank can be given")
    if given:
        return given[0]
    if (failed or w.phase == "Failed") and w.culprit is not None:
        return w.culprit
    return 0


@overload
def get_run_logs(run: RunLike, rank: Optional[int] = ..., *, node_rank: Optional[int] = ..., local_gpu_rank: Optional[int] = ..., global_gpu_rank: Optional[int] = ..., first_exception: bool = ..., failed: bool = ..., resumption: Optional[int] = ..., tail: Optional[int] = ..., container: Optional[str] = ..., timeout: Optional[float] = ..., future: "Literal[False]" = ...) -> Iterator[str]: ...
@overload
def get_run_logs(run: RunLike, rank: Optional[int] = ..., *, node_rank: Optional[int] = ..., local_gpu_rank: Optional[int] = ..., global_gpu_rank: Optional[int] = ..., first_exception: bool = ..., failed: bool = ..., resumption: Optional[int] = ..., tail: Optional[int] = ..., container: Optional[str] = ..., timeout: Optional[float] = ..., future: "Literal[True]") -> "Future[Iterator[str]]": ...
def get_run_logs(
    run: RunLike,
    rank: Optional[int] = None,
    *,
    node_rank: Optional[int] = None,
    local_gpu_rank: Optional[int] = None,
    global_gpu_rank: Optional[int] = None,
    first_exception: bool = False,
    failed: bool = False,
    resumption: Optional[int] = None,
    tail: Optional[int] = None,
    container: Optional[str] = None,
    timeout: Optional[float] = 10,
    future: bool = False,
) -> Any:
    """Output of a node of a run, as a generator of pieces of text.

    Of a failed run without a rank, that of the node which failed first. With
    ``first_exception`` only the first error that is found, of all nodes.
    With ``future`` the generator is that of the future, and the output is read
    before the future is done.
    """
    if future:
        return _later(lambda: iter(list(_logs(run, rank, node_rank, local_gpu_rank, global_gpu_rank, first_exception, failed, resumption, tail, container, None, False))))
    return _logs(run, rank, node_rank, local_gpu_rank, global_gpu_rank, first_exception, failed, resumption, tail, container, timeout, False)


@overload
def follow_run_logs(run: RunLike, rank: Optional[int] = ..., *, node_rank: Optional[int] = ..., local_gpu_rank: Optional[int] = ..., global_gpu_rank: Optional[int] = ..., first_exception: bool = ..., failed: bool = ..., resumption: Optional[int] = ..., tail: Optional[int] = ..., container: Optional[str] = ..., timeout: Optional[float] = ..., future: "Literal[False]" = ...) -> Iterator[str]: ...
@overload
def follow_run_logs(run: RunLike, rank: Optional[int] = ..., *, node_rank: Optional[int] = ..., local_gpu_rank: Optional[int] = ..., global_gpu_rank: Optional[int] = ..., first_exception: bool = ..., failed: bool = ..., resumption: Optional[int] = ..., tail: Optional[int] = ..., container: Optional[str] = ..., timeout: Optional[float] = ..., future: "Literal[True]") -> "Future[Iterator[str]]": ...
def follow_run_logs(
    run: RunLike,
    rank: Optional[int] = None,
    *,
    node_rank: Optional[int] = None,
    local_gpu_rank: Optional[int] = None,
    global_gpu_rank: Optional[int] = None,
    first_exception: bool = False,
    failed: bool = False,
    resumption: Optional[int] = None,
    tail: Optional[int] = None,
    container: Optional[str] = None,
    timeout: Optional[float] = 10,
    future: bool = False,
) -> Any:
    """The same as it is written, to the end of the run's attempt.

    Of a run that has not started it waits for the start. With ``future`` the
    generator is that of the future, which is done once the run is found.
    """
    if future:
        return _later(lambda: _logs(get_run(run, timeout=None), rank, node_rank, local_gpu_rank, global_gpu_rank, first_exception, failed, resumption, tail, container, None, True))
    return _logs(run, rank, node_rank, local_gpu_rank, global_gpu_rank, first_exception, failed, resumption, tail, container, timeout, True)


def _logs(
    run: RunLike,
    rank: Optional[int],
    node_rank: Optional[int],
    local: Optional[int],
    world: Optional[int],
    first: bool,
    failed: bool,
    resumption: Optional[int],
    tail: Optional[int],
    container: Optional[str],
    timeout: Optional[float],
    follow: bool,
) -> Iterator[str]:
    if container not in (None, "MAIN"):
        raise NotFoundError(404, "container %r: a task has one, MAIN" % container)
    if first and (failed or follow):
        raise InvalidError(422, "first_exception goes with neither failed nor following", hint="keep one of them")
    client = default_client()
    w = client.workload(run_name(run), timeout=timeout)
    if first:
        e = client.first_error(w, attempt=resumption)
        if e is not None:
            yield "\n".join(e.get("excerpt") or [e["title"]]) + "\n"
        return
    attempt = w.attempt if resumption is None else resumption
    task = _tasks(w, rank, node_rank, local, world, failed)
    yield from client.logs(w, task=task, attempt=attempt, tail=tail, follow=follow, timeout=timeout)


# -- clusters ---------------------------------------------------------------


def get_cluster(name: str, *, timeout: Optional[float] = 10, future: bool = False) -> Any:
    """One cluster with its utilization. See :class:`muster.clusters.ClusterDetails`."""
    from .clusters import details

    client = default_client()

    def call(t: Optional[float]) -> Any:
        found = [c for c in details(client, True, t) if c.name == name]
        if not found:
            raise NotFoundError(404, "there is no cluster %r" % name, hint="get_clusters lists them")
        return found[0]

    return _do(call, timeout, future)


def get_clusters(
    clusters: Union[Sequence[str], str, None] = None, include_utilization: bool = False, *, timeout: Optional[float] = 10, future: bool = False
) -> Any:
    """Every cluster, or those that are named."""
    from .clusters import CLUSTER_COLUMNS, details

    client = default_client()
    names = [clusters] if isinstance(clusters, str) else None if clusters is None else list(clusters)

    def call(t: Optional[float]) -> Any:
        return ObjectList([c for c in details(client, include_utilization, t) if names is None or c.name in names], CLUSTER_COLUMNS)

    return _do(call, timeout, future)


def get_users(*, timeout: Optional[float] = 10, future: bool = False) -> Any:
    """Names of everyone who has submitted something."""
    client = default_client()

    def call(t: Optional[float]) -> List[str]:
        return sorted({w.user for w in client.workloads(limit=1000, summary=True, timeout=t).all()})

    return _do(call, timeout, future)


# -- secrets ----------------------------------------------------------------


def create_secret(secret: Any, *, timeout: Optional[float] = 10, future: bool = False) -> Any:
    """Stores a secret, which every run of its user then has."""
    client = default_client()

    def call(t: Optional[float]) -> Any:
        return secret._store(client)

    return _do(call, timeout, future)


def get_secrets(
    secrets: Optional[Sequence[str]] = None, secret_types: Optional[Sequence[str]] = None, *, timeout: Optional[float] = 10, future: bool = False
) -> Any:
    """The user's secrets, without their values."""
    from .secrets import of

    client = default_client()
    names = [secrets] if isinstance(secrets, str) else secrets
    kinds = [str(getattr(k, "value", k)).replace("_", "-").lower() for k in secret_types or []]

    def call(t: Optional[float]) -> Any:
        found = [of(raw) for raw in client.secrets()]
        wanted = [s for s in found if (names is None or s.name in names) and (not kinds or s.secret_type in kinds)]
        return ObjectList(wanted, {"NAME": "name", "TYPE": "secret_type"})

    return _do(call, timeout, future)


def delete_secrets(secrets: Any, *, timeout: Optional[float] = 10, future: bool = False) -> Any:
    """Forgets secrets, by name or object. Runs that have them keep them."""
    client = default_client()
    wanted = [secrets] if isinstance(secrets, str) or hasattr(secrets, "name") else list(secrets)

    def call(t: Optional[float]) -> Any:
        out = []
        known = {s.name: s for s in get_secrets(timeout=t)}
        for s in wanted:
            name = str(getattr(s, "name", s))
            client.delete_secret(name)
            if name in known:
                out.append(known[name])
        return ObjectList(out, {"NAME": "name", "TYPE": "secret_type"})

    return _do(call, timeout, future)


# -- who talks to whom ------------------------------------------------------


def initialize(api_key: Optional[str] = None) -> None:
    """Makes the connection anew, with this token where one is given."""
    from .client import Client, set_default_client

    set_default_client(Client(token=api_key) if api_key else None)


def set_api_key(api_key: str) -> None:
    """Uses this token from now on, in this process."""
    initialize(api_key)
