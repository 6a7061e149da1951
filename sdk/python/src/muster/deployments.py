"""mcli's functions for deployments, and for the services that have no counterpart here."""

from __future__ import annotations

import fnmatch
import json
from datetime import datetime
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from ._calls import quote
from .client import Client, default_client
from .deployment import InferenceDeployment, InferenceDeploymentConfig
from .errors import ConflictError, InvalidError, MusterError, NotFoundError, UnsupportedError
from .models import Workload
from .run import ObjectList
from .runconfig import Machines, MCLIRunConfigValidationError, matches
from .runs import _do, _later, _remaining

if TYPE_CHECKING:
    from http.client import HTTPConnection, HTTPResponse

DeploymentLike = Union[str, InferenceDeployment]
Deployments = Union[Sequence[DeploymentLike], DeploymentLike]
KINDS = ("inference",)
COLUMNS = {"NAME": "name", "USER": "created_by", "STATUS": "status", "REPLICAS": "replicas_shown", "ADDRESS": "public_dns", "CREATED": "created_at"}


def _name(d: DeploymentLike) -> str:
    return d.deployment_uid if isinstance(d, InferenceDeployment) else d


def _find(client: Client, d: DeploymentLike, timeout: Optional[float]) -> Workload:
    w = client.workload(_name(d), timeout=timeout)
    if w.kind not in KINDS:
        raise NotFoundError(404, "%s is of kind %s" % (w.name, w.kind), hint="get_inference_deployments lists deployments")
    return w


def _many(client: Client, given: Deployments, left: Callable[[], Optional[float]]) -> List[Workload]:
    """The workloads that names, deployments and globs mean; globs mean one's own."""
    out: List[Workload] = []
    for d in [given] if isinstance(given, (str, InferenceDeployment)) else given:
        if isinstance(d, str) and any(c in d for c in "*?["):
            own = client.workloads(kinds=KINDS, user=client.user, limit=1000, timeout=left()).all()
            out += [w for w in own if fnmatch.fnmatchcase(w.name, d)]
        else:
            out.append(_find(client, d, left()))
    return out


def create_inference_deployment(deployment: Union[InferenceDeploymentConfig, Mapping[str, Any]], *, timeout: Optional[float] = 10, future: bool = False) -> Any:
    """Submits a deployment: an :class:`InferenceDeploymentConfig`, or a document of the kind inference."""
    client = default_client()

    def call(t: Optional[float]) -> InferenceDeployment:
        left = _remaining(t)
        if isinstance(deployment, InferenceDeploymentConfig):
            doc: Mapping[str, Any] = deployment.document(Machines(client.cluster(timeout=left())) if deployment.compute else None)
        elif isinstance(deployment, Mapping) and deployment.get("kind") == "inference":
            doc = deployment
        else:
            raise MCLIRunConfigValidationError(
                "create_inference_deployment takes an InferenceDeploymentConfig, or a document that says kind: inference", hint="create_run submits a run"
            )
        return InferenceDeployment(client.submit(doc, timeout=left()))

    return _do(call, timeout, future)


def get_inference_deployment(deployment: DeploymentLike, *, timeout: Optional[float] = 10, future: bool = False) -> Any:
    """One deployment."""
    client = default_client()
    return _do(lambda t: InferenceDeployment(_find(client, deployment, t)), timeout, future)


def get_inference_deployments(
    deployments: Optional[Deployments] = None,
    *,
    cluster_names: Optional[Sequence[str]] = None,
    before: Union[str, datetime, None] = None,
    after: Union[str, datetime, None] = None,
    gpu_types: Optional[Sequence[str]] = None,
    gpu_nums: Optional[Sequence[int]] = None,
    statuses: Optional[Sequence[str]] = None,
    all_users: bool = False,
    include_deleted: bool = False,
    timeout: Optional[float] = 10,
    future: bool = False,
) -> Any:
    """One's own deployments, or everybody's, newest first. Filters add up."""
    client = default_client()
    names = None if deployments is None else [_name(d) for d in ([deployments] if isinstance(deployments, (str, InferenceDeployment)) else deployments)]
    words = None if statuses is None else [str(getattr(s, "value", s)).upper() for s in ([statuses] if isinstance(statuses, str) else statuses)]

    def keeps(d: InferenceDeployment) -> bool:
        return (
            (names is None or any(n == d.deployment_uid or fnmatch.fnmatchcase(d.name, n) for n in names))
            and (cluster_names is None or d.cluster in cluster_names)
            and (gpu_types is None or any(t == d.gpu_type or (d.gpus > 0 and matches(t, d.gpu_type)) for t in gpu_types))
            and (gpu_nums is None or d.gpus in gpu_nums)
            and (words is None or d.status in words)
        )

    def call(t: Optional[float]) -> ObjectList[InferenceDeployment]:
        user = None if all_users else client.user
        found = client.workloads(kinds=KINDS, before=before, since=after, deleted=include_deleted, user=user, limit=1000, timeout=t).all()
        return ObjectList([d for d in map(InferenceDeployment, found) if keeps(d)], COLUMNS)

    return _do(call, timeout, future)


def update_inference_deployment(deployment: DeploymentLike, updates: Mapping[str, Any], *, timeout: Optional[float] = 10, future: bool = False) -> Any:
    """Changes ``image`` or ``replicas`` of a deployment; replicas are replaced a few at a time."""
    client = default_client()
    return _do(lambda t: _updated(client, [deployment], updates, t)[0], timeout, future)


def update_inference_deployments(deployments: Deployments, updates: Mapping[str, Any], *, timeout: Optional[float] = 10, future: bool = False) -> Any:
    """The same for many."""
    client = default_client()
    return _do(lambda t: _updated(client, deployments, updates, t), timeout, future)


def _updated(client: Client, deployments: Deployments, updates: Mapping[str, Any], timeout: Optional[float]) -> ObjectList[InferenceDeployment]:
    left = _remaining(timeout)
    for k in updates:
        if k not in ("image", "replicas"):
            raise InvalidError(422, "%s of a deployment cannot be changed so" % k, hint="image or replicas; muster update takes any document")
    if not updates:
        raise InvalidError(422, "there is nothing to change", hint="give image or replicas")
    out = []
    for w in _many(client, deployments, left):
        path = "/v1/projects/%s/workloads/%s" % (quote(w.project), w.id)
        if "image" in updates:
            doc = {k: v for k, v in w.spec.items() if k != "namePrefix"}
            doc["image"] = updates["image"]
            w = Workload(client.request("POST", path + ":update", body=doc, again=False, timeout=left()), client)
        if "replicas" in updates:
            w = Workload(client.request("POST", path + ":scale", body={"replicas": updates["replicas"]}, again=False, timeout=left()), client)
        out.append(InferenceDeployment(w))
    return ObjectList(out, COLUMNS)


def delete_inference_deployment(deployment: DeploymentLike, *, timeout: Optional[float] = 10, future: bool = False) -> Any:
    """Ends a deployment and removes it with its logs."""
    client = default_client()
    return _do(lambda t: _deleted(client, [deployment], t)[0], timeout, future)


def delete_inference_deployments(deployments: Deployments, *, timeout: Optional[float] = 10, future: bool = False) -> Any:
    """The same for many."""
    client = default_client()
    return _do(lambda t: _deleted(client, deployments, t), timeout, future)


def _deleted(client: Client, deployments: Deployments, timeout: Optional[float]) -> ObjectList[InferenceDeployment]:
    left = _remaining(timeout)
    return ObjectList([InferenceDeployment(client.delete(w, timeout=left())) for w in _many(client, deployments, left)], COLUMNS)


def get_inference_deployment_logs(
    deployment: DeploymentLike,
    *,
    restart: Optional[int] = None,
    failed: bool = False,
    follow: bool = False,
    tail: Optional[int] = None,
    replica: Optional[int] = None,
    timeout: Optional[float] = 10,
    future: bool = False,
) -> Any:
    """Output of a replica, as a generator of pieces of text.

    Without ``replica`` it is that of the first which takes requests, or with
    ``failed`` of the first that failed. ``restart`` is the attempt, from 0. With
    ``future`` the generator is that of the future.
    """
    client = default_client()

    def call(t: Optional[float]) -> Iterator[str]:
        w = _find(client, deployment, t)
        task = _replica(w, failed) if replica is None else replica
        return client.logs(w, task=task, attempt=restart, tail=tail, follow=follow, timeout=t)

    return _do(call, timeout, future)


def follow_inference_deployment_logs(deployment: DeploymentLike, **options: Any) -> Any:
    """The same as it is written."""
    return get_inference_deployment_logs(deployment, follow=True, **options)


def _replica(w: Workload, failed: bool) -> int:
    if failed:
        bad = [int(t["index"]) for t in w.tasks if t.get("state") in ("failed", "lost")]
        return w.culprit if w.culprit is not None else bad[0] if bad else 0
    ready = [t for t in w.tasks if t.get("ready")] or [t for t in w.tasks if not t.get("leaving")] or w.tasks
    return int(ready[0]["index"]) if ready else 0


# -- asking a deployment ------------------------------------------------------


def ping(deployment: DeploymentLike, *, timeout: Optional[float] = 10, future: bool = False) -> Any:
    """Asks a deployment whether it is there: its probe's path, or ``/``. Returns ``{"status": 200}``."""

    def call(t: Optional[float]) -> Dict[str, Any]:
        name, url, path = _address(deployment, t)
        connection, answer = _ask(name, "GET", url, path, None, t)
        connection.close()
        return {"status": answer.status}

    return _do(call, timeout, future)


def predict(deployment: DeploymentLike, inputs: Mapping[str, Any], *, timeout: Optional[float] = 60, stream: bool = False, future: bool = False) -> Any:
    """Sends inputs to ``/predict`` of a deployment and returns the JSON that it answers.

    With ``stream`` it is a generator of the text as it comes. A deployment may
    also be an address, ``http://HOST:PORT``.
    """

    def call(t: Optional[float]) -> Any:
        name, url, _ = _address(deployment, t)
        connection, answer = _ask(name, "POST", url, "/predict", json.dumps(inputs).encode(), t)
        if stream:
            return _pieces(connection, answer)
        try:
            return json.loads(answer.read() or b"null")
        except ValueError:
            raise MusterError(502, "%s answered what is not JSON" % name, hint="muster logs %s shows what it writes" % name) from None
        finally:
            connection.close()

    return _later(lambda: call(None)) if future else call(timeout)


def _address(deployment: DeploymentLike, timeout: Optional[float]) -> "tuple[str, str, str]":
    """The name of a deployment, where it answers, and what a ping asks for."""
    if isinstance(deployment, str) and deployment.startswith(("http://", "https://")):
        return deployment, deployment, "/ping"
    d = InferenceDeployment(_find(default_client(), deployment, timeout))
    if not d.public_dns:
        raise ConflictError(409, "%s has no address yet: it is %s" % (d.name, d.status), hint="get_inference_deployment(…).status is READY when it has")
    return d.name, d.public_dns, str((d.workload.spec.get("probe") or {}).get("path") or "/")


def _ask(name: str, method: str, url: str, path: str, body: Optional[bytes], timeout: Optional[float]) -> "tuple[HTTPConnection, HTTPResponse]":
    import http.client
    import socket
    from urllib.parse import urlsplit

    u = urlsplit(url)
    make = http.client.HTTPSConnection if u.scheme == "https" else http.client.HTTPConnection
    c = make(u.hostname or "", u.port, timeout=timeout)
    hint = "muster logs %s shows what it writes" % name
    try:
        c.request(method, u.path.rstrip("/") + "/" + path.lstrip("/"), body, {"Content-Type": "application/json"} if body is not None else {})
        answer = c.getresponse()
        if answer.status < 400:
            return c, answer
        said = answer.read(200).decode("utf-8", "replace").strip()
    except socket.timeout:
        c.close()
        raise TimeoutError("%s did not answer within %g seconds" % (name, timeout or 0)) from None
    except (OSError, http.client.HTTPException) as e:
        c.close()
        raise ConflictError(409, "%s does not answer: %s" % (name, e or type(e).__name__), hint=hint) from None
    c.close()
    raise MusterError(answer.status, "%s answers %d %s%s" % (name, answer.status, answer.reason, ": " + said if said else ""), hint=hint)


def _pieces(connection: "HTTPConnection", answer: "HTTPResponse") -> Iterator[str]:
    import codecs

    decode = codecs.getincrementaldecoder("utf-8")("replace")
    try:
        while True:
            piece = answer.read1(65536)
            text = decode.decode(piece, not piece)
            if text:
                yield text
            if not piece:
                return
    finally:
        connection.close()


# -- what there is no service for ---------------------------------------------


def create_finetuning_run(*args: Any, **options: Any) -> Any:
    """Refused: see the message."""
    raise UnsupportedError(
        422,
        "there is no managed fine-tuning service with models and recipes of its own",
        hint="write it as a run and submit it with create_run, or mcli run -f FILE",
    )


def create_pretraining_run(*args: Any, **options: Any) -> Any:
    """Refused: see the message."""
    raise UnsupportedError(
        422,
        "there is no managed training service with models and recipes of its own",
        hint="write the training as a run and submit it with create_run, or mcli run -f FILE",
    )
