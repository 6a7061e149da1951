"""The client of module-level functions, imported when one of them is called:
a script pays for its imports with every start."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .client import Client


def default_client() -> Client:
    """The client that module-level functions use, made when it is first needed."""
    from .client import default_client as made

    return made()
