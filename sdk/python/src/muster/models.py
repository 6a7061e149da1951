"""What the API answers, as objects.

A :class:`Workload` is the JSON of the REST API with names in Python's style;
``raw`` holds it whole, so that a newer server's fields are there too.
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Callable, Dict, Generic, Iterator, List, Mapping, Optional, TypeVar

if TYPE_CHECKING:
    from .client import Client

T = TypeVar("T")


def parse_time(text: Optional[str]) -> Optional[datetime]:
    """An RFC 3339 instant; None of None."""
    if not text:
        return None
    head, _, fraction = text.rstrip("Zz").partition(".")
    offset = ""
    for sign in ("+", "-"):
        tail = fraction if fraction else head[10:]
        if sign in tail:
            cut, _, rest = tail.rpartition(sign)
            offset = sign + rest
            if fraction:
                fraction = cut
            else:
                head = head[:10] + cut
            break
    return datetime.fromisoformat("%s.%s%s" % (head, (fraction + "000000")[:6], offset or "+00:00"))


class Workload:
    """A workload as it was when the server answered."""

    def __init__(self, raw: Mapping[str, Any], client: Optional["Client"] = None) -> None:
        self.raw: Dict[str, Any] = dict(raw)
        self._client = client

    # -- what it is ---------------------------------------------------------
    @property
    def id(self) -> str:
        """Identity for ever; sorts by creation."""
        return str(self.raw["id"])

    @property
    def name(self) -> str:
        """Name, unique in its project."""
        return str(self.raw["name"])

    @property
    def project(self) -> str:
        """Project whose quota it uses."""
        return str(self.raw["project"])

    @property
    def kind(self) -> str:
        """training, distributed, workspace, inference or external."""
        return str(self.raw["kind"])

    @property
    def user(self) -> str:
        """Who submitted it."""
        return str(self.raw["user"])

    @property
    def priority(self) -> int:
        """0 to 1000."""
        return int(self.raw["priority"])

    @property
    def gpus(self) -> int:
        """GPUs that it asks for, over all tasks."""
        return int(self.raw.get("gpus") or 0)

    @property
    def gpu_seconds(self) -> float:
        """Device-seconds charged so far."""
        return float(self.raw.get("gpuSeconds") or 0)

    # -- where it is in its life -------------------------------------------
    @property
    def phase(self) -> str:
        """Where it is in its life: Queued, Running, Completed …"""
        return str(self.raw["phase"])

    @property
    def reason(self) -> str:
        """Why, as a token."""
        return str(self.raw.get("reason") or "")

    @property
    def message(self) -> str:
        """Why, as a sentence."""
        return str(self.raw.get("message") or "")

    @property
    def ended(self) -> bool:
        """Whether nothing more happens to it by itself."""
        return self.phase in ENDS

    @property
    def succeeded(self) -> bool:
        """Whether it has ended well."""
        return self.phase == "Completed"

    @property
    def exit_code(self) -> Optional[int]:
        """Exit code of the present attempt; None while there is none."""
        attempts = self.attempts
        return attempts[-1].get("exitCode") if attempts else None

    @property
    def version(self) -> int:
        """Grows with every change: what a change may demand that it still is."""
        return int(self.raw.get("version") or 0)

    @property
    def attempt(self) -> int:
        """Number of the present attempt, from 0."""
        return int(self.raw.get("attempt") or 0)

    @property
    def attempts(self) -> List[Dict[str, Any]]:
        """Every attempt with its tasks, oldest first."""
        return list(self.raw.get("attempts") or [])

    @property
    def tasks(self) -> List[Dict[str, Any]]:
        """Tasks of the present attempt."""
        attempts = self.attempts
        return list(attempts[-1].get("tasks") or []) if attempts else []

    @property
    def culprit(self) -> Optional[int]:
        """Index of the task that failed first in the present attempt."""
        attempts = self.attempts
        return attempts[-1].get("culprit") if attempts else None

    @property
    def transitions(self) -> List[Dict[str, Any]]:
        """Its history."""
        return list(self.raw.get("transitions") or [])

    @property
    def conditions(self) -> List[Dict[str, Any]]:
        """Facts beside the phase."""
        return list(self.raw.get("conditions") or [])

    @property
    def statuses(self) -> Dict[str, Dict[str, Any]]:
        """The same in the words of other platforms."""
        return dict(self.raw.get("statuses") or {})

    @property
    def pending(self) -> Optional[Dict[str, Any]]:
        """Why it waits, while it waits."""
        return self.raw.get("pending")

    @property
    def plan(self) -> Optional[Dict[str, Any]]:
        """What would become of it; of a dry run only."""
        return self.raw.get("plan")

    @property
    def allowed_actions(self) -> List[str]:
        """What can be asked of it now."""
        return list(self.raw.get("allowedActions") or [])

    # -- what it says of itself --------------------------------------------
    @property
    def progress(self) -> Optional[Dict[str, Any]]:
        """The last report: step, total, metrics, message, task, attempt, at."""
        return self.raw.get("progress")

    @property
    def checkpoint(self) -> Optional[Dict[str, Any]]:
        """From where it can go on: path, step, attempt, at."""
        return self.raw.get("checkpoint")

    @property
    def metadata(self) -> Dict[str, Any]:
        """What its tasks and its user keep with it."""
        return dict(self.raw.get("metadata") or {})

    @property
    def spec(self) -> Dict[str, Any]:
        """The document, after defaults."""
        return dict(self.raw.get("spec") or {})

    @property
    def created_at(self) -> datetime:
        """When it was submitted."""
        return parse_time(self.raw.get("createdAt")) or datetime.fromtimestamp(0, timezone.utc)

    @property
    def started_at(self) -> Optional[datetime]:
        """First time Running."""
        return parse_time(self.raw.get("startedAt"))

    @property
    def ended_at(self) -> Optional[datetime]:
        """When it ended."""
        return parse_time(self.raw.get("endedAt"))

    # -- what can be done with it ------------------------------------------
    @property
    def client(self) -> "Client":
        """The client that it came from."""
        if self._client is None:
            from .client import default_client

            self._client = default_client()
        return self._client

    def _take(self, w: "Workload") -> "Workload":
        self.raw = w.raw
        return self

    def refresh(self) -> "Workload":
        """Reads it again."""
        return self._take(self.client.workload(self.id))

    def stop(self, message: str = "", grace_period: str = "") -> "Workload":
        """Ends it; its definition and logs stay."""
        return self._take(self.client.stop(self.id, message=message, grace_period=grace_period))

    def hold(self, message: str = "") -> "Workload":
        """Keeps it from being queued while it waits, until it is released."""
        return self._take(self.client.hold(self.id, message=message))

    def release(self, message: str = "") -> "Workload":
        """Lets it go that is held."""
        return self._take(self.client.release(self.id, message=message))

    def restart(self) -> "Workload":
        """Runs it again once it has ended."""
        return self._take(self.client.restart(self.id))

    def delete(self) -> "Workload":
        """Ends it and removes it with its logs."""
        return self._take(self.client.delete(self.id))

    def change(self, **fields: Any) -> "Workload":
        """Changes priority or limits while it lives, such as ``priority="high"``."""
        return self._take(self.client.change(self.id, fields))

    def update_metadata(self, metadata: Mapping[str, Any]) -> "Workload":
        """Merges into its metadata; None takes a key away."""
        return self._take(self.client.update_metadata(self.id, metadata))

    def wait(self, phase: Optional[str] = None, timeout: Optional[float] = None, progress: bool = False) -> "Workload":
        """Waits until it is in that phase, or has ended. See :meth:`Client.wait`."""
        return self._take(self.client.wait(self.id, phase=phase, timeout=timeout, progress=progress))

    def logs(self, task: int = 0, **options: Any) -> Iterator[str]:
        """Output of a task. See :meth:`Client.logs`."""
        return self.client.logs(self.id, task=task, **options)

    def follow(self, task: int = 0, **options: Any) -> Iterator[str]:
        """Output of a task until it has ended."""
        return self.client.logs(self.id, task=task, follow=True, **options)

    def why(self) -> Dict[str, Any]:
        """Why it does not run, when it is expected to, and what could be changed."""
        return self.client.why(self.id)

    def first_error(self) -> Optional[Dict[str, Any]]:
        """The first thing that went wrong, over all tasks; None: nothing was found."""
        return self.client.first_error(self.id)

    def __repr__(self) -> str:
        why = " (%s)" % self.reason if self.reason else ""
        return "<Workload %s/%s %s%s>" % (self.project, self.name, self.phase, why)

    def _repr_html_(self) -> str:
        from ._card import workload_card

        return workload_card(self)


#: Phases after which nothing more happens by itself.
ENDS = frozenset(("Completed", "Failed", "Stopped", "Canceled", "Preempted", "TimedOut", "Lost", "Deleted"))


class Page(List[T], Generic[T]):
    """A page of a listing: a list that knows the next one."""

    def __init__(self, items: List[T], cursor: str, more: Callable[[str], "Page[T]"]) -> None:
        super().__init__(items)
        self.cursor = cursor
        self._more = more

    @property
    def has_next(self) -> bool:
        """Whether there is another page."""
        return bool(self.cursor)

    def next_page(self) -> "Page[T]":
        """The next page; an empty one after the last."""
        if not self.cursor:
            return Page([], "", self._more)
        return self._more(self.cursor)

    def all(self) -> Iterator[T]:
        """Everything from here on, page by page."""
        page: Page[T] = self
        while True:
            yield from page
            if not page.cursor:
                return
            page = page.next_page()


class Change:
    """What a watch tells.

    ``workload`` has changed; it comes without its document, and with the
    transitions of this change only. Where it is None everything that had
    happened before has been told (``synced``). ``revision`` resumes the watch.
    """

    __slots__ = ("workload", "synced", "revision")

    def __init__(self, workload: Optional[Workload], synced: bool, revision: int) -> None:
        self.workload = workload
        self.synced = synced
        self.revision = revision
