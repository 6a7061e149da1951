"""What every call of the native client has in common."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, Union, cast

from ._discover import local_server, setting, socket_path
from .errors import InvalidError
from .models import Workload

if TYPE_CHECKING:
    from ._transport import Transport
    from .client import Client

Document = Union[Mapping[str, Any], str, bytes]

#: In place of a project: any.
ANY = "-"


class Calls:
    """The connection, and how paths are made."""

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
        return cast("Client", self)

    def __exit__(self, *_: object) -> None:
        self.close()

    def request(self, /, method: str, path: str, **options: Any) -> Any:
        """One call of the REST API, for what has no method here."""
        options.setdefault("timeout", self.timeout)
        return self._transport.call(method, path, **options)

    def _workload(self, raw: Mapping[str, Any]) -> Workload:
        return Workload(raw, cast("Client", self))

    def _path(self, name: Union[str, Workload], project: Optional[str], tail: str = "") -> str:
        if isinstance(name, Workload):
            name, project = name.id, ANY
        if project is None:
            # An id is found in any project; a name belongs to one.
            project = ANY if is_id(name) else self.project or "default"
        return "/v1/projects/%s/workloads/%s%s" % (quote(project), quote(name), tail)


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


def is_id(name: str) -> bool:
    """Whether a name is the id of a workload."""
    return len(name) == 26 and all(c in "0123456789abcdefghjkmnpqrstvwxyz" for c in name)
