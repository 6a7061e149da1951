"""The calls that last: watching, waiting, and logs."""

from __future__ import annotations

import time
from typing import Any, Dict, Iterator, Optional, Tuple, Union

from ._calls import instant
from ._work import Work
from .errors import MusterError, NoLogsError, UnreachableError, WorkloadFailed
from .models import Change, Workload

_SILENCE = 45.0  # seconds without even a heartbeat, and a stream counts as broken


class Following(Work):
    """Following workloads."""

    # -- following ----------------------------------------------------------
    def watch(
        self, name: Optional[str] = None, *, project: Optional[str] = None, after: int = 0, timeout: Optional[float] = None
    ) -> Iterator[Change]:
        """Changes of workloads as they happen, for ever or until ``timeout``.

        A lost connection is made again and resumes where it broke; only a
        refusal of the server ends the watch. ``after`` is the revision to begin
        after; 0: with what comes from now on. After ``timeout`` seconds
        ``TimeoutError`` is raised.
        """
        from ._transport import events

        deadline = None if timeout is None else time.monotonic() + timeout
        resume: Optional[int] = after or None
        last, pause = after, 0.1
        while True:
            query = {"project": project, "name": name, "after": resume}
            headers = {"Accept": "text/event-stream"}
            try:
                wait = _SILENCE if deadline is None else max(0.01, min(_SILENCE, deadline - time.monotonic()))
                with self._transport.stream("GET", "/v1/watch", query=query, headers=headers, timeout=wait) as r:
                    for e in events(r):
                        if e.id.isdigit() and int(e.id) > last:
                            # One revision may change many workloads, and the
                            # connection may break between them.
                            last = int(e.id)
                            resume = last - 1
                        pause = 0.1
                        if e.name == "synced":
                            yield Change(None, True, last)
                        elif e.name == "workload":
                            yield Change(self._workload(_json(e.data)), False, last)
                        if deadline is not None and time.monotonic() >= deadline:
                            break
            except MusterError as e:
                if e.code != UnreachableError.default_code and e.status < 500:
                    raise
            except (OSError, ValueError):
                pass  # broken, or silent for too long; http.client says ValueError of a closed stream
            except Exception as e:
                if type(e).__module__ != "http.client":
                    raise
            if deadline is not None and time.monotonic() >= deadline:
                raise TimeoutError("nothing ended the watch within %g seconds" % (timeout or 0))
            time.sleep(pause)
            pause = min(pause * 2, 5.0)

    def wait(
        self,
        name: Union[str, Workload],
        project: Optional[str] = None,
        *,
        phase: Optional[str] = None,
        timeout: Optional[float] = None,
        progress: bool = False,
        check: bool = False,
    ) -> Workload:
        """Waits until a workload is in ``phase`` (None: has ended) and returns it.

        It returns too when the workload ends otherwise. ``check`` raises
        :class:`WorkloadFailed` where it did not end well. ``progress`` shows a line,
        or in a notebook a card, that changes. Raises ``TimeoutError``.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        w = self.workload(name, project)
        show = _Show() if progress else None

        def done(w: Workload) -> bool:
            return w.ended or w.phase == phase

        if show:
            show(w)
        if not done(w):
            left = None if deadline is None else max(0.01, deadline - time.monotonic())
            try:
                for change in self.watch(w.id, timeout=left):
                    # After each connection it is read whole: what happened before is then known.
                    now = self.workload(w.id) if change.synced or change.workload is None else change.workload
                    if show:
                        show(now)
                    if done(now):
                        break
            except TimeoutError:
                raise TimeoutError("%s was not %s within %g seconds" % (w.name, phase or "at its end", timeout or 0)) from None
            w = self.workload(w.id)
        if show:
            show.end(w)
        if check and w.ended and not w.succeeded:
            raise WorkloadFailed(
                "%s is %s%s" % (w.name, w.phase, ": " + (w.message or w.reason) if w.message or w.reason else ""),
                workload=w,
                hint="muster logs %s --first-error" % w.name,
            )
        return w

    def logs(
        self,
        name: Union[str, Workload],
        project: Optional[str] = None,
        *,
        task: int = 0,
        attempt: Optional[int] = None,
        run: Optional[int] = None,
        tail: Optional[int] = None,
        offset: int = 0,
        since: Any = None,
        times: bool = False,
        follow: bool = False,
        part: str = "",
        timeout: Optional[float] = None,
    ) -> Iterator[str]:
        """Output of a task, in pieces of text.

        With ``follow`` until the task has ended. A lost connection resumes where
        it broke, without lost or doubled bytes, however long the server is away;
        ``timeout`` bounds that, in seconds. ``attempt`` None is the latest.
        ``part="build"`` is the output of building its image. Raises
        :class:`UnreachableError` where it cannot go on: from the first connection on
        with ``times``, whose lines have no places to resume at.
        """
        import codecs

        path = self._path(name, project, "/logs")
        at, first = offset, True
        known = False  # where in the log the output stands, so that it can be resumed
        over = False  # it has ended: what has no output now never will
        pause, away = 0.2, None  # type: float, Optional[float]
        decode = codecs.getincrementaldecoder("utf-8")("replace")
        while True:
            query: Dict[str, Any] = {"task": task, "attempt": attempt, "run": run, "part": part, "times": times or None}
            query.update({"follow": follow or None, "since": instant(since)})
            query.update({"tail": tail, "offset": at or None} if first else {"offset": at})
            broken: Optional[BaseException] = None
            try:
                with self._transport.stream("GET", path, query=query, timeout=None if follow else timeout or self.timeout) as r:
                    begun = r.headers.get("Muster-Log-Offset")
                    known = begun is not None and not times
                    at = int(begun) if begun is not None else at
                    pause, away = 0.2, None
                    while True:
                        piece = r.read1(65536)
                        if not piece:
                            break
                        first = False
                        at += len(piece)
                        text = decode.decode(piece)
                        if text:
                            yield text
            except NoLogsError:
                try:
                    if not follow or over:
                        raise
                    # It may have begun and ended since it was asked for its output.
                    over = not self._may_begin(name, project, attempt, task)
                except UnreachableError:
                    pass  # it is asked again below
                else:
                    continue
                known = not times
                broken = ConnectionError("the server is away")
            except MusterError as e:
                if not follow or e.code != UnreachableError.default_code and e.status < 500:
                    raise
                broken = e
            except (OSError, ValueError) as e:
                broken = e
            except Exception as e:
                if type(e).__module__ != "http.client":
                    raise
                broken = e
            if broken is None and follow and known and self._goes_on(name, project, attempt, task):
                broken = ConnectionError("the server has ended")
            if broken is None:
                rest = decode.decode(b"", True)
                if rest:
                    yield rest
                return
            away = time.monotonic() if away is None else away
            if not follow or not known or (timeout is not None and time.monotonic() - away >= timeout):
                raise UnreachableError(0, "the log broke off: %s" % broken, hint="ask again from byte %d" % at) from None
            first = first and at == offset
            time.sleep(pause)
            pause = min(pause * 2, 5.0)

    def _state(self, name: Union[str, Workload], project: Optional[str], attempt: Optional[int], task: int) -> Tuple[Workload, str]:
        w = self.workload(name, project)
        tasks = w.attempts[w.attempt if attempt is None else attempt]["tasks"] if w.attempts else []
        return w, next((str(t["state"]) for t in tasks if t["index"] == task), "")

    def _may_begin(self, name: Union[str, Workload], project: Optional[str], attempt: Optional[int], task: int) -> bool:
        """Waits for a task that has not started; False: it never will."""
        w, state = self._state(name, project, attempt, task)
        if w.ended or (attempt is not None and attempt < w.attempt):
            return False
        if w.phase in ("Running", "Starting", "Restarting", "Terminating"):
            time.sleep(0.1)
        else:
            self.wait(w, phase="Starting", timeout=None)
        return True

    def _goes_on(self, name: Union[str, Workload], project: Optional[str], attempt: Optional[int], task: int) -> bool:
        """Whether a task runs whose log has come to an end: the server ended, not the task."""
        try:
            return self._state(name, project, attempt, task)[1] in ("running", "stopping")
        except MusterError as e:
            return e.code == UnreachableError.default_code

    def log_text(self, /, name: Union[str, Workload], project: Optional[str] = None, **options: Any) -> str:
        """The whole output of a task; "" where it never started."""
        try:
            return "".join(self.logs(name, project, **options))
        except NoLogsError:
            return ""


class _Show:
    """Shows a workload that changes: a card in notebooks, else a line on stderr."""

    def __init__(self) -> None:
        import sys

        self._err = sys.stderr
        self._last = ""
        self._handle: Any = None
        self._notebook = False
        if "IPython" in sys.modules:
            ip: Any = sys.modules["IPython"]
            shell = ip.get_ipython()
            self._notebook = shell is not None and shell.__class__.__name__ == "ZMQInteractiveShell"

    def __call__(self, w: Workload) -> None:
        if self._notebook:
            from IPython.display import display  # type: ignore

            if self._handle is None:
                self._handle = display(w, display_id=True)
            else:
                self._handle.update(w)
            return
        from ._card import progress_line

        line = progress_line(w)
        if line != self._last:
            self._last = line
            self._err.write(("\r\x1b[K" + line) if self._err.isatty() else line + "\n")
            self._err.flush()

    def end(self, w: Workload) -> None:
        """The last state stays."""
        self(w)
        if not self._notebook and self._err.isatty():
            self._err.write("\n")


def _json(text: str) -> Dict[str, Any]:
    import json

    return dict(json.loads(text))
