"""The native client: everything that the REST API offers."""

from __future__ import annotations

import threading
from typing import Optional

from ._calls import ANY, Document
from ._follow import Following
from .models import ENDS


class Client(Following):
    """A connection to one server. Safe for threads.

    Without an address it is that of ``MUSTER_SERVER`` or the configuration
    file, else the local server, which is started where none runs (not with
    ``autostart=False`` or ``MUSTER_NO_AUTOSTART``). ``timeout`` bounds each call, in
    seconds; ``retries`` is how often a call is tried again that may be repeated.
    Submissions carry an idempotency key, so that trying again never makes two.
    """


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


__all__ = ["ANY", "Client", "Document", "ENDS", "default_client", "set_default_client"]
