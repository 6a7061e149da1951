"""How much users and projects may have, what it costs, and what has to be approved first."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence

from ._calls import Calls, quote


class Limits(Calls):
    """Limits of users, budgets, prices, reports, checks and approvals."""

    # -- limits and budgets -------------------------------------------------
    def user_limits(self) -> List[Dict[str, Any]]:
        """What users may have at once in all projects together; ``"*"`` is each who has no limit of their own."""
        return list(self.request("GET", "/v1/user-limits")["items"])

    def set_user_limit(self, user: str, *, gpu: Optional[float] = None, max_running: int = 0, max_queued: int = 0, note: str = "") -> Dict[str, Any]:
        """Bounds a user, in place of all that was said of them; without a number it is any."""
        body: Dict[str, Any] = {"maxRunning": max_running, "maxQueued": max_queued, "note": note}
        if gpu is not None:
            body["gpu"] = gpu
        return dict(self.request("PUT", "/v1/user-limits/" + quote(user), body=body, again=False))

    def delete_user_limit(self, user: str) -> None:
        """Bounds a user no more."""
        self.request("DELETE", "/v1/user-limits/" + quote(user), again=False)

    def budgets(self, project: Optional[str] = None) -> List[Dict[str, Any]]:
        """How budgets stand: of one project or department, or of all that one may read."""
        return list(self.request("GET", "/v1/budgets", query={"project": project} if project else None)["items"])

    def set_budgets(self, project: str, budgets: Sequence[Mapping[str, Any]], *, department: bool = False) -> List[Dict[str, Any]]:
        """Gives a project or department these budgets, like ``{"gpuHours": 500, "period": "month"}``, in place of all it had."""
        path = "/v1/%s/%s" % ("departments" if department else "projects", quote(project))
        return list(self.request("PATCH", path, body={"budgets": [dict(b) for b in budgets]}, again=False).get("budgets") or [])

    # -- prices and reports -------------------------------------------------
    def prices(self) -> Dict[str, Any]:
        """What GPUs cost: ``currency``, ``items``, and the ``version`` that set_prices wants."""
        return dict(self.request("GET", "/v1/prices"))

    def set_prices(self, prices: Mapping[str, Any]) -> Dict[str, Any]:
        """Says anew what GPUs cost, unless somebody else has since prices() was asked."""
        return dict(self.request("PUT", "/v1/prices", body=dict(prices), again=False))

    def usage_report(self, by: Sequence[str] = ("project",), since: str = "", until: str = "") -> Dict[str, Any]:
        """What was used and what it cost, by department, project, pool, user, gpu-type; of the last 30 days, or between two instants (RFC 3339)."""
        query = {k: v for k, v in (("by", ",".join(by)), ("from", since), ("to", until)) if v}
        return dict(self.request("GET", "/v1/report", query=query))

    # -- checks and approvals -----------------------------------------------
    def _checks(self, project: Optional[str], tail: str = "") -> str:
        return "/v1/projects/%s/checks%s" % (quote(project or self.project or "default"), tail)

    def checks(self, project: Optional[str] = None) -> List[Dict[str, Any]]:
        """Who else is asked before something runs in a project; ``"-"`` is the system."""
        return list(self.request("GET", self._checks(project))["items"])

    def set_check(self, name: str, check: Mapping[str, Any], project: Optional[str] = None) -> Dict[str, Any]:
        """Makes a check, or what it says another: ``{"type": "approval", "approvals": 2}``."""
        return dict(self.request("PUT", self._checks(project, "/" + quote(name)), body=dict(check), again=False))

    def delete_check(self, name: str, project: Optional[str] = None) -> None:
        """Forgets a check; what waits for it goes on."""
        self.request("DELETE", self._checks(project, "/" + quote(name)), again=False)

    def approvals(self, mine: bool = False) -> List[Dict[str, Any]]:
        """What waits for somebody's word, or for yours; approve() and reject() say it."""
        return [a for a in self.request("GET", "/v1/approvals")["items"] if a["may"] or not mine]
