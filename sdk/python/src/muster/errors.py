"""What can go wrong, one class for each code of the API."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Type


class MusterError(Exception):
    """A refusal or failure, with what to do next.

    ``status`` is the HTTP status (0: there was no answer), ``code`` the stable
    token to tell errors apart by, ``hint`` the next step, ``errors`` one entry
    for each wrong field of a document.
    """

    default_code = "internal"

    def __init__(
        self,
        status: int = 0,
        message: str = "",
        *,
        code: Optional[str] = None,
        hint: str = "",
        errors: Optional[List[Dict[str, Any]]] = None,
    ) -> None:
        self.status = int(status)
        self.message = message
        self.code = code or self.default_code
        self.hint = hint
        self.errors = list(errors or [])
        super().__init__(self.status, message)

    def __str__(self) -> str:
        return self.message + ("\n  fix: " + self.hint if self.hint else "")

    def __repr__(self) -> str:
        return "%s(code=%r, status=%r, message=%r)" % (type(self).__name__, self.code, self.status, self.message)


class InvalidError(MusterError):
    """The request or document is wrong; ``errors`` names the fields."""

    default_code = "invalid"


class NotFoundError(MusterError):
    """There is no such thing."""

    default_code = "not_found"


class ConflictError(MusterError):
    """It clashes with what exists."""

    default_code = "conflict"


class IllegalPhaseError(MusterError):
    """Not possible in the phase that the workload is in."""

    default_code = "illegal_phase"


class UnschedulableError(MusterError):
    """It can never fit on the nodes that there are."""

    default_code = "unschedulable"


class UnsupportedError(MusterError):
    """No backend of this server can do it."""

    default_code = "unsupported"


class UnavailableError(MusterError):
    """The server cannot answer now; try again."""

    default_code = "unavailable"


class UnauthenticatedError(MusterError):
    """The address needs a token."""

    default_code = "unauthenticated"


class ForbiddenError(MusterError):
    """This user or task may not do it."""

    default_code = "forbidden"


class DiskFullError(MusterError):
    """The server's disk is full; nothing was changed."""

    default_code = "disk_full"


class NoLogsError(NotFoundError):
    """The task never started, so it has no log."""

    default_code = "no_logs"


class InternalError(MusterError):
    """The server failed; its log says how."""

    default_code = "internal"


class UnreachableError(MusterError):
    """No server answers at the address."""

    default_code = "unreachable"


class WorkloadFailed(MusterError):
    """A workload that was waited for has ended otherwise than hoped.

    ``workload`` is its last state.
    """

    default_code = "workload_failed"

    def __init__(self, message: str, *, workload: Any = None, hint: str = "") -> None:
        super().__init__(0, message, hint=hint)
        self.workload = workload


_CLASSES: Dict[str, Type[MusterError]] = {
    c.default_code: c
    for c in (
        InvalidError,
        NotFoundError,
        ConflictError,
        IllegalPhaseError,
        UnschedulableError,
        UnsupportedError,
        UnavailableError,
        UnauthenticatedError,
        ForbiddenError,
        DiskFullError,
        NoLogsError,
        InternalError,
        UnreachableError,
    )
}


def code_of(status: int) -> str:
    """The code of an answer that carries none."""
    if status in (401, 403):
        return "unauthenticated"
    if status == 404:
        return "not_found"
    if status in (409, 412):
        return "conflict"
    if status in (502, 503, 504):
        return "unavailable"
    return "invalid" if status < 500 else "internal"


def from_problem(status: int, problem: Mapping[str, Any]) -> MusterError:
    """The error of a problem+json body."""
    code = str(problem.get("code") or code_of(status))
    return _CLASSES.get(code, MusterError)(
        int(problem.get("status") or status),
        str(problem.get("detail") or problem.get("title") or "the server answered %d" % status),
        code=code,
        hint=str(problem.get("hint") or ""),
        errors=list(problem.get("errors") or []),
    )
