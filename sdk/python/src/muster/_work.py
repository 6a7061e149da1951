"""The calls about workloads."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from ._calls import ANY, Document, instant, quote
from ._records import Records
from .errors import InvalidError, MusterError
from .models import Page, Workload

_MERGE = {"Content-Type": "application/merge-patch+json"}

# Without them "python train.py" in an activated environment would run with the
# Python of the shell that happened to start the server.
_CARRIED = ("PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYTHONPATH", "LD_LIBRARY_PATH")


def _unless_changed(version: Optional[int]) -> Dict[str, str]:
    """What has a request refused where the workload is at another version."""
    return {} if version is None else {"If-Match": f'"{version}"'}


class Work(Records):
    """Submitting workloads, reading them, and acting on them."""

    # -- submitting ---------------------------------------------------------
    def submit(
        self,
        document: Document,
        *,
        project: Optional[str] = None,
        key: Optional[str] = None,
        dry_run: bool = False,
        template: Optional[str] = None,
        environment: Optional[str] = None,
        compute: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Workload:
        """Submits a workload document: a mapping, or YAML or JSON text.

        ``key`` makes repeating the submission harmless; without one a key is
        made. With ``dry_run`` nothing is submitted and ``plan`` says what would
        become of it. ``template``, ``environment`` and ``compute`` are names, or
        NAME@VERSION, of what the document is laid over; it may name them itself,
        and its ``data``.
        """
        body: Any = document
        if isinstance(document, Mapping):
            parts = self._parts(project or document.get("project"), template or document.get("template"), environment or document.get("environment"))
            body = self._settled(document, project, parts)
            project = None
        elif project is None and self.project and not self._says_project(document):
            project = self.project
        query = {k: v for k, v in (("dry_run", "true" if dry_run else None), ("template", template), ("environment", environment), ("compute", compute)) if v}
        raw = self.request(
            "POST",
            "/v1/projects/%s/workloads" % quote(project or ANY),
            body=body,
            query=query or None,
            headers={"Idempotency-Key": key or os.urandom(16).hex()},
            timeout=self.timeout if timeout is None else timeout,
        )
        return self._workload(raw)

    @staticmethod
    def _says_project(text: Any) -> bool:
        """Whether a document's text names its project; what cannot be read the server explains."""
        from ._yaml import YAMLError, load

        try:
            document = load(text.decode() if isinstance(text, bytes) else str(text))
        except (YAMLError, UnicodeDecodeError):
            return True
        return not isinstance(document, Mapping) or bool(document.get("project"))

    def run(self, /, command: Union[str, Sequence[str]], **fields: Any) -> Workload:
        """Submits a command; further fields are those of the document."""
        return self.submit({"command": command if isinstance(command, str) else list(command), **fields})

    def _parts(self, project: Optional[str], template: Optional[str], environment: Optional[str]) -> List[Mapping[str, Any]]:
        """The documents of a template and of an environment."""
        parts: List[Mapping[str, Any]] = []
        for kind, ref in (("template", template), ("environment", environment)):
            if ref:
                found = self._template(kind, ref, project)
                parts.append(found["document"])
                below = found.get("environment") or found["document"].get("environment")
                if kind == "template" and not environment and below:
                    parts.append(self._template("environment", below, project)["document"])
                    break
        return parts

    def _settled(self, document: Mapping[str, Any], project: Optional[str], parts: Sequence[Mapping[str, Any]] = ()) -> Dict[str, Any]:
        """The document with what only the submitter knows, and no part of it says."""
        doc = dict(document)
        if project or self.project:
            doc.setdefault("project", project or self.project)
        if project:
            doc["project"] = project
        if not any(d.get("image") or d.get("build") for d in (doc, *parts)) and self.local:
            if doc.get("workdir") or not any(p.get("workdir") for p in parts):
                doc["workdir"] = os.path.abspath(doc.get("workdir") or ".")
            said = {k for p in parts for k in p.get("env") or {}}
            env = {k: os.environ[k] for k in _CARRIED if os.environ.get(k) and k not in said}
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
            out.append(from_problem(int(problem["status"]), problem) if problem else self._workload(item["workload"]))
        return out

    def submit_all(
        self, documents: Sequence[Mapping[str, Any]], *, key: Optional[str] = None, dry_run: bool = False
    ) -> List[Workload]:
        """Submits all in their order, or none where one is refused.

        Later ones may wait for earlier ones (``after``). ``key`` and ``dry_run``
        as of :meth:`submit`.
        """
        if isinstance(documents, (str, bytes, Mapping)) or not all(isinstance(d, Mapping) for d in documents):
            raise InvalidError(0, "submit_all takes a list of mappings, not a text", hint="give each document as a dict, or submit the text of one with submit")
        raw = self.request(
            "POST",
            "/v1/workloads:bulk",
            body=[self._settled(d, None) for d in documents],
            query={"together": "true", "dry_run": "true" if dry_run else None},
            headers={"Idempotency-Key": key or os.urandom(16).hex()},
        )
        return [self._workload(item["workload"]) for item in raw["items"]]

    # -- reading ------------------------------------------------------------
    def workload(self, name: Union[str, Workload], project: Optional[str] = None, timeout: Optional[float] = None) -> Workload:
        """One workload, whole, by name or id."""
        t = self.timeout if timeout is None else timeout
        return self._workload(self.request("GET", self._path(name, project), timeout=t))

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
        filter: str = "",
        limit: int = 100,
        summary: bool = False,
        cursor: str = "",
        timeout: Optional[float] = None,
    ) -> Page[Workload]:
        """A page of workloads, newest first; ``.all()`` goes through all pages.

        ``filter`` is as in the pages: ``status:failed user:@me gpus>=8 age<2d``.
        """
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
            "filter": filter or None,
            "limit": limit,
            "view": "summary" if summary else None,
        }
        path = "/v1/projects/%s/workloads" % quote(project or self.project or ANY)
        t = self.timeout if timeout is None else timeout

        def page(at: str) -> Page[Workload]:
            raw = self.request("GET", path, query={**query, "cursor": at}, timeout=t)
            return Page([self._workload(w) for w in raw["items"]], raw.get("next") or "", page)

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

    def metrics(
        self,
        name: Union[str, Workload, None] = None,
        project: Optional[str] = None,
        *,
        node: Optional[str] = None,
        since: str = "1h",
        until: Optional[str] = None,
        step: Optional[str] = None,
        attempt: Optional[int] = None,
        task: Optional[int] = None,
    ) -> Dict[str, Any]:
        """What was measured of a workload, of a ``node``, or (with neither) of all.

        ``series`` holds one dict per task, GPU and metric, with ``values`` in
        steps of ``stepSeconds`` from ``from`` on (None: nobody looked) and
        ``last``, ``mean``, ``min`` and ``max``. ``slowest`` names the task that
        does least; ``missing`` says what is not known, and why.
        """
        query = {"since": since, "until": until, "step": step}
        if name is not None:
            path = self._path(name, project, "/metrics")
            return dict(self.request("GET", path, query={**query, "attempt": attempt, "task": task}))
        path = "/v1/nodes/%s/metrics" % quote(node) if node is not None else "/v1/metrics"
        return dict(self.request("GET", path, query={**query, "project": project}))

    def reported(
        self, name: Union[str, Workload], project: Optional[str] = None, *, metric: Optional[str] = None, attempt: Optional[int] = None
    ) -> List[Dict[str, Any]]:
        """The numbers that its tasks have reported, each as a curve.

        One dict per attempt, task and name (empty: the step itself), with
        ``steps``, ``atSeconds`` and ``values``, and over all reports ``last``,
        ``min`` and ``max``. They are kept as long as the workload.
        """
        query = {"metric": metric, "attempt": attempt}
        return [dict(s) for s in self.request("GET", self._path(name, project, "/reported"), query=query)["series"]]

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
    def _act(
        self,
        name: Union[str, Workload],
        project: Optional[str],
        verb: str,
        body: Any,
        timeout: Optional[float] = None,
        query: Optional[Mapping[str, str]] = None,
        version: Optional[int] = None,
    ) -> Workload:
        raw = self.request(
            "POST",
            self._path(name, project, ":" + verb),
            body=body,
            query=query,
            headers=_unless_changed(version),
            again=False,
            timeout=self.timeout if timeout is None else timeout,
        )
        return self._workload(raw)

    def stop(
        self,
        name: Union[str, Workload],
        project: Optional[str] = None,
        *,
        message: str = "",
        grace_period: str = "",
        tasks: Optional[Sequence[int]] = None,
        timeout: Optional[float] = None,
        version: Optional[int] = None,
    ) -> Workload:
        """Ends a workload; its definition and logs stay.

        With ``tasks`` it ends these tasks of an array alone, and the others go on.
        With ``version``, as of a workload that was read, it is refused (412, code
        ``stale``) where the workload has changed since; other changes likewise.
        """
        body: Dict[str, Any] = {k: v for k, v in (("message", message), ("gracePeriod", grace_period)) if v}
        if tasks is not None:
            body["tasks"] = list(tasks)
        return self._act(name, project, "stop", body, timeout, version=version)

    def restart(self, name: Union[str, Workload], project: Optional[str] = None, *, timeout: Optional[float] = None, version: Optional[int] = None) -> Workload:
        """Runs an ended workload again, as a new attempt."""
        return self._act(name, project, "restart", None, timeout, version=version)

    def preempt(self, name: Union[str, Workload], project: Optional[str] = None, *, message: str = "", version: Optional[int] = None) -> Workload:
        """Takes its resources back; it is queued again."""
        return self._act(name, project, "preempt", {"message": message}, version=version)

    def hold(self, name: Union[str, Workload], project: Optional[str] = None, *, message: str = "", version: Optional[int] = None) -> Workload:
        """Keeps what waits from being queued, until it is released."""
        return self._act(name, project, "hold", {"message": message}, version=version)

    def release(self, name: Union[str, Workload], project: Optional[str] = None, *, message: str = "", version: Optional[int] = None) -> Workload:
        """Lets it go that is held."""
        return self._act(name, project, "release", {"message": message}, version=version)

    def approve(self, name: Union[str, Workload], project: Optional[str] = None, *, check: str = "", message: str = "", version: Optional[int] = None) -> Workload:
        """Approves an admission check."""
        return self._act(name, project, "approve", {"check": check, "message": message}, version=version)

    def reject(self, name: Union[str, Workload], project: Optional[str] = None, *, check: str = "", message: str = "", version: Optional[int] = None) -> Workload:
        """Rejects an admission check, which ends it."""
        return self._act(name, project, "reject", {"check": check, "message": message}, version=version)

    def scale(self, name: Union[str, Workload], replicas: int, project: Optional[str] = None, *, version: Optional[int] = None) -> Workload:
        """Changes how many replicas an inference workload wants."""
        return self._act(name, project, "scale", {"replicas": replicas}, version=version)

    def update(self, name: Union[str, Workload], document: Document, project: Optional[str] = None, *, version: Optional[int] = None) -> Workload:
        """Replaces the document of an inference workload, a few replicas at a time."""
        body: Any = dict(document) if isinstance(document, Mapping) else document
        return self._act(name, project, "update", body, version=version)

    def revise(self, name: Union[str, Workload], document: Document, project: Optional[str] = None, *, dry_run: bool = False, version: Optional[int] = None) -> Workload:
        """Runs an ended workload again with another document, as a new attempt.

        With ``dry_run`` that document is only checked, also while it has not ended.
        """
        body: Any = dict(document) if isinstance(document, Mapping) else document
        return self._act(name, project, "revise", body, query={"dry_run": "true"} if dry_run else None, version=version)

    def change(
        self, name: Union[str, Workload], fields: Mapping[str, Any], project: Optional[str] = None, *, timeout: Optional[float] = None, version: Optional[int] = None
    ) -> Workload:
        """Changes priority and limits of a workload that lives.

        ``fields`` are those of the document, as a JSON merge patch: ``priority``,
        ``preemptible``, ``retry``, ``maxDuration``, ``idleLimit``, ``labels`` ….
        """
        t = self.timeout if timeout is None else timeout
        raw = self.request("PATCH", self._path(name, project), body=dict(fields), headers={**_MERGE, **_unless_changed(version)}, timeout=t)
        return self._workload(raw)

    def update_metadata(
        self, name: Union[str, Workload], metadata: Mapping[str, Any], project: Optional[str] = None, *, timeout: Optional[float] = None, version: Optional[int] = None
    ) -> Workload:
        """Merges into the metadata; None takes a key away."""
        t = self.timeout if timeout is None else timeout
        raw = self.request("PATCH", self._path(name, project, "/metadata"), body=dict(metadata), headers={**_MERGE, **_unless_changed(version)}, timeout=t)
        return self._workload(raw)

    def delete(self, name: Union[str, Workload], project: Optional[str] = None, *, timeout: Optional[float] = None, version: Optional[int] = None) -> Workload:
        """Ends a workload and removes it with its logs."""
        t = self.timeout if timeout is None else timeout
        return self._workload(self.request("DELETE", self._path(name, project), headers=_unless_changed(version), again=False, timeout=t))
