"""What a program inside a workload can say and ask.

Outside of one, or where the server cannot be reached, everything here does
nothing and says so once: the same program runs anywhere. With
``MUSTER_REPORT_FILE`` set to a path, what would be said is appended to that file,
one JSON object a line.
"""

from __future__ import annotations

import atexit
import collections
import json
import math
import os
import queue
import signal
import sys
import threading
import time
from typing import Any, Callable, Deque, Dict, List, Mapping, Optional

from .errors import MusterError
from .models import Workload

FLUSH_EVERY = 2.0  # seconds between reports that are sent; only the last counts
_PATIENCE = 5.0  # seconds for one of them
_METRICS = 100  # of which the server keeps the last value, and
_NAME = 200  # characters of the name of one


class ThisRun:
    """The workload of this program, as its environment says.

    It is false outside of one: what it says is not heard, and nothing fails.
    """

    def __init__(self, env: Mapping[str, str]) -> None:
        self.name = env.get("MUSTER_WORKLOAD", "")
        self.id = env.get("MUSTER_WORKLOAD_ID", "")
        self.project = env.get("MUSTER_PROJECT", "")
        self.node = env.get("MUSTER_NODE", "")
        self.role = env.get("MUSTER_TASK_ROLE", "")
        self.attempt = _int(env, "MUSTER_ATTEMPT")
        self.task = _int(env, "MUSTER_TASK_INDEX")
        self.task_count = _int(env, "MUSTER_TASK_COUNT", 1)
        self.rank = _int(env, "RANK")
        self.world_size = _int(env, "WORLD_SIZE", 1)

    def __bool__(self) -> bool:
        return bool(self.id)

    @property
    def workload(self) -> Optional[Workload]:
        """The workload as the server has it; None where it cannot be asked."""
        raw = _link().call("GET", "/v1/self")
        return Workload(raw) if raw else None

    @property
    def metadata(self) -> Dict[str, Any]:
        """What is kept with it."""
        w = self.workload
        return w.metadata if w else {}

    def update_metadata(self, metadata: Mapping[str, Any]) -> bool:
        """Merges into what is kept with it; whether it was heard."""
        return _link().say("PATCH", "/v1/self/metadata", dict(metadata))

    def parameters(self) -> Any:
        """The document's ``parameters``, of the file in $PARAMETERS."""
        from ._yaml import load

        path = os.environ.get("PARAMETERS")
        if not path:
            return {}
        with open(path, encoding="utf-8") as f:
            return load(f.read()) or {}

    def __repr__(self) -> str:
        if not self:
            return "<ThisRun outside of a workload>"
        return "<ThisRun %s/%s attempt %d task %d>" % (self.project, self.name, self.attempt, self.task)


class Preemption:
    """The notice that this program has to end. ``grace`` is in seconds."""

    def __init__(self, grace: float) -> None:
        self.grace = grace
        self.deadline = time.monotonic() + grace

    def remaining(self) -> float:
        """Seconds until it is ended by force."""
        return max(0.0, self.deadline - time.monotonic())


def _int(env: Mapping[str, str], name: str, default: int = 0) -> int:
    try:
        return int(env.get(name, default))
    except ValueError:
        return default


class _Link:
    """The connection of a task to its server, with the token of its attempt."""

    def __init__(self) -> None:
        self._untold = [True]  # until something was told
        self._transport: Any = None
        self._file = os.environ.get("MUSTER_REPORT_FILE", "")
        url, path = os.environ.get("MUSTER_TASK_URL", ""), os.environ.get("MUSTER_TASK_TOKEN_FILE", "")
        self.inside = bool(os.environ.get("MUSTER_WORKLOAD_ID"))
        self._why = "" if url and path else "this server has no address for its tasks; start it with --advertise URL"
        if not self._why:
            from ._transport import Transport

            try:
                with open(path, encoding="utf-8") as f:
                    self._transport = Transport(url, f.read().strip(), retries=4)
            except (OSError, MusterError) as e:
                self._why = str(e)

    def say(self, method: str, path: str, body: Mapping[str, Any]) -> bool:
        """Says something; whether the server heard it. It never raises."""
        if self._file:
            self._append(path, body)
        if self._transport is None:
            self._tell(self._why)
            return False
        try:
            self._transport.call(method, path, body=dict(body), timeout=_PATIENCE)
            return True
        except MusterError as e:
            self._tell(str(e))
        except (OSError, ValueError) as e:
            self._tell(str(e))
        return False

    def call(self, method: str, path: str) -> Any:
        """What the server answers; None where it cannot be asked."""
        if self._transport is None:
            self._tell(self._why)
            return None
        try:
            return self._transport.call(method, path, timeout=_PATIENCE)
        except (MusterError, OSError, ValueError) as e:
            self._tell(str(e))
            return None

    def _append(self, path: str, body: Mapping[str, Any]) -> None:
        line = json.dumps({"at": time.time(), "what": path.rsplit("/", 1)[-1], **body}, default=str)
        try:
            # In one piece, so that no lock is needed.
            f = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
            try:
                os.write(f, (line + "\n").encode())
            finally:
                os.close(f)
        except OSError as e:
            self._tell("%s cannot be written: %s" % (self._file, e.strerror))

    def kept(self, what: str) -> Optional[Dict[str, Any]]:
        """The last of a sort in the file of reports."""
        last: Optional[Dict[str, Any]] = None
        try:
            with open(self._file, encoding="utf-8") as f:
                for line in f:
                    try:
                        entry = json.loads(line)
                    except ValueError:
                        continue  # cut off by a crash
                    if isinstance(entry, dict) and entry.get("what") == what:
                        last = entry
        except OSError:
            pass
        return last

    def _tell(self, why: str) -> None:
        try:
            self._untold.pop()
        except IndexError:
            return
        if self.inside and not self._file:
            sys.stderr.write("muster: reports of this program are not heard: %s\n" % why.split("\n")[0])


class _Reporter:
    """Sends the last report now and then, so that reporting costs a loop nothing.

    A callback of :func:`on_preempt` may report and flush while the report that
    its signal has interrupted is anywhere in here. So locks may be taken again by
    who has them, and whoever sends waits for nothing but the network.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # for the state; never wanted by who sends
        self._sending = threading.RLock()  # one after another: an older report must not come last
        self._wake: "queue.SimpleQueue[None]" = queue.SimpleQueue()
        self._awake = False
        self._next: "Deque[Dict[str, Any]]" = collections.deque(maxlen=1)
        self._state: Dict[str, Any] = {"step": 0}
        self._thread: Optional[threading.Thread] = None

    def put(self, news: Mapping[str, Any], metrics: Mapping[str, float]) -> None:
        """Takes a report; what it does not say stays as it was."""
        with self._lock:
            self._state.update(news)
            if metrics:
                kept = {k: v for k, v in self._state.get("metrics", {}).items() if k not in metrics}
                kept.update(metrics)
                self._state["metrics"] = dict(list(kept.items())[-_METRICS:])
            self._next.append(dict(self._state))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="muster-report", daemon=True)
                self._thread.start()
        if not self._awake:
            self._awake = True
            self._wake.put(None)

    def _run(self) -> None:
        while True:
            self._wake.get()
            self._awake = False
            self.flush()
            time.sleep(FLUSH_EVERY)

    def flush(self) -> bool:
        """Sends what has not been sent."""
        with self._sending:
            try:
                body = self._next.popleft()
            except IndexError:
                return True
            return _link().say("POST", "/v1/self/report", body)


_links: Dict[str, _Link] = {}
_reporter = _Reporter()


def _link() -> _Link:
    link = _links.get("server")
    return link if link is not None else _links.setdefault("server", _Link())


def _after_fork() -> None:
    # Neither threads nor connections survive a fork, as of a data loader.
    global _links, _reporter
    _links, _reporter = {}, _Reporter()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def this_run() -> ThisRun:
    """The workload of this program; false outside of one, where nothing that is said is heard."""
    return ThisRun(os.environ)


def report(
    step: Optional[int] = None,
    total: Optional[int] = None,
    message: Optional[str] = None,
    *,
    every_rank: bool = False,
    **metrics: float,
) -> None:
    """Says how far this program has come: ``report(step=10, total=100, loss=0.3)``.

    It returns at once; at most every two seconds the last report is sent, and
    the very last before the program ends. Of several ranks only rank 0 is
    heard, unless ``every_rank``. Numbers that are not finite are told as text. Of
    metrics the last 100 are kept, whose names have at most 200 characters.
    """
    if not every_rank and os.environ.get("RANK", "0") != "0":
        return
    news: Dict[str, Any] = {"task": _int(os.environ, "MUSTER_TASK_INDEX")}
    if step is not None:
        news["step"] = max(0, int(step))
    if total is not None:
        news["total"] = max(0, int(total))
    if message is not None:
        news["message"] = str(message)[:1000]
    good: Dict[str, float] = {}
    odd: List[str] = []
    for name, value in metrics.items():
        number = float(value)  # tensors of one element too
        if not 0 < len(name) <= _NAME:
            continue  # the server would refuse the whole report
        if math.isfinite(number):
            good[name] = number
        else:
            odd.append("%s is %s" % (name, number))
    if odd and message is None:
        news["message"] = ", ".join(odd)[:1000]
    _reporter.put(news, good)


def flush() -> bool:
    """Sends the last report now; whether it was heard."""
    return _reporter.flush()


atexit.register(flush)  # of the reporter that there is then: a fork has its own


def checkpoint(path: "str | os.PathLike[str]", step: Optional[int] = None) -> bool:
    """Says that the work can go on from here; whether the server heard it.

    Call it once the checkpoint is whole. The next attempt finds it with
    :func:`resume_from`.
    """
    body: Dict[str, Any] = {"path": os.fspath(path)}
    if step is not None:
        body["step"] = int(step)
    return _link().say("POST", "/v1/self/checkpoint", body)


def resume_from() -> Optional[str]:
    """The last checkpoint of this workload, of whichever attempt; None: begin anew."""
    if not os.environ.get("MUSTER_WORKLOAD_ID") and not os.environ.get("MUSTER_REPORT_FILE"):
        return None
    link = _link()
    if link.inside:
        raw = link.call("GET", "/v1/self")
        if raw and raw.get("checkpoint"):
            return str(raw["checkpoint"]["path"])
    if os.environ.get("MUSTER_RESUME_FROM"):
        return os.environ["MUSTER_RESUME_FROM"]
    entry = link.kept("checkpoint")
    return str(entry["path"]) if entry else None


_callbacks: List[Callable[[Preemption], Any]] = []
_notice: Optional[Preemption] = None
_exits = True


def stopping() -> bool:
    """Whether this program has been told to end. For loops; needs :func:`on_preempt`."""
    return _notice is not None


def on_preempt(callback: Optional[Callable[[Preemption], Any]] = None, *, exit: bool = True) -> None:
    """Calls back when this program has to end: preempted, stopped or out of time.

    The callback gets a :class:`Preemption` that knows how many seconds are left, and
    should save. Afterwards the program ends with exit code 143, unless
    ``exit=False``: then it ends itself, as :func:`stopping` tells its loop. Call it
    in the main thread; several callbacks are called in their order.
    """
    global _exits
    if not _callbacks and signal.getsignal(signal.SIGTERM) is not _on_signal:
        signal.signal(signal.SIGTERM, _on_signal)
    _callbacks.append(callback or (lambda _: None))
    _exits = exit


def _on_signal(number: int, frame: Any) -> None:
    global _notice
    if _notice is not None:
        return
    try:
        grace = float(os.environ.get("MUSTER_GRACE_SECONDS", "30"))
    except ValueError:
        grace = 30.0
    _notice = Preemption(grace)
    for callback in list(_callbacks):
        try:
            callback(_notice)
        except Exception:
            import traceback

            traceback.print_exc()  # the others still are to save
    if _exits:
        raise SystemExit(128 + number)
