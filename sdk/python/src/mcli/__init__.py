"""mcli's SDK on Muster: published ``from mcli import …`` lines run unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List

if TYPE_CHECKING:
    from .sdk import *

from muster._version import __version__


def __getattr__(name: str) -> Any:
    import muster

    # One by one, so that a script imports only what it uses.
    if name.startswith("_"):
        raise AttributeError("module 'mcli' has no attribute %r" % name)
    try:
        value = getattr(muster, name)
    except AttributeError:
        raise AttributeError("module 'mcli' has no attribute %r" % name) from None
    globals()[name] = value
    return value


def __dir__() -> List[str]:
    from . import sdk

    return sorted([*globals(), *sdk.__all__])
