"""Runs as mcli shows them: a workload in the words of that platform."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Mapping, Optional, TypeVar, Union

from ._default import default_client
from .fromdocument import changed, config_of, metadata_of
from .models import Workload, parse_time
from .places import places
from .runconfig import KEPT, Machines, RunConfig, cores_of, hours_of, priority_word
from .runstatus import RunStatus, RunType

if TYPE_CHECKING:
    from .client import Client

T = TypeVar("T")


class ObjectList(List[T]):
    """A list that prints itself as a table."""

    #: Attributes that the table shows, by the heading; set by what makes the list.
    columns: Mapping[str, str] = {}

    def __init__(self, items: Iterable[T] = (), columns: Optional[Mapping[str, str]] = None) -> None:
        super().__init__(items)
        if columns is not None:
            self.columns = columns

    def _rows(self) -> List[List[str]]:
        return [[_shown(getattr(x, a)) for a in self.columns.values()] for x in self]

    def to_table(self) -> str:
        """The table as text."""
        rows = [list(self.columns)] + self._rows()
        widths = [max(len(r[i]) for r in rows) for i in range(len(self.columns))]
        return "\n".join("  ".join(c.ljust(w) for c, w in zip(r, widths)).rstrip() for r in rows)

    def __str__(self) -> str:
        return self.to_table() if self.columns else list.__repr__(self)

    def _repr_html_(self) -> str:
        from ._card import table

        return table(self.columns, self._rows())

    def to_df(self) -> Any:
        """The table as a pandas.DataFrame, where pandas is installed."""
        import pandas  # type: ignore

        return pandas.DataFrame([{h: getattr(x, a) for h, a in self.columns.items()} for x in self])


class PaginatedObjectList(ObjectList[T]):
    """An ObjectList that knows the next page."""

    def __init__(self, items: Iterable[T], more: Optional[Callable[[], "PaginatedObjectList[T]"]], columns: Mapping[str, str]) -> None:
        super().__init__(items, columns)
        self._more = more

    @property
    def has_next_page(self) -> bool:
        """Whether there is another page."""
        return self._more is not None

    def next_page(self) -> "PaginatedObjectList[T]":
        """The next page; an empty one after the last."""
        return self._more() if self._more else PaginatedObjectList([], None, self.columns)


def _shown(v: Any) -> str:
    if v is None:
        return "-"
    if isinstance(v, datetime):
        return v.strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(v, RunStatus):
        return v.display_name
    return str(v)


class Resumption:
    """One attempt of a run, numbered from 0."""

    def __init__(self, **f: Any) -> None:
        self.index: int = f["index"]
        self.cluster: str = f["cluster"]
        self.gpus: int = f["gpus"]
        self.cpus: int = f["cpus"]
        self.gpu_type: str = f["gpu_type"]
        self.node_count: int = f["node_count"]
        self.status: RunStatus = f["status"]
        self.estimated_end_time: Optional[datetime] = f.get("estimated_end_time")
        self.started_at: Optional[datetime] = f.get("started_at")
        self.ended_at: Optional[datetime] = f.get("ended_at")
        self.reason: Optional[str] = f.get("reason")

    def __repr__(self) -> str:
        return "Resumption(index=%d, status=%s, reason=%r)" % (self.index, self.status, self.reason)


class RunLifecycle:
    """A status that a run was in, with when."""

    def __init__(self, resumption_index: int, status: RunStatus, started_at: datetime, reason: Optional[str]) -> None:
        self.resumption_index = resumption_index
        self.status = status
        self.started_at = started_at
        self.ended_at: Optional[datetime] = None
        self.reason = reason

    def __repr__(self) -> str:
        return "RunLifecycle(resumption_index=%d, status=%s, started_at=%s)" % (self.resumption_index, self.status, self.started_at)


class Node:
    """A node of the latest attempt."""

    def __init__(self, rank: int, name: str, status: str, reason: Optional[str]) -> None:
        self.rank = rank
        self.name = name
        self.status = status
        self.reason = reason

    def __repr__(self) -> str:
        return "Node(rank=%d, name=%r, status=%r)" % (self.rank, self.name, self.status)


class FormattedRunEvent:
    """A line of the event log of a run."""

    def __init__(self, event_type: str, event_time: datetime, event_message: str, resumption_index: int) -> None:
        self.event_type = event_type
        self.event_time = event_time
        self.event_message = event_message
        self.resumption_index = resumption_index

    def __repr__(self) -> str:
        return "FormattedRunEvent(%s, %r)" % (self.event_time, self.event_message)


class Run:
    """A run: what it is, where it is in its life, what can be done with it."""

    def __init__(self, workload: Workload, details: bool = True, client: Optional[Client] = None) -> None:
        self._client = client or workload.client
        self._details = details
        self._update(workload)

    # -- reading the workload ----------------------------------------------
    def _update(self, w: Workload) -> None:
        self.workload = w
        word = w.statuses.get("mcli") or {}
        self.run_uid: str = w.id
        self.name: str = w.name
        self.status: RunStatus = RunStatus.from_string(word.get("status", ""))
        self.reason: Optional[str] = str(word["reason"]) if word.get("reason") else None
        self.created_at: datetime = w.created_at
        self.updated_at: datetime = parse_time(w.raw.get("since")) or w.created_at
        self.created_by: str = w.user
        self.preemptible: bool = bool(w.raw.get("preemptible"))
        self.is_deleted: bool = w.phase in ("Deleting", "Deleted")
        self.metadata: Dict[str, Any] = metadata_of(w)
        spec = w.spec
        self._spec = spec
        retry = spec.get("retry") or {}
        self.max_retries: int = int(retry.get("limit") or 0)
        self.retry_on_system_failure: bool = int(retry.get("system", 3)) > 0
        hours = hours_of(spec.get("maxDuration"))
        self.max_duration_seconds: Optional[int] = None if hours is None else round(hours * 3600)
        self.image: str = str(w.raw.get("image") or spec.get("image") or "")
        self.priority: str = priority_word(w.priority)
        notes = spec.get("annotations") or {}
        self.run_type: RunType = RunType.from_string(notes.get(KEPT + "type") or "TRAINING")
        self.parent_name: Optional[str] = notes.get(KEPT + "parent") or notes.get("parent-name") or (spec.get("labels") or {}).get("parent")
        self._config: Optional[RunConfig] = None
        self.gpus: int = w.gpus
        tasks = [t for t in w.tasks if t.get("role") != "launcher"]
        self.node_count: int = int(spec.get("workers") or 1) if w.kind == "distributed" else max(1, len({t.get("node") for t in tasks if t.get("node")}))
        self.cpus: int = int(cores_of((spec.get("resources") or {}).get("cpu", 1)) * self.node_count)
        self._lifecycle: Optional[List[RunLifecycle]] = None

    @property
    def submitted_config(self) -> Optional[RunConfig]:
        """The configuration that it was submitted with; of a run that was submitted otherwise what of its document one can say."""
        if self._config is None and self._spec:
            kept = self._kept()
            self._config = config_of(self.workload) if kept is None else RunConfig.from_dict(kept)
        return self._config

    def _kept(self) -> Optional[Dict[str, Any]]:
        import json

        text = (self._spec.get("annotations") or {}).get(KEPT + "config")
        try:
            found = json.loads(text or "null")
        except ValueError:
            return None
        return found if isinstance(found, dict) else None

    @property
    def cluster(self) -> str:
        """Where it is, or the only one where it could be; "" while that is open."""
        return places(self._client, self.workload.tasks).cluster(self._spec, self.workload.tasks)

    @property
    def gpu_type(self) -> str:
        """The product of its GPUs, or the type that it asks for; "none" where it has none."""
        return places(self._client, self.workload.tasks).product(self._spec, self.workload.tasks) if self.gpus else "none"

    @property
    def instance(self) -> str:
        """The sort of its nodes, as :class:`muster.clusters.Instance` names it; "" while that is open."""
        return places(self._client, self.workload.tasks).instance(self._spec, self.workload.tasks)

    @property
    def max_duration(self) -> Optional[float]:
        """Hours after which it is stopped; None: no limit."""
        return None if self.max_duration_seconds is None else self.max_duration_seconds / 3600

    @property
    def display_name(self) -> str:
        """The name, with a mark of the watchdog and of deletion."""
        return self.name + (" 🐕" if self.retry_on_system_failure and self.max_retries else "") + (" (Deleted)" if self.is_deleted else "")

    @property
    def lifecycle(self) -> List[RunLifecycle]:
        """One entry for each status that it has been in, over all resumptions."""
        if self._lifecycle is None:
            self._lifecycle = _lifecycle(self._client.transitions(self.workload, dialect="mcli"), self.workload.attempts)
            if self._lifecycle and self.reason:
                self._lifecycle[-1].reason = self.reason
        return self._lifecycle

    @property
    def resumptions(self) -> List[Resumption]:
        """Every attempt, oldest first."""
        words = {e.resumption_index: e for e in self.lifecycle} if self.workload.attempt else {}
        out = []
        for a in self.workload.attempts:
            i = int(a["index"])
            last = i == self.workload.attempt
            entry = words.get(i)
            out.append(
                Resumption(
                    index=i,
                    cluster=places(self._client, a.get("tasks") or []).cluster(self._spec, a.get("tasks") or []),
                    gpus=self.gpus,
                    cpus=self.cpus,
                    gpu_type=self.gpu_type,
                    node_count=self.node_count,
                    status=self.status if last or entry is None else entry.status,
                    estimated_end_time=self.estimated_end_time if last else None,
                    started_at=parse_time(a.get("startedAt")),
                    ended_at=parse_time(a.get("endedAt")) if a.get("startedAt") else None,
                    reason=self.reason if last else entry.reason if entry is not None and entry.status.is_terminal() else _reason(a),
                )
            )
        return out

    @property
    def latest_resumption(self) -> Resumption:
        """The present attempt."""
        return self.resumptions[-1]

    @property
    def last_resumption_id(self) -> str:
        """Identity of the present attempt."""
        return "%s-%d" % (self.run_uid, self.workload.attempt)

    @property
    def resumption_count(self) -> int:
        """How many attempts there have been."""
        return len(self.workload.attempts)

    @property
    def nodes(self) -> List[Node]:
        """Nodes of the latest attempt by rank."""
        return [
            Node(int(t["index"]), str(t.get("node") or ""), _task_word(str(t["state"])), t.get("reason") or None)
            for t in self.workload.tasks
        ]

    @property
    def events(self) -> List[FormattedRunEvent]:
        """The event log, as ``mcli describe run`` shows it."""
        return _events(self.lifecycle, self.name)

    @property
    def started_at(self) -> Optional[datetime]:
        """When the first attempt started."""
        return next((parse_time(a["startedAt"]) for a in self.workload.attempts if a.get("startedAt")), None)

    @property
    def completed_at(self) -> Optional[datetime]:
        """When the last attempt that had started ended; None while it runs."""
        if not self.status.is_terminal():
            return None
        for a in reversed(self.workload.attempts):
            if a.get("startedAt"):
                return parse_time(a.get("endedAt"))
        return None

    @property
    def estimated_end_time(self) -> Optional[datetime]:
        """By when its time limit ends it, while it runs."""
        attempts = self.workload.attempts
        at = parse_time(attempts[-1].get("runningAt")) if attempts else None
        if at is None or self.max_duration_seconds is None or self.status.is_terminal():
            return None
        return at + timedelta(seconds=self.max_duration_seconds)

    @property
    def cumulative_pending_time(self) -> int:
        """Seconds in which it waited, over all attempts."""
        return _spent(self.lifecycle, (RunStatus.PENDING, RunStatus.QUEUED))

    @property
    def cumulative_running_time(self) -> int:
        """Seconds in which it ran, over all attempts."""
        return _spent(self.lifecycle, (RunStatus.RUNNING,))

    def get_gpu_hours(self) -> float:
        """GPU-hours used: GPUs times the length of each attempt."""
        hours = 0.0
        now = datetime.now(timezone.utc)
        attempts = self.workload.attempts
        for a in attempts:
            start, end = parse_time(a.get("startedAt")), parse_time(a.get("endedAt"))
            if start is None or (end is None and a is not attempts[-1]):
                continue
            hours += self.gpus * ((end or now) - start).total_seconds() / 3600
        return hours

    # -- acting -------------------------------------------------------------
    def refresh(self) -> "Run":
        """Reads it again."""
        self._update(self._client.workload(self.run_uid))
        return self

    def stop(self, *, reason: Optional[str] = None) -> "Run":
        """Stops it; it can be started again."""
        from . import runs

        self._update(runs._stop(self._client, self, reason, None).workload)
        return self

    def delete(self) -> "Run":
        """Deletes it with its logs."""
        self._update(self._client.delete(self.workload))
        return self

    def start(self) -> "Run":
        """Runs it again, as a new attempt."""
        self._update(self._client.restart(self.workload))
        return self

    def update(
        self,
        preemptible: Optional[bool] = None,
        priority: Optional[str] = None,
        max_retries: Optional[int] = None,
        retry_on_system_failure: Optional[bool] = None,
        max_duration: Optional[float] = None,
    ) -> "Run":
        """Changes how it is scheduled."""
        from . import runs

        fields = runs._changes(preemptible, priority, max_retries, retry_on_system_failure, max_duration)
        self._update(self._client.change(self.workload, fields))
        return self

    def update_metadata(self, metadata: Mapping[str, Any]) -> "Run":
        """Merges into its metadata."""
        self._update(self._client.update_metadata(self.workload, metadata))
        return self

    def clone(
        self,
        name: Optional[str] = None,
        image: Optional[str] = None,
        cluster: Optional[str] = None,
        instance: Optional[str] = None,
        nodes: Optional[int] = None,
        gpu_type: Optional[str] = None,
        gpus: Optional[int] = None,
        priority: Optional[str] = None,
        preemptible: Optional[bool] = None,
        max_retries: Optional[int] = None,
        max_duration: Optional[float] = None,
    ) -> "Run":
        """Submits a new run of the same configuration, with changes."""
        from . import runs

        compute: Dict[str, Any] = {"cluster": cluster, "instance": instance, "nodes": nodes, "gpu_type": gpu_type, "gpus": gpus}
        scheduling: Dict[str, Any] = {"priority": priority, "preemptible": preemptible, "max_retries": max_retries, "max_duration": max_duration}
        d = self._kept()
        if d is None:
            machines = Machines(self._client.cluster())
            fields = {"name": name, "image": image, **compute, **scheduling}
            return Run(self._client.submit(changed(self.workload, config_of(self.workload), fields, machines)))
        for key, value in (("name", name), ("image", image)):
            if value is not None:
                d[key] = value
        for part, values in (("compute", compute), ("scheduling", scheduling)):
            d.setdefault(part, {}).update({k: v for k, v in values.items() if v is not None})
        return runs._create(self._client, RunConfig.from_dict(d), None)

    def logs(self, **options: Any) -> Any:
        """Its output. See :func:`muster.get_run_logs`."""
        from . import runs

        return runs.get_run_logs(self, **options)

    def __repr__(self) -> str:
        return "Run(name=%r, status=%s%s)" % (self.name, self.status, ", reason=%r" % self.reason if self.reason else "")

    def _repr_html_(self) -> str:
        from ._card import workload_card

        return workload_card(self.workload)


RUN_COLUMNS = {
    "NAME": "name",
    "USER": "created_by",
    "CLUSTER": "cluster",
    "GPUS": "gpus",
    "STATUS": "status",
    "REASON": "reason",
    "CREATED": "created_at",
    "STARTED": "started_at",
    "ENDED": "completed_at",
}


def as_run(w: Workload, details: bool = True) -> Run:
    """The run of a workload."""
    return Run(w, details)


def run_name(run: Union[str, Run]) -> str:
    """The name, or of a Run the id, by which it is found."""
    return run.run_uid if isinstance(run, Run) else run


def _reason(attempt: Mapping[str, Any]) -> Optional[str]:
    reason, code = attempt.get("reason"), attempt.get("exitCode")
    if reason in ("NodeLost",):
        return "Node Failure"
    if reason in (None, "", "Error", "Killed", "OutOfMemory") and code:
        return str(code)
    return str(reason) if reason else None


_TASK_WORDS = {
    "pending": "PENDING",
    "starting": "STARTING",
    "running": "RUNNING",
    "stopping": "TERMINATING",
    "succeeded": "COMPLETED",
    "failed": "FAILED",
    "lost": "FAILED",
}


def _task_word(state: str) -> str:
    return _TASK_WORDS.get(state, "UNKNOWN")


_NODE_FAILURES = ("NodeLost", "SystemFailure", "OutcomeUnknown")


def _lifecycle(transitions: Iterable[Mapping[str, Any]], attempts: Iterable[Mapping[str, Any]] = ()) -> List[RunLifecycle]:
    out: List[RunLifecycle] = []
    codes = {int(a["index"]): a.get("exitCode") for a in attempts}

    def enter(index: int, status: RunStatus, at: datetime, reason: Optional[str]) -> None:
        if out and out[-1].status is status and out[-1].resumption_index == index:
            return
        if out:
            out[-1].ended_at = at
        out.append(RunLifecycle(index, status, at, reason))

    for t in transitions:
        at = parse_time(t.get("at"))
        if at is None:
            continue
        index = int(t.get("attempt") or 0)
        to, reason = str(t.get("to") or ""), str(t.get("reason") or "")
        # A command that began and ended between two looks was never seen running.
        if to in ("Completed", "Failed", "Backoff") and codes.get(index) is not None and not any(e.resumption_index == index and e.status is RunStatus.RUNNING for e in out):
            enter(index, RunStatus.RUNNING, at, None)
        # What is tried again ends first, as the attempt that it was, and the next one begins in the queue.
        if to == "Backoff":
            code = codes.get(index)
            enter(index, RunStatus.FAILED, at, str(code) if code else reason or None)
            enter(index + 1, RunStatus.PENDING, at, None)
            continue
        if t.get("from") == "Terminating" and to in ("Queued", "Reserved") and index > 0:
            enter(index - 1, RunStatus.STOPPED, at, "Node Failure" if reason in _NODE_FAILURES else "Preempted")
            enter(index, RunStatus.PENDING, at, None)
        enter(index, RunStatus.from_string(t.get("word", "")), at, t.get("message") or reason or None)
    return out


def _spent(entries: Iterable[RunLifecycle], statuses: Iterable[RunStatus]) -> int:
    now = datetime.now(timezone.utc)
    return int(sum(((e.ended_at or now) - e.started_at).total_seconds() for e in entries if e.status in statuses))


def _events(entries: List[RunLifecycle], name: str) -> List[FormattedRunEvent]:
    out: List[FormattedRunEvent] = []
    for i, e in enumerate(entries):
        text = ""
        if e.status is RunStatus.PENDING:
            text = "Run placed back in the scheduling queue" if e.resumption_index else "Run created" if i == 0 else ""
        elif e.status is RunStatus.RUNNING:
            text = "Run resumed" if e.resumption_index else "Run started"
        elif e.status is RunStatus.COMPLETED:
            text = "Run completed successfully"
        elif e.status is RunStatus.FAILED:
            code = " with exit code " + e.reason if e.reason and e.reason.isdigit() else ""
            tail = " --resumption %d" % e.resumption_index if e.resumption_index else ""
            text = "Run failed%s. See: mcli logs %s%s" % (code, name, tail)
        elif e.status is RunStatus.STOPPED:
            text = {"Preempted": "Run was preempted", "Node Failure": "Run was stopped due to node failure"}.get(e.reason or "", "Run stopped")
        if text:
            out.append(FormattedRunEvent(e.status.value, e.started_at, text, e.resumption_index))
    return out


__all__ = ["FormattedRunEvent", "Node", "ObjectList", "PaginatedObjectList", "Resumption", "Run", "RunLifecycle", "default_client"]
