from muster import errors

from .support import ServerCase, unique


class TestLimits(ServerCase):
    def test_what_users_may_have(self) -> None:
        c = self.client
        c.set_user_limit("zoe", gpu=2, max_queued=5, note="until May")
        (zoe,) = [b for b in c.user_limits() if b["name"] == "zoe"]
        self.assertEqual((zoe["gpu"], zoe["maxQueued"], zoe["note"]), (2, 5, "until May"))
        c.delete_user_limit("zoe")
        self.assertEqual([b for b in c.user_limits() if b["name"] == "zoe"], [])
        with self.assertRaises(errors.InvalidError):
            c.set_user_limit("zoe")

    def test_budgets_prices_and_reports(self) -> None:
        c, project = self.client, unique()
        c.request("POST", "/v1/projects", body={"name": project}, again=False)
        self.assertEqual(c.set_budgets(project, [{"gpuHours": 5, "period": "month", "atEnd": "stop", "notice": "30m"}])[0]["notice"], "30m")
        (state,) = c.budgets(project)
        self.assertEqual((state["amount"], state["state"]), (5, "open"))
        was = c.prices()
        is_ = c.set_prices({"version": was["version"], "currency": "EUR", "items": [{"perGpuHour": 2.5}]})
        self.assertEqual(is_["version"], was["version"] + 1)
        with self.assertRaises(errors.ConflictError):
            c.set_prices({"version": was["version"], "currency": "EUR", "items": []})
        self.assertEqual(c.usage_report(["project", "user"])["currency"], "EUR")
        c.set_prices({"version": is_["version"], "currency": "EUR", "items": []})

    def test_checks_and_approvals(self) -> None:
        c, project = self.client, unique()
        c.request("POST", "/v1/projects", body={"name": project}, again=False)
        c.set_check("big", {"type": "approval"}, project)
        self.assertEqual([k["name"] for k in c.checks(project)], ["big"])
        w = c.submit({"command": "true", "project": project})
        self.assertIn(w.name, [a["workload"] for a in c.approvals(mine=True)])
        c.approve(w.name, project, check="big")
        self.assertNotIn(w.name, [a["workload"] for a in c.approvals()])
        self.done(w)
        c.delete_check("big", project)
        self.assertEqual(c.checks(project), [])
