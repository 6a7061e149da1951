"""Who talks to whom, where mcli keeps its configuration."""

from __future__ import annotations

import os

from muster.runs import initialize as initialize, set_api_key as set_api_key


class MCLIConfig:
    """The token of this process. There is no file of mcli's: muster's own says which server is meant."""

    def __init__(self, api_key: str = "") -> None:
        self.api_key = api_key

    @classmethod
    def load_config(cls, safe: bool = False) -> "MCLIConfig":
        """The configuration with the token of ``MUSTER_TOKEN``; ``safe`` has no meaning here."""
        return cls(os.environ.get("MUSTER_TOKEN", ""))

    def save_config(self) -> bool:
        """Uses the token from now on, in this process."""
        set_api_key(self.api_key)
        return True
