"""jobq's decorator: a Python function as a job.

    @job(options=JobOptions(resources=ResourceOptions(memory="2Gi", cpu="1"),
                            scheduling=SchedulingOptions(queue_name="research")))
    def train(): ...

    train()                  # runs it here
    train.submit("cluster")  # submits it as a workload
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Dict, Generic, List, Mapping, Optional, TypeVar, Union, overload

from ._default import default_client
from .errors import InvalidError

if TYPE_CHECKING:
    from .client import Client
    from .models import Workload

R = TypeVar("R")

#: Annotations under which jobq keeps labels and the submitter.
LABELS = "x-jobq.io/"


class JobOptionsError(InvalidError, ValueError):
    """Options of a job contradict each other, or cannot be met."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        InvalidError.__init__(self, 422, message, hint=hint)


@dataclass
class ResourceOptions:
    """What a job needs: Kubernetes quantities (m, k, M, G, T, Ki, Mi, Gi, Ti), whole GPUs, and
    extended resources of nodes by name, such as ``{"rdma/hca_shared_devices_a": 1}``."""

    memory: Optional[str] = None
    cpu: Optional[str] = None
    gpu: Optional[int] = None
    extended: Optional[Dict[str, int]] = None


@dataclass
class SchedulingOptions:
    """The queue, which is a project, and the class or number of its priority."""

    queue_name: Optional[str] = None
    priority_class: Optional[str] = None


@dataclass
class JobOptions:
    """What a job needs, where it queues, and labels, which are free text."""

    resources: Optional[ResourceOptions] = None
    scheduling: Optional[SchedulingOptions] = None
    labels: Optional[Mapping[str, str]] = None


@dataclass
class ImageOptions:
    """The image of a job: its name and tag, or a ``spec`` of which it is built.

    ``spec`` is a YAML file as jobq has it; its base image, packages, variables
    and code are built into an image by the server, which must see this machine's
    files. A ``dockerfile``, below the project's root, likewise. A ``name`` with a
    registry says where the image is pushed.
    """

    name: Optional[str] = None
    tag: str = "latest"
    spec: "Optional[str | os.PathLike[str]]" = None
    dockerfile: "Optional[str | os.PathLike[str]]" = None

    def __post_init__(self) -> None:
        if self.spec is not None and self.dockerfile is not None:
            raise JobOptionsError("ImageOptions: spec and dockerfile contradict each other", hint="keep one of the two")

    @property
    def ref(self) -> str:
        """NAME:TAG."""
        return "%s:%s" % (self.name, self.tag)


class Job(Generic[R]):
    """A function that can be submitted. Called, it runs here."""

    def __init__(self, func: Callable[..., R], options: Optional[JobOptions] = None, image: Optional[ImageOptions] = None) -> None:
        self.func = func
        self.options = options or JobOptions()
        self.image = image
        self.__name__ = func.__name__
        self.__doc__ = func.__doc__
        self.__wrapped__ = func
        self.__module__ = func.__module__

    @property
    def name(self) -> str:
        """Name of the job: the function's."""
        return self.func.__name__

    @property
    def file(self) -> str:
        """The file that the function is in."""
        return os.path.abspath(self.func.__code__.co_filename)

    def __call__(self, *args: Any, **kwargs: Any) -> R:
        return self.func(*args, **kwargs)

    @overload
    def submit(self, mode: str = ..., *, client: Optional[Client] = ...) -> Workload: ...
    @overload
    def submit(self, mode: Any, *, client: Optional[Client] = ...) -> Any: ...
    def submit(self, mode: Any = "cluster", *, client: Optional[Client] = None) -> Any:
        """Runs it where ``mode`` says.

        ``local``: in this process, which returns what the function returns.
        ``cluster`` (jobq's ``kueue``): as a workload, which is returned.
        ``docker``: the same, on the server's own machine.
        """
        word = str(getattr(mode, "value", mode)).lower()
        if word == "local":
            return self.func()
        if word == "rayjob":
            raise JobOptionsError("the mode rayjob is not offered: no Ray cluster is made for a job", hint="submit it with mode cluster, and start Ray in it")
        if word not in ("cluster", "kueue", "docker"):
            raise JobOptionsError("the mode %r is not known" % word, hint="local, cluster or docker")
        c = client or default_client()
        doc = self.document(local=c.local)
        if word == "docker":
            doc["clusters"] = ["local"]
        return c.submit(doc)

    def document(self, local: bool = True) -> Dict[str, Any]:
        """The workload document; ``local``: the server shares this machine's files."""
        root = project_root(self.file)
        inside = os.path.relpath(self.file, root)
        doc: Dict[str, Any] = {"kind": "training", "namePrefix": _name(self.name), "retry": {"limit": RETRIES}}
        image = self.image
        if image is not None and (image.spec is not None or image.dockerfile is not None):
            if image.spec is not None:
                build = _build(image.spec, root)
            else:
                at = os.path.join(root, os.fspath(image.dockerfile or ""))
                build = {"code": root, "dockerfile": os.path.relpath(at, root)}
            if image.name and "/" in image.name:
                build["target"] = image.ref
            doc["build"] = build
            if build.get("codePath"):
                doc["workdir"] = build["codePath"]
            doc["command"] = ["python3", "-c", RUNNER, inside, self.name]
        elif image is not None and image.name:
            doc["image"] = image.ref
            doc["command"] = ["python3", "-c", RUNNER, inside, self.name]
        elif local:
            doc["workdir"] = root
            doc["command"] = [sys.executable, "-c", RUNNER, self.file, self.name]
            doc["env"] = {"PYTHONPATH": os.pathsep.join(p for p in (_package_root(), os.environ.get("PYTHONPATH")) if p)}
        else:
            raise JobOptionsError("%s has no image, and the server is another machine" % self.name, hint="give ImageOptions(name=…) or ImageOptions(spec=…)")
        doc.update(_resources(self.options.resources))
        s = self.options.scheduling
        if s is not None and s.queue_name:
            doc["project"] = s.queue_name
        if s is not None and s.priority_class:
            doc["priority"] = _priority(s.priority_class)
        import json

        notes = {LABELS + k: str(v) for k, v in (self.options.labels or {}).items()}
        notes[LABELS + "submission-context"] = json.dumps(_context())
        doc["annotations"] = notes
        return doc

    def __repr__(self) -> str:
        return "<Job %s of %s>" % (self.name, self.file)


def job(*, options: Optional[JobOptions] = None, image: Optional[ImageOptions] = None) -> Callable[[Callable[..., R]], Job[R]]:
    """Makes a job of a function."""

    def wrap(func: Callable[..., R]) -> Job[R]:
        return Job(func, options, image)

    return wrap


def discover(path: "str | os.PathLike[str]") -> List["Job[Any]"]:
    """The jobs that a file defines, in their order."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("__jobq_entrypoint__", path)
    if spec is None or spec.loader is None:
        raise JobOptionsError("%s is no Python file" % os.fspath(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return [v for v in vars(module).values() if isinstance(v, Job)]


# Runs one function of a file. Images need not have this package: the
# decorators of a job that is being run mean nothing.
RUNNER = """
import importlib, importlib.util, os, sys, types
path, name = sys.argv[1], sys.argv[2]
try:
    import jobq
except ImportError:
    stub = types.ModuleType("jobq")
    class Options:
        def __init__(self, *a, **k): pass
    stub.__getattr__ = lambda n: Options
    stub.job = lambda *a, **k: (lambda f: f)
    sys.modules["jobq"] = stub
root, dotted = os.path.split(os.path.abspath(path))
dotted = os.path.splitext(dotted)[0]
if os.path.exists(os.path.join(root, "__init__.py")):  # of a package: what it imports is relative to that
    while os.path.exists(os.path.join(root, "__init__.py")):
        root, parent = os.path.split(root)
        dotted = parent + "." + dotted
    sys.path.insert(0, root)
    module = importlib.import_module(dotted)
else:
    sys.path.insert(0, root)
    spec = importlib.util.spec_from_file_location("__jobq_entrypoint__", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
f = getattr(module, name)
getattr(f, "func", f)()
"""


def project_root(path: str) -> str:
    """The nearest parent with .git, pyproject.toml or setup.py, at most 15 levels up; else the file's own directory."""
    here = at = os.path.dirname(os.path.abspath(path))
    for _ in range(15):
        if any(os.path.exists(os.path.join(at, mark)) for mark in (".git", "pyproject.toml", "setup.py")):
            return at
        above = os.path.dirname(at)
        if above == at:
            break
        at = above
    return here


def _package_root() -> str:
    return os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _name(function: str) -> str:
    from .runconfig import clean_name

    return clean_name(function.replace("_", "-").lower().strip("-") or function)


def _resources(r: Optional[ResourceOptions]) -> Dict[str, Any]:
    if r is None:
        return {}
    given = {k: v for k, v in (("cpu", r.cpu), ("memory", r.memory), ("gpu", r.gpu), ("extended", r.extended)) if v is not None}
    return {"resources": given} if given else {}


# What a Job of Kubernetes, which jobq makes, tries again that says nothing of it.
RETRIES = 6

# The classes of jobq's sample cluster, in our order.
_CLASSES = {"background": "very-low", "development": "medium", "production": "very-high"}


def _priority(name: str) -> Union[str, int]:
    return int(name) if name.isdigit() else _CLASSES.get(name, name)


def _context() -> Dict[str, Any]:
    import platform
    import subprocess

    def git(key: str) -> str:
        try:
            return subprocess.run(["git", "config", key], capture_output=True, text=True, timeout=5).stdout.strip()
        except (OSError, subprocess.SubprocessError):
            return ""

    return {"submitter": {"name": git("user.name"), "email": git("user.email")}, "platform": platform.platform()}


def _pairs(v: Any) -> Dict[str, str]:
    """A map that may be written as a list of K=V."""
    if isinstance(v, Mapping):
        return {str(k): str(x) for k, x in v.items()}
    return dict(str(x).split("=", 1) for x in v or [])


def _copied(where: str, part: Mapping[str, Any], workdir: str) -> str:
    """Where the code goes: a build has the project's root whole, in one place."""
    import posixpath

    found = workdir
    for verb in ("copy", "add"):
        given = part.get(verb) or {}
        pairs = given.items() if isinstance(given, Mapping) else (str(x).rpartition(":")[::2] if ":" in str(x) else (x, x) for x in given)
        for source, target in pairs:
            at = posixpath.normpath(posixpath.join(workdir, str(target) or "."))
            if "//" not in str(source) and posixpath.normpath(str(source)) == ".":
                found = at
            elif at != posixpath.normpath(posixpath.join(workdir, str(source))):
                raise JobOptionsError(
                    "%s: build.filesystem.%s of %s to %s is not offered: the project's root is copied whole, to one place" % (where, verb, source, target),
                    hint="write %s: [.:.], or give a dockerfile" % verb,
                )
    return found


# What of a part of a spec a build has, and what to do about the rest.
_PARTS = {
    "dependencies": (("apt", "pip"), "give a dockerfile"),
    "filesystem": (("copy", "add"), "give a dockerfile"),
    "config": (("env",), "variables are offered as env, which also holds while packages are installed; for the rest give a dockerfile"),
}


def _build(path: "str | os.PathLike[str]", root: str) -> Dict[str, Any]:
    """The build of a document for jobq's image spec."""
    from ._yaml import load

    where = os.fspath(path)
    at = where if os.path.isabs(where) else os.path.join(root, where)
    try:
        with open(at, encoding="utf-8") as f:
            build = (load(f.read()) or {}).get("build") or {}
    except OSError as e:
        raise JobOptionsError("%s cannot be read: %s" % (at, e.strerror)) from None
    if not build.get("base_image"):
        raise JobOptionsError("%s: build.base_image is missing" % where)
    for k in build:
        if k not in ("base_image", "dependencies", "config", "workdir", "filesystem"):
            raise JobOptionsError("%s: build.%s is not offered" % (where, k), hint="build the image yourself, and give its name")
    for part, (names, hint) in _PARTS.items():
        for k in build.get(part) or {}:
            if k not in names:
                raise JobOptionsError("%s: build.%s.%s is not offered" % (where, part, k), hint=hint)
    out: Dict[str, Any] = {"base": str(build["base_image"]), "code": root}
    needs = build.get("dependencies") or {}
    for k in ("apt", "pip"):
        if needs.get(k):
            out[k] = [str(p) for p in needs[k]]
    env = _pairs((build.get("config") or {}).get("env"))
    if env:
        out["env"] = env
    out["codePath"] = _copied(where, build.get("filesystem") or {}, str(build.get("workdir") or "/workspace"))
    return out
