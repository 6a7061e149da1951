"""The native client: everything that the REST API offers."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from ._discover import local_server, setting, socket_path
from .errors import InvalidError, MusterError, NoLogsError, UnreachableError, WorkloadFailed
from .models import ENDS, Change, Page, Workload

if TYPE_CHECKING:
    from ._transport import Transport

Document = Union[Mapping[str, Any], str, bytes]

#: In place of a project: any.
ANY = "-"

_SILENCE = 45.0  # seconds without even a heartbeat, and a stream counts as broken
_MERGE = {"Content-Type": "application/merge-patch+json"}

# Without them "python train.py" in an activated environment would run with the
# Python of the shell that happened to start the server.
_CARRIED = ("PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYTHONPATH", "LD_LIBRARY_PATH")


class Client:
    """A connection to one server. Safe for threads.

    Without an address it is that of ``MUSTER_SERVER`` or the configuration
    file, else the local server, which is started where none runs (not with
    ``autostart=False`` or ``MUSTER_NO_AUTOSTART``). ``timeout`` bounds each call, in
    seconds; ``retries`` is how often a call is tried again that may be repeated.
    Submissions carry an idempotency key, so that trying again never makes two.
    """

    def __init__(
        self,
        address: Optional[str] = None,
        *,
        token: Optional[str] = None,
        project: Optional[str] = None,
        timeout: Optional[float] = 30.0,
        retries: int = 4,
        data_dir: Optional[str] = None,
        autostart: bool = True,
    ) -> None:
        where = address or ("" if data_dir else setting("MUSTER_SERVER", "server"))
        if not where:
            where = local_server(data_dir, autostart)
        self.project = project or setting("MUSTER_PROJECT", "project")
        from ._transport import Transport  # with it comes http.client, which takes its time

        self.timeout = timeout
        self._transport: Transport = Transport(where, token if token is not None else os.environ.get("MUSTER_TOKEN", ""), retries)

    @property
    def address(self) -> str:
        """Where the server is."""
        return self._transport.address

    @property
    def local(self) -> bool:
        """Whether the server shares this machine's files."""
        path = socket_path(self.address)
        return path is not None or "//127.0.0.1" in self.address or "//localhost" in self.address

    @property
    def user(self) -> str:
        """Who this client is to the server: over a unix socket the user of this process."""
        if socket_path(self.address) is None:
            return "token"
        import pwd

        try:
            return pwd.getpwuid(os.geteuid()).pw_name
        except KeyError:
            return str(os.geteuid())

    def close(self) -> None:
        """Drops resting connections."""
        self._transport.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def request(self, method: str, path: str, **options: Any) -> Any:
        """One call of the REST API, for what has no method here."""
        options.setdefault("timeout", self.timeout)
        return self._transport.call(method, path, **options)

    # -- submitting ---------------------------------------------------------
    def submit(
        self,
        document: Document,
        *,
        project: Optional[str] = None,
        key: Optional[str] = None,
        dry_run: bool = False,
        timeout: Optional[float] = None,
    ) -> Workload:
        """Submits a workload document: a mapping, or YAML or JSON text.

        ``key`` makes repeating the submission harmless; without one a key is
        made. With ``dry_run`` nothing is submitted and ``plan`` says what would
        become of it.
        """
        body: Any = document
        if isinstance(document, Mapping):
            body = self._settled(document, project)
            project = None
        raw = self.request(
            "POST",
            "/v1/projects/%s/workloads" % quote(project or ANY),
            body=body,
            query={"dry_run": "true"} if dry_run else None,
            headers={"Idempotency-Key": key or os.urandom(16).hex()},
            timeout=self.timeout if timeout is None else timeout,
        )
        return Workload(raw, self)

    def run(self, command: Union[str, Sequence[str]], **fields: Any) -> Workload:
        """Submits a command; further fields are those of the document."""
        return self.submit({"command": command if isinstance(command, str) else list(command), **fields})

    def _settled(self, document: Mapping[str, Any], project: Optional[str]) -> Dict[str, Any]:
        """The document with what only the submitter knows."""
        doc = dict(document)
        if project or self.project:
            doc.setdefault("project", project or self.project)
        if project:
            doc["project"] = project
        if not doc.get("image") and not doc.get("build") and self.local:
            doc["workdir"] = os.path.abspath(doc.get("workdir") or ".")
            env = {k: os.environ[k] for k in _CARRIED if os.environ.get(k)}
            env.update(doc.get("env") or {})
            doc["env"] = env
        return doc

    def bulk(self, documents: Sequence[Mapping[str, Any]]) -> List[Union[Workload, MusterError]]:
        """Submits many; each is taken, or refused with an error in its place."""
        from .errors import from_problem

        raw = self.request("POST", "/v1/workloads:bulk", body=[self._settled(d, None) for d in documents], again=False)
        out: List[Union[Workload, MusterError]] = []
        for item in raw["items"]:
            problem = item.get("problem")
            out.append(from_problem(int(problem["status"]), problem) if problem else Workload(item["workload"], self))
        return out

    # -- reading ------------------------------------------------------------
    def _path(self, name: Union[str, Workload], project: Optional[str], tail: str = "") -> str:
        if isinstance(name, Workload):
            name, project = name.id, ANY
        if project is None:
            # An id is found in any project; a name belongs to one.
            project = ANY if _is_id(name) else self.project or "default"
        return "/v1/projects/%s/workloads/%s%s" % (quote(project), quote(name), tail)

    def workload(self, name: Union[str, Workload], project: Optional[str] = None, timeout: Optional[float] = None) -> Workload:
        """One workload, whole, by name or id."""
        t = self.timeout if timeout is None else timeout
        return Workload(self.request("GET", self._path(name, project), timeout=t), self)

    def workloads(
        self,
        *,
        project: Optional[str] = None,
        user: Optional[str] = None,
        kinds: Sequence[str] = (),
        phases: Sequence[str] = (),
        live: bool = False,
        prefix: Optional[str] = None,
        since: Any = None,
        before: Any = None,
        labels: Optional[Mapping[str, str]] = None,
        deleted: bool = False,
        limit: int = 100,
        summary: bool = False,
        cursor: str = "",
        timeout: Optional[float] = None,
    ) -> Page[Workload]:
        """A page of workloads, newest first; ``.all()`` goes through all pages."""
        query: Dict[str, Any] = {
            "user": user,
            "kind": ",".join(kinds),
            "phase": ",".join(phases),
            "live": live or None,
            "prefix": prefix,
            "since": instant(since),
            "before": instant(before),
            "label": ["%s=%s" % kv for kv in sorted((labels or {}).items())],
            "deleted": deleted or None,
            "limit": limit,
            "view": "summary" if summary else None,
        }
        path = "/v1/projects/%s/workloads" % quote(project or self.project or ANY)
        t = self.timeout if timeout is None else timeout

        def page(at: str) -> Page[Workload]:
            raw = self.request("GET", path, query={**query, "cursor": at}, timeout=t)
            return Page([Workload(w, self) for w in raw["items"]], raw.get("next") or "", page)

        return page(cursor)

    def why(self, name: Union[str, Workload], project: Optional[str] = None) -> Dict[str, Any]:
        """Why it does not run, when it is expected to, and what could be changed."""
        return dict(self.request("GET", self._path(name, project, "/why")))

    def first_error(
        self, name: Union[str, Workload], project: Optional[str] = None, *, attempt: Optional[int] = None
    ) -> Optional[Dict[str, Any]]:
        """The first thing that went wrong, over all tasks; None: nothing was found.

        ``task, role, node, devices, attempt, kind, title, excerpt, line, hint``.
        """
        raw = self.request("GET", self._path(name, project, "/first-error"), query={"attempt": attempt})
        return dict(raw["error"]) if raw.get("error") else None

    def transitions(
        self, name: Union[str, Workload], project: Optional[str] = None, *, dialect: str = ""
    ) -> List[Dict[str, Any]]:
        """Its history; with a dialect, each with the word that it led to."""
        out: List[Dict[str, Any]] = []
        after = "0"
        while True:
            raw = self.request(
                "GET", self._path(name, project, "/transitions"), query={"dialect": dialect, "after": after}
            )
            out.extend(raw["items"])
            after = raw.get("next") or ""
            if not after:
                return out

    # -- acting -------------------------------------------------------------
    def _act(self, name: Union[str, Workload], project: Optional[str], verb: str, body: Any, timeout: Optional[float] = None) -> Workload:
        raw = self.request(
            "POST",
            self._path(name, project, ":" + verb),
            body=body,
            again=False,
            timeout=self.timeout if timeout is None else timeout,
        )
        return Workload(raw, self)

    def stop(
        self,
        name: Union[str, Workload],
        project: Optional[str] = None,
        *,
        message: str = "",
        grace_period: str = "",
        timeout: Optional[float] = None,
    ) -> Workload:
        """Ends a workload; its definition and logs stay."""
        body = {k: v for k, v in (("message", message), ("gracePeriod", grace_period)) if v}
        return self._act(name, project, "stop", body, timeout)

    def restart(self, name: Union[str, Workload], project: Optional[str] = None, *, timeout: Optional[float] = None) -> Workload:
        """Runs an ended workload again, as a new attempt."""
        return self._act(name, project, "restart", None, timeout)

    def preempt(self, name: Union[str, Workload], project: Optional[str] = None, *, message: str = "") -> Workload:
        """Takes its resources back; it is queued again."""
        return self._act(name, project, "preempt", {"message": message})

    def approve(self, name: Union[str, Workload], project: Optional[str] = None, *, check: str = "", message: str = "") -> Workload:
        """Approves an admission check."""
        return self._act(name, project, "approve", {"check": check, "message": message})

    def reject(self, name: Union[str, Workload], project: Optional[str] = None, *, check: str = "", message: str = "") -> Workload:
        """Rejects an admission check, which ends it."""
        return self._act(name, project, "reject", {"check": check, "message": message})

    def scale(self, name: Union[str, Workload], replicas: int, project: Optional[str] = None) -> Workload:
        """Changes how many replicas an inference workload wants."""
        return self._act(name, project, "scale", {"replicas": replicas})

    def update(self, name: Union[str, Workload], document: Document, project: Optional[str] = None) -> Workload:
        """Replaces the document of an inference workload, a few replicas at a time."""
        body: Any = dict(document) if isinstance(document, Mapping) else document
        return self._act(name, project, "update", body)

    def change(
        self, name: Union[str, Workload], fields: Mapping[str, Any], project: Optional[str] = None, *, timeout: Optional[float] = None
    ) -> Workload:
        """Changes priority and limits of a workload that lives.

        ``fields`` are those of the document, as a JSON merge patch: ``priority``,
        ``preemptible``, ``retry``, ``maxDuration``, ``idleLimit``, ``labels`` ….
        """
        t = self.timeout if timeout is None else timeout
        raw = self.request("PATCH", self._path(name, project), body=dict(fields), headers=_MERGE, timeout=t)
        return Workload(raw, self)

    def update_metadata(
        self, name: Union[str, Workload], metadata: Mapping[str, Any], project: Optional[str] = None, *, timeout: Optional[float] = None
    ) -> Workload:
        """Merges into the metadata; None takes a key away."""
        t = self.timeout if timeout is None else timeout
        raw = self.request("PATCH", self._path(name, project, "/metadata"), body=dict(metadata), headers=_MERGE, timeout=t)
        return Workload(raw, self)

    def delete(self, name: Union[str, Workload], project: Optional[str] = None, *, timeout: Optional[float] = None) -> Workload:
        """Ends a workload and removes it with its logs."""
        t = self.timeout if timeout is None else timeout
        return Workload(self.request("DELETE", self._path(name, project), again=False, timeout=t), self)

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
                            yield Change(Workload(_json(e.data), self), False, last)
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

        With ``follow`` until the task has ended; a lost connection resumes where
        it broke. ``attempt`` None is the latest. ``part="build"`` is the output of
        building its image.
        """
        import codecs

        path = self._path(name, project, "/logs")
        at, first = offset, True
        decode = codecs.getincrementaldecoder("utf-8")("replace")
        while True:
            query: Dict[str, Any] = {"task": task, "attempt": attempt, "run": run, "part": part, "times": times or None}
            query.update({"follow": follow or None, "since": instant(since)})
            query.update({"tail": tail, "offset": at or None} if first else {"offset": at})
            broken: Optional[BaseException] = None
            known = False
            try:
                with self._transport.stream("GET", path, query=query, timeout=None if follow else timeout or self.timeout) as r:
                    begun = r.headers.get("Muster-Log-Offset")
                    known = begun is not None and not times
                    at = int(begun) if begun is not None else at
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
                if not follow or not self._may_begin(name, project, attempt, task):
                    raise
                continue
            except MusterError as e:
                if not follow or e.code != UnreachableError.default_code:
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
            if broken is None or not follow or not known:
                if broken is not None:
                    raise UnreachableError(0, "the log broke off: %s" % broken, hint="ask again from byte %d" % at) from None
                rest = decode.decode(b"", True)
                if rest:
                    yield rest
                return
            first = False
            time.sleep(0.2)

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

    def log_text(self, name: Union[str, Workload], project: Optional[str] = None, **options: Any) -> str:
        """The whole output of a task; "" where it never started."""
        try:
            return "".join(self.logs(name, project, **options))
        except NoLogsError:
            return ""

    # -- the cluster --------------------------------------------------------
    def cluster(self, timeout: Optional[float] = None) -> Dict[str, Any]:
        """Nodes, pools and projects with what is held of them."""
        return dict(self.request("GET", "/v1/cluster", timeout=self.timeout if timeout is None else timeout))

    def clusters(self, timeout: Optional[float] = None) -> List[Dict[str, Any]]:
        """Every cluster: what it is, whether it answers, what is free."""
        return list(self.request("GET", "/v1/clusters", timeout=self.timeout if timeout is None else timeout)["items"])

    def quota(self, project: Optional[str] = None, pool: Optional[str] = None) -> List[Dict[str, Any]]:
        """What every project is guaranteed, uses and waits for, by pool."""
        return list(self.request("GET", "/v1/quota", query={"project": project, "pool": pool})["items"])

    def usage(self, **query: Any) -> Dict[str, Any]:
        """Charged GPU time; ``by="project,user"``, ``user=``, ``every="24h"``, ``from=`` …"""
        return dict(self.request("GET", "/v1/usage", query={k.rstrip("_"): v for k, v in query.items()}))

    def projects(self) -> List[Dict[str, Any]]:
        """Every project."""
        return list(self.request("GET", "/v1/projects")["items"])

    def server(self) -> Dict[str, Any]:
        """Process, address and data directory of the server."""
        return dict(self.request("GET", "/v1/server"))

    def version(self) -> Dict[str, Any]:
        """Version of the server."""
        return dict(self.request("GET", "/version"))

    # -- secrets ------------------------------------------------------------
    def create_secret(
        self, name: str, type: str, values: Mapping[str, Union[str, bytes]], fields: Optional[Mapping[str, str]] = None, everywhere: bool = False
    ) -> Dict[str, Any]:
        """Stores a secret; it cannot be read again nor changed."""
        import base64

        sealed = {k: base64.b64encode(v.encode() if isinstance(v, str) else v).decode() for k, v in values.items()}
        body = {"name": name, "type": type, "values": sealed, "fields": dict(fields or {}), "everywhere": everywhere}
        return dict(self.request("POST", "/v1/secrets", body=body, again=False))

    def secrets(self) -> List[Dict[str, Any]]:
        """Your secrets, without their values."""
        return list(self.request("GET", "/v1/secrets")["items"])

    def delete_secret(self, name: str) -> None:
        """Forgets a secret; tasks that have it keep it."""
        self.request("DELETE", "/v1/secrets/" + quote(name), again=False)


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


def instant(v: Any) -> Optional[str]:
    """A time for a query: a datetime, or text that is passed on."""
    if v is None or isinstance(v, str):
        return v
    from datetime import datetime, timezone

    if not isinstance(v, datetime):
        raise InvalidError(0, "%r is not a time" % (v,), hint="give a datetime, or RFC 3339 text")
    return v.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")


def quote(part: str) -> str:
    """A part of a path."""
    from urllib.parse import quote as q

    return q(part, safe="")


def _is_id(name: str) -> bool:
    return len(name) == 26 and all(c in "0123456789abcdefghjkmnpqrstvwxyz" for c in name)


def _json(text: str) -> Dict[str, Any]:
    import json

    return dict(json.loads(text))


_default: Optional[Client] = None
_default_lock = threading.Lock()


def default_client() -> Client:
    """The client that module-level functions use, made when it is first needed."""
    global _default
    with _default_lock:
        if _default is None:
            _default = Client()
        return _default


def set_default_client(client: Optional[Client]) -> None:
    """Makes module-level functions use this client; None: a new one."""
    global _default
    with _default_lock:
        _default = client


__all__ = ["ANY", "Client", "ENDS", "default_client", "set_default_client"]
