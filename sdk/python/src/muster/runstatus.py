"""The states of a run, in their order, as mcli has them."""

from __future__ import annotations

from enum import Enum
from typing import Any, List


class RunStatus(str, Enum):
    """Where a run is. Later statuses are :meth:`after` earlier ones."""

    FAILED = "FAILED"
    STOPPED = "STOPPED"
    COMPLETED = "COMPLETED"
    TERMINATING = "TERMINATING"
    RUNNING = "RUNNING"
    STARTING = "STARTING"
    QUEUED = "QUEUED"
    PENDING = "PENDING"
    UNKNOWN = "UNKNOWN"

    @classmethod
    def order(cls) -> List["RunStatus"]:
        """All statuses, latest first."""
        return list(cls)

    def before(self, other: "RunStatus", inclusive: bool = False) -> bool:
        """Whether it comes before the other."""
        at = self.order()
        return at.index(self) > at.index(other) or (inclusive and self is other)

    def after(self, other: "RunStatus", inclusive: bool = False) -> bool:
        """Whether it comes after the other."""
        at = self.order()
        return at.index(self) < at.index(other) or (inclusive and self is other)

    def is_terminal(self) -> bool:
        """Whether it is COMPLETED, STOPPED or FAILED."""
        return self.after(RunStatus.COMPLETED, inclusive=True)

    @property
    def display_name(self) -> str:
        """The name in CamelCase."""
        return self.value.capitalize()

    @classmethod
    def from_string(cls, text: Any) -> "RunStatus":
        """A status of a text in any case; UNKNOWN where it is none. It never raises."""
        if isinstance(text, cls):
            return text
        word = "".join(c for c in str(text) if c.isalnum()).upper()
        aliases = {"FAILEDPULL": "FAILED", "SCHEDULED": "QUEUED", "STOPPING": "TERMINATING"}
        try:
            return cls(aliases.get(word, word))
        except ValueError:
            return cls.UNKNOWN

    def __str__(self) -> str:
        return self.value


class RunType(str, Enum):
    """What sort of run it is."""

    TRAINING = "TRAINING"
    INTERACTIVE = "INTERACTIVE"
    SECRET_TEST = "SECRET_TEST"
    HERO_RUN = "HERO_RUN"
    FINETUNING = "FINETUNING"
    PRETRAINING = "PRETRAINING"
    UNKNOWN = "UNKNOWN"

    @classmethod
    def from_string(cls, text: Any) -> "RunType":
        """A type of a text in any case; UNKNOWN where it is none."""
        if isinstance(text, cls):
            return text
        try:
            return cls(str(text).upper().replace("-", "_"))
        except ValueError:
            return cls.UNKNOWN

    def __str__(self) -> str:
        return self.value
