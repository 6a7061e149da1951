"""The calls about everything but workloads."""

from __future__ import annotations

import functools
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, TypeVar, Union, cast

from ._calls import quote
from ._limits import Limits


F = TypeVar("F", bound=Callable[..., Any])


def _secrets(project: Optional[str]) -> str:
    return "/v1/secrets" if project is None else "/v1/projects/" + quote(project) + "/secrets"


def _again(create: F, name: str, doc: str) -> F:
    """What ``create`` does, of a record that there is already."""

    @functools.wraps(create)
    def update(*args: Any, **kept: Any) -> Any:
        return create(*args, _replace=True, **kept)

    update.__name__, update.__doc__ = name, doc
    return cast(F, update)


class Records(Limits):
    """Clusters, projects, notifications, templates and secrets."""

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

    def usage(self, /, **query: Any) -> Dict[str, Any]:
        """Charged GPU time; ``by="project,user"``, ``user=``, ``every="24h"``, ``from=`` …"""
        return dict(self.request("GET", "/v1/usage", query={k.rstrip("_"): v for k, v in query.items()}))

    def report(self, /, **query: Any) -> Dict[str, Any]:
        """GPU-hours, cost, waits, waste and ends; ``by="department,user"``, ``from_="2026-11-01T00:00:00Z"``, ``to=`` …"""
        return dict(self.request("GET", "/v1/report", query={k.rstrip("_"): v for k, v in query.items()}))

    def budgets(self, project: Optional[str] = None) -> List[Dict[str, Any]]:
        """How budgets stand, of a project or department or of all."""
        return list(self.request("GET", "/v1/budgets", query={"project": project} if project else {})["items"])

    def projects(self) -> List[Dict[str, Any]]:
        """Every project."""
        return list(self.request("GET", "/v1/projects")["items"])

    def server(self) -> Dict[str, Any]:
        """Process, address and data directory of the server."""
        return dict(self.request("GET", "/v1/server"))

    def version(self) -> Dict[str, Any]:
        """Version of the server."""
        return dict(self.request("GET", "/version"))

    # -- notifications ------------------------------------------------------
    def notifications(self) -> List[Dict[str, Any]]:
        """Of what you are told, and how."""
        return [dict(n) for n in self.request("GET", "/v1/notifications")["items"]]

    def add_notification(
        self,
        name: str,
        *,
        on: Sequence[str] = (),
        webhook: str = "",
        secret: str = "",
        slack: str = "",
        email: str = "",
        project: str = "",
        labels: Optional[Mapping[str, str]] = None,
        everyone: bool = False,
    ) -> Dict[str, Any]:
        """Has you told of your workloads, by one of webhook, slack and email.

        ``on`` are statuses; without them it is every end, and ``DeadlineNear``.
        With ``everyone`` it is about every user's workloads in ``project``.
        """
        body: Dict[str, Any] = {"name": name, "on": list(on), "webhook": webhook, "secret": secret, "slack": slack, "email": email}
        body.update(project=project, labels=dict(labels or {}), everyone=everyone)
        return dict(self.request("POST", "/v1/notifications", body={k: v for k, v in body.items() if v}, again=False))

    def remove_notification(self, name: str) -> None:
        """Ends a notification; what is on its way arrives."""
        self.request("DELETE", "/v1/notifications/%s" % quote(name), again=False)

    def test_notification(
        self, name: str = "", *, webhook: str = "", secret: str = "", slack: str = "", email: str = "", timeout: float = 20
    ) -> Dict[str, Any]:
        """Sends a test, to a notification of yours or a receiver.

        Returns the delivery once it was tried, or as it stands after ``timeout``
        seconds: its ``state`` is delivered, failed or waiting, and ``problem``
        says why.
        """
        body = {"name": name, "webhook": webhook, "secret": secret, "slack": slack, "email": email}
        sent = self.request("POST", "/v1/notifications/test", body={k: v for k, v in body.items() if v}, again=False)
        until = time.monotonic() + timeout
        while True:
            for d in self.deliveries():
                if d["id"] == sent["id"]:
                    sent = d
            if sent["state"] != "waiting" or sent.get("lastAt") or time.monotonic() > until:
                return dict(sent)
            time.sleep(0.1)

    def deliveries(self, state: str = "", limit: int = 100) -> List[Dict[str, Any]]:
        """What was sent to you in the last 7 days, or waits to be, the newest first."""
        query = {"state": state or None, "limit": limit}
        return [dict(d) for d in self.request("GET", "/v1/notifications/deliveries", query=query)["items"]]

    # -- templates and environments ------------------------------------------
    def _templates(self, kind: str, project: Optional[str], tail: str = "") -> str:
        return "/v1/projects/%s/%ss%s" % (quote(project or self.project or "default"), kind, tail)

    def _template(self, kind: str, ref: str, project: Optional[str]) -> Dict[str, Any]:
        name, _, version = ref.partition("@")
        if "@" in ref and not (version.isdigit() and int(version) > 0):
            raise ValueError("%s %r: %r is not a version; write NAME, or NAME@3 for version 3" % (kind, ref, version))
        return dict(self.request("GET", self._templates(kind, project, "/" + quote(name)), query={"version": version} if version else None))

    def _put_template(
        self,
        kind: str,
        name: str,
        document: Mapping[str, Any],
        project: Optional[str],
        description: str,
        environment: str,
        editors: Sequence[str],
        replace: bool,
        shared_with: Sequence[str] = (),
    ) -> Dict[str, Any]:
        body: Dict[str, Any] = {"name": name, "document": dict(document)}
        if description:
            body["description"] = description
        if environment:
            body["environment"] = environment
        if editors:
            body["editors"] = list(editors)
        if shared_with:
            body["sharedWith"] = list(shared_with)
        if replace:
            return dict(self.request("PUT", self._templates(kind, project, "/" + quote(name)), body=body))
        return dict(self.request("POST", self._templates(kind, project), body=body, again=False))

    def templates(self, project: Optional[str] = None) -> List[Dict[str, Any]]:
        """Those that a project can use: its own, and those of the departments above it."""
        return list(self.request("GET", self._templates("template", project))["items"])

    def template(self, name: str, project: Optional[str] = None) -> Dict[str, Any]:
        """One template, NAME or NAME@VERSION, with its ``document``."""
        return self._template("template", name, project)

    def create_template(
        self, name: str, document: Mapping[str, Any], project: Optional[str] = None, *, description: str = "", environment: str = "", editors: Sequence[str] = ()
    ) -> Dict[str, Any]:
        """Keeps a part of a document, of which ``submit(…, template=name)`` makes workloads."""
        return self._put_template("template", name, document, project, description, environment, editors, False)

    def update_template(
        self, name: str, document: Mapping[str, Any], project: Optional[str] = None, *, description: str = "", environment: str = "", editors: Sequence[str] = ()
    ) -> Dict[str, Any]:
        """Gives a template another document, as another version, and all else that is said here."""
        return self._put_template("template", name, document, project, description, environment, editors, True)

    def delete_template(self, name: str, project: Optional[str] = None) -> None:
        """Forgets a template; workloads that were made of it stay."""
        self.request("DELETE", self._templates("template", project, "/" + quote(name)), again=False)

    # -- schedules ------------------------------------------------------------
    def _schedules(self, project: Optional[str], tail: str = "") -> str:
        return "/v1/projects/%s/schedules%s" % (quote(project or self.project or "default"), tail)

    def schedules(self, project: Optional[str] = None) -> List[Dict[str, Any]]:
        """What is submitted again and again, by the clock: each with its ``next`` times and its ``runs``."""
        return list(self.request("GET", self._schedules(project))["items"])

    def schedule(self, name: str, project: Optional[str] = None) -> Dict[str, Any]:
        """One schedule, with its ``document``, ``next`` times, ``runs`` and ``events``."""
        return dict(self.request("GET", self._schedules(project, "/" + quote(name))))

    def create_schedule(self, /, name: str, cron: str, document: Mapping[str, Any], project: Optional[str] = None, **fields: Any) -> Dict[str, Any]:
        """Submits a document at the times of a cron expression; ``timeZone``, ``concurrency`` and the like are more fields."""
        body = {"name": name, "cron": cron, "document": dict(document), **fields}
        return dict(self.request("POST", self._schedules(project), body=body, again=False))

    def update_schedule(self, /, name: str, project: Optional[str] = None, **fields: Any) -> Dict[str, Any]:
        """Changes some fields of a schedule; ``None`` takes one away. ``suspended=True`` has it start no runs by itself."""
        return dict(self.request("PATCH", self._schedules(project, "/" + quote(name)), body=fields))

    def run_schedule(self, name: str, project: Optional[str] = None) -> Dict[str, Any]:
        """Starts a run now; returns the workload."""
        return dict(self.request("POST", self._schedules(project, "/" + quote(name) + "/run"), again=False))

    def delete_schedule(self, name: str, project: Optional[str] = None, *, runs: bool = False) -> None:
        """Forgets a schedule; with ``runs``, what it has made is ended and deleted too."""
        self.request("DELETE", self._schedules(project, "/" + quote(name)), query={"runs": "true"} if runs else None, again=False)

    def environments(self, project: Optional[str] = None) -> List[Dict[str, Any]]:
        """Those that a project can use: its own, and those of the departments above it."""
        return list(self.request("GET", self._templates("environment", project))["items"])

    def environment(self, name: str, project: Optional[str] = None) -> Dict[str, Any]:
        """One environment, NAME or NAME@VERSION, with its ``document``."""
        return self._template("environment", name, project)

    def create_environment(
        self, name: str, document: Mapping[str, Any], project: Optional[str] = None, *, description: str = "", editors: Sequence[str] = ()
    ) -> Dict[str, Any]:
        """Keeps an image with variables, setup and mounts, for ``submit(…, environment=name)``."""
        return self._put_template("environment", name, document, project, description, "", editors, False)

    def update_environment(
        self, name: str, document: Mapping[str, Any], project: Optional[str] = None, *, description: str = "", editors: Sequence[str] = ()
    ) -> Dict[str, Any]:
        """Gives an environment another document, as another version, and all else that is said here."""
        return self._put_template("environment", name, document, project, description, "", editors, True)

    def delete_environment(self, name: str, project: Optional[str] = None) -> None:
        """Forgets an environment; workloads that run in it stay."""
        self.request("DELETE", self._templates("environment", project, "/" + quote(name)), again=False)

    # -- assets of any kind ---------------------------------------------------
    def assets(self, kind: str = "", project: Optional[str] = None) -> List[Dict[str, Any]]:
        """Those that a project can use: its own, those of the departments above it and of the system.

        ``kind`` is template, environment, compute, datasource or datavolume; all of them by default.
        """
        return [a for a in self.request("GET", self._templates("asset", project))["items"] if kind in ("", a["kind"])]

    def asset(self, kind: str, name: str, project: Optional[str] = None) -> Dict[str, Any]:
        """One asset, NAME or NAME@VERSION, with its ``document``; project "-" is the system."""
        return self._template(kind, name, project)

    def create_asset(
        self,
        kind: str,
        name: str,
        document: Mapping[str, Any],
        project: Optional[str] = None,
        *,
        description: str = "",
        editors: Sequence[str] = (),
        shared_with: Sequence[str] = (),
        _replace: bool = False,
    ) -> Dict[str, Any]:
        """Keeps a part of a document, for documents that name it: ``{"compute": name}``, ``{"data": [name]}``.

        ``shared_with`` are projects that may use a data volume too, without writing to it.
        """
        return self._put_template(kind, name, document, project, description, "", editors, _replace, shared_with)

    update_asset = _again(create_asset, "update_asset", "Gives an asset another document, as another version, and all else that is said here.")

    def delete_asset(self, kind: str, name: str, project: Optional[str] = None) -> None:
        """Forgets an asset; workloads that were made of it stay."""
        self.request("DELETE", self._templates(kind, project, "/" + quote(name)), again=False)

    # -- policies -----------------------------------------------------------
    def _governed(self, project: Optional[str], tail: str) -> str:
        return "/v1/projects/%s/%s" % (quote(project or self.project or "default"), tail)

    def policies(self, project: Optional[str] = None) -> List[Dict[str, Any]]:
        """What documents may say in a project: its policies and those above it, nearest first; with ``"-"`` all."""
        return list(self.request("GET", self._governed(project, "policies"))["items"])

    def effective_policy(self, kind: str = "training", project: Optional[str] = None) -> Dict[str, Any]:
        """What holds for workloads of a kind in a project, field by field, and where that comes from."""
        return dict(self.request("GET", self._governed(project, "effective-policies/" + quote(kind))))

    def set_policy(self, kind: str, policy: Mapping[str, Any], project: Optional[str] = None, *, dry_run: bool = False) -> Dict[str, Any]:
        """Decides about the documents of a kind (or ``"all"``): a map of defaults, rules and impose.

        With ``dry_run`` nothing changes, and ``breaches`` are live workloads that it would not let in.
        """
        query = {"dry_run": "true"} if dry_run else None
        return dict(self.request("PUT", self._governed(project, "policies/" + quote(kind)), query=query, body=dict(policy), again=False))

    def delete_policy(self, kind: str, project: Optional[str] = None) -> None:
        """Forgets a policy; workloads keep what it has given them."""
        self.request("DELETE", self._governed(project, "policies/" + quote(kind)), again=False)

    # -- secrets ------------------------------------------------------------
    def create_secret(
        self, name: str, type: str, values: Mapping[str, Union[str, bytes]], fields: Optional[Mapping[str, str]] = None, everywhere: bool = False, project: Optional[str] = None
    ) -> Dict[str, Any]:
        """Stores a secret of yours, or for all who submit in a project, a department or, with "-", anywhere; it cannot be read again nor changed."""
        import base64

        sealed = {k: base64.b64encode(v.encode() if isinstance(v, str) else v).decode() for k, v in values.items()}
        body = {"name": name, "type": type, "values": sealed, "fields": dict(fields or {}), "everywhere": everywhere}
        return dict(self.request("POST", _secrets(project), body=body, again=False))

    def secrets(self, project: Optional[str] = None) -> List[Dict[str, Any]]:
        """Your secrets, or those that a project uses beside them, without their values."""
        return list(self.request("GET", _secrets(project))["items"])

    def delete_secret(self, name: str, project: Optional[str] = None) -> None:
        """Forgets a secret of yours, or of a project, a department or, with "-", the system; tasks that have it keep it."""
        self.request("DELETE", _secrets(project) + "/" + quote(name), again=False)
