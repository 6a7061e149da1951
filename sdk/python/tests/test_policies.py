from muster import errors

from .support import ServerCase, unique


class TestPolicies(ServerCase):
    def test_what_documents_may_say(self) -> None:
        c, project = self.client, unique()
        c.request("POST", "/v1/projects", body={"name": project}, again=False)
        said = {"defaults": {"env": {"SITE": "east"}}, "rules": {"gracePeriod": {"max": "1m"}}}
        self.assertEqual(c.set_policy("training", said, project, dry_run=True)["version"], 1)
        self.assertEqual(c.policies(project), [])
        c.set_policy("training", said, project)
        self.assertEqual([p["for"] for p in c.policies(project)], ["training"])
        fields = {f["path"]: f for f in c.effective_policy("training", project)["fields"]}
        self.assertEqual(fields["env.SITE"]["default"], "east")
        self.assertEqual(fields["gracePeriod"]["rule"]["max"], "1m")
        w = self.done(c.submit({"command": "echo $SITE", "project": project}))
        self.assertEqual("".join(w.logs()), "east\n")
        with self.assertRaises(errors.InvalidError) as e:
            c.submit({"command": "true", "project": project, "gracePeriod": "2m"})
        self.assertEqual(e.exception.errors[0]["path"], "gracePeriod")
        with self.assertRaises(errors.InvalidError) as e:
            c.set_policy("training", {"rules": {"gracePeriod": {"maxx": "1m"}}}, project)
        self.assertEqual(e.exception.errors[0]["path"], "rules.gracePeriod.maxx")
        c.delete_policy("training", project)
        self.assertEqual(c.policies(project), [])
