"""HTTP over a unix socket or TCP, with nothing but the standard library.

Safe for threads: connections that rest are kept in a pool, each is used by one
request at a time.
"""

from __future__ import annotations

import http.client
import json
import random
import socket
import threading
import time
import urllib.parse
from contextlib import ExitStack, contextmanager
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple

from ._discover import socket_path
from ._version import __version__
from .errors import InvalidError, MusterError, UnavailableError, UnreachableError, code_of, from_problem

Query = Mapping[str, Any]

# Answers that mean: the same again a little later.
_AGAIN = (429, 502, 503, 504)


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: Optional[float]) -> None:
        super().__init__("muster", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            s.settimeout(self.timeout)
            s.connect(self._path)
        except BaseException:
            s.close()
            raise
        self.sock = s


class GivenUp(BaseException):
    """Ends a call that nobody waits for any more, whatever it is about to try again."""


class Patience:
    """Lets what one thread asks be given up by another, though it waits for an answer."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self._lock = threading.Lock()
        self._open: List[socket.socket] = []

    def begin(self) -> None:
        """What this thread asks from now on is under it."""
        _of_thread.patience = self

    def end(self) -> None:
        """Ends what is asked, and what would be asked next."""
        with self._lock:
            self.over.set()
            for sock in self._open:
                try:
                    sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass  # it has ended by itself

    @contextmanager
    def on(self, sock: Any) -> Iterator[None]:
        """Something is asked on this connection. A stream that is read may ask more between."""
        with self._lock:
            if self.over.is_set():
                raise GivenUp()
            self._open.append(sock)
        try:
            yield
        finally:
            with self._lock:
                self._open.remove(sock)


_of_thread = threading.local()


@contextmanager
def _asking(c: http.client.HTTPConnection) -> Iterator[None]:
    """Asks on a connection, for as long as the thread is to wait."""
    patience: Optional[Patience] = getattr(_of_thread, "patience", None)
    if c.sock is None:
        c.connect()
    if patience is None:
        yield
        return
    try:
        with patience.on(c.sock):
            yield
    except GivenUp:
        c.close()
        raise


class Transport:
    """Requests to one server."""

    def __init__(self, address: str, token: str = "", retries: int = 4) -> None:
        self.address = address
        self.token = token
        self.retries = retries
        # Without a lock: a signal's handler may ask while the call that it has
        # interrupted is here. What a list does by itself is whole.
        self._idle: List[http.client.HTTPConnection] = []
        self._socket = socket_path(address)
        self._url = urllib.parse.urlsplit(address)
        if self._socket is None and (self._url.scheme not in ("http", "https") or not self._url.hostname):
            raise InvalidError(
                0,
                "server address %r is not understood" % address,
                hint="write unix:///path/to/muster.sock, http://host:port or https://host:port",
            )

    def close(self) -> None:
        """Drops resting connections; the transport may still be used."""
        while True:
            try:
                self._idle.pop().close()
            except IndexError:
                return

    def __del__(self) -> None:
        if hasattr(self, "_idle"):
            self.close()

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Optional[Query] = None,
        body: Any = None,
        headers: Optional[Mapping[str, str]] = None,
        timeout: Optional[float] = None,
        again: bool = True,
    ) -> Any:
        """The decoded JSON of an answer; None where it has no body.

        ``again`` says that repeating the request is harmless once the server
        may have seen it. ``timeout``, in seconds, bounds all tries together.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        data, send = _encode(body, headers)
        pause = 0.05
        for attempt in range(self.retries + 1):
            last = attempt == self.retries
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise TimeoutError("%s %s took longer than %g seconds" % (method, path, timeout or 0))
            c, pooled = self._take(left, fresh=not again)
            sent = False
            try:
                with _asking(c):
                    sent = True
                    c.request(method, self._target(path, query), data, self._headers(send))
                    r = c.getresponse()
                    payload = r.read()
            except (OSError, http.client.HTTPException) as e:
                c.close()
                if isinstance(e, socket.timeout):
                    raise TimeoutError("%s %s took longer than %g seconds" % (method, path, timeout or 0)) from None
                if pooled and again:
                    self.close()  # the others rested as long
                if last or (sent and not again):
                    raise self._unreachable(e) from None
            else:
                self._give(c, r)
                if r.status < 300:
                    return json.loads(payload) if payload.strip() else None
                error = _problem(r.status, r.reason, r.headers.get("Content-Type", ""), payload)
                if last or r.status not in _AGAIN or not (again or r.status == 429):
                    raise error
                pause = max(pause, _retry_after(r.headers.get("Retry-After")))
            pause = self._sleep(pause, deadline)
        raise UnavailableError(503, "no answer")  # the last try has raised already

    @contextmanager
    def stream(
        self,
        method: str,
        path: str,
        *,
        query: Optional[Query] = None,
        headers: Optional[Mapping[str, str]] = None,
        timeout: Optional[float] = None,
    ) -> Iterator[http.client.HTTPResponse]:
        """An answer that is read as it comes; timeout bounds each silence."""
        c, _ = self._take(timeout, fresh=True)
        r: Optional[http.client.HTTPResponse] = None
        asking = ExitStack()
        try:
            try:
                asking.enter_context(_asking(c))
                c.request(method, self._target(path, query), None, self._headers(dict(headers or {})))
                r = c.getresponse()
            except socket.timeout:
                raise TimeoutError("%s %s did not answer within %g seconds" % (method, path, timeout or 0)) from None
            except (OSError, http.client.HTTPException) as e:
                raise self._unreachable(e) from None
            if r.status >= 300:
                raise _problem(r.status, r.reason, r.headers.get("Content-Type", ""), r.read())
            yield r
        finally:
            asking.close()
            if r is not None:
                r.close()  # it has the socket too
            c.close()

    def _sleep(self, pause: float, deadline: Optional[float]) -> float:
        wait = pause * (0.5 + random.random())
        if deadline is not None:
            wait = min(wait, max(0.0, deadline - time.monotonic()))
        time.sleep(wait)
        return min(pause * 2, 5.0)

    def _take(self, timeout: Optional[float], fresh: bool) -> Tuple[http.client.HTTPConnection, bool]:
        if not fresh:
            try:
                c: Optional[http.client.HTTPConnection] = self._idle.pop()
            except IndexError:
                c = None
            if c is not None:
                c.timeout = timeout
                if c.sock is not None:
                    c.sock.settimeout(timeout)
                return c, True
        if self._socket is not None:
            return _UnixConnection(self._socket, timeout), False
        host, port = self._url.hostname or "", self._url.port
        if self._url.scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=timeout), False
        return http.client.HTTPConnection(host, port, timeout=timeout), False

    def _give(self, c: http.client.HTTPConnection, r: http.client.HTTPResponse) -> None:
        if r.will_close or c.sock is None:
            c.close()
            return
        if len(self._idle) < 8:
            self._idle.append(c)
        else:
            c.close()

    def _target(self, path: str, query: Optional[Query]) -> str:
        pairs: List[Tuple[str, str]] = []
        for k, v in (query or {}).items():
            for item in v if isinstance(v, (list, tuple)) else [v]:
                if item is not None and item != "":
                    pairs.append((k, _word(item)))
        base = self._url.path.rstrip("/") if self._socket is None else ""
        return base + path + ("?" + urllib.parse.urlencode(pairs) if pairs else "")

    def _headers(self, extra: Mapping[str, str]) -> Dict[str, str]:
        h = {"User-Agent": "muster-python/" + __version__, **extra}
        if self.token:
            h["Authorization"] = "Bearer " + self.token
        return h

    def _unreachable(self, e: BaseException) -> MusterError:
        return UnreachableError(
            0,
            "the server at %s does not answer: %s" % (self.address, e or type(e).__name__),
            hint="start it with muster server, or name another with MUSTER_SERVER",
        )


def _word(v: Any) -> str:
    if isinstance(v, bool):
        return "true" if v else "false"
    return str(v)


def _encode(body: Any, headers: Optional[Mapping[str, str]]) -> Tuple[Optional[bytes], Dict[str, str]]:
    h = dict(headers or {})
    if body is None:
        return None, h
    if isinstance(body, (bytes, str)):
        h.setdefault("Content-Type", "application/yaml")
        return body.encode() if isinstance(body, str) else body, h
    h.setdefault("Content-Type", "application/json")
    return json.dumps(body, allow_nan=False).encode(), h


def _retry_after(text: Optional[str]) -> float:
    try:
        return min(float(text or 0), 30.0)
    except ValueError:
        return 0.0


def _problem(status: int, reason: str, kind: str, payload: bytes) -> MusterError:
    if "json" in kind:
        try:
            p = json.loads(payload)
            if isinstance(p, dict) and p.get("code"):
                return from_problem(status, p)
        except ValueError:
            pass
    text = payload.decode("utf-8", "replace").strip()[:200]
    return from_problem(
        status,
        {
            "code": code_of(status),
            "detail": "the server answered %d %s: %s" % (status, reason, text),
            "hint": "is that the address of a Muster server?",
        },
    )


class Event:
    """One server-sent event."""

    __slots__ = ("id", "name", "data")

    def __init__(self, id: str, name: str, data: str) -> None:
        self.id = id
        self.name = name
        self.data = data


def events(r: http.client.HTTPResponse) -> Iterator[Event]:
    """The events of a stream, to its end."""
    last, name = "", ""
    data: List[str] = []
    while True:
        raw = r.readline()
        if not raw:
            return
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        if not line:
            if data:
                yield Event(last, name or "message", "\n".join(data))
            name, data = "", []
            continue
        field, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if field == "id":
            last = value
        elif field == "event":
            name = value
        elif field == "data":
            data.append(value)
