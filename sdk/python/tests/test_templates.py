from muster import errors

from .support import ServerCase, unique


class TestTemplates(ServerCase):
    def test_a_workload_is_made_of_a_template_and_an_environment(self) -> None:
        c, env, name = self.client, unique(), unique()
        made = c.create_environment(env, {"env": {"A": "env", "B": "env"}, "workdir": "/"}, description="plain")
        self.assertEqual((made["kind"], made["version"], made["description"]), ("environment", 1, "plain"))
        c.create_template(name, {"command": "echo $A $B $C; pwd", "env": {"B": "template"}}, environment=env, editors=["bob"])
        w = self.done(c.submit({"env": {"C": "own"}}, template=name))
        self.assertEqual("".join(w.logs()), "env template own\n/\n")
        self.assertEqual(w.raw["spec"]["annotations"]["muster.dev/template"], name + "@1")
        self.assertIn(name, [t["name"] for t in c.templates()])
        self.assertIn(env, [t["name"] for t in c.environments()])
        self.assertEqual(c.update_template(name, {"command": "echo second"})["version"], 2)
        self.assertEqual("".join(self.done(c.submit({}, template=name)).logs()), "second\n")
        self.assertEqual("".join(self.done(c.submit({}, template=name + "@1", environment=env)).logs()), "env env\n/\n")
        self.assertEqual(c.template(name + "@1")["document"]["env"], {"B": "template"})
        c.delete_template(name)
        c.delete_environment(env)
        with self.assertRaises(errors.NotFoundError):
            c.submit({}, template=name)

    def test_a_document_names_its_assets(self) -> None:
        c, env, small, tmp = self.client, unique(), unique(), unique()
        c.create_asset("environment", env, {"command": ["sh", "-c", "echo $A $D; pwd"], "env": {"A": "env"}, "workdir": "/"})
        c.create_asset("compute", small, {"resources": {"cpu": "100m"}}, description="little")
        c.create_asset("datasource", tmp, {"volumes": [{"hostPath": "/tmp", "path": "/tmp"}], "env": {"D": "data"}})
        w = self.done(c.submit({"environment": env, "data": [tmp]}, compute=small))
        self.assertEqual("".join(w.logs()), "env data\n/\n")
        self.assertEqual(w.raw["spec"]["resources"]["cpu"], "0.1")
        notes = w.raw["spec"]["annotations"]
        self.assertEqual([notes["muster.dev/" + k] for k in ("environment", "compute", "data")], [env + "@1", small + "@1", tmp + "@1"])
        self.assertIn((small, "little"), [(a["name"], a["description"]) for a in c.assets("compute")])
        self.assertEqual(c.update_asset("compute", small, {"resources": {"cpu": "200m"}})["version"], 2)
        self.assertEqual(c.asset("compute", small + "@1")["document"], {"resources": {"cpu": "0.1"}})
        c.delete_asset("compute", small)
        with self.assertRaises(errors.NotFoundError):
            c.submit({"compute": small, "command": "true"})

    def test_what_is_wrong_is_refused(self) -> None:
        c, name = self.client, unique()
        with self.assertRaises(errors.InvalidError) as e:
            c.create_environment(name, {"workers": 2})
        self.assertEqual(e.exception.errors[0]["path"], "document.workers")
        c.create_template(name, {"command": "x"})
        with self.assertRaises(errors.ConflictError):
            c.create_template(name, {"command": "x"})
        with self.assertRaises(ValueError):
            c.template(name + "@x")
        with self.assertRaises(errors.NotFoundError):
            c.template(name + "@9")

    def test_an_ended_workload_is_revised(self) -> None:
        w = self.done(self.client.run("echo first", name=unique()))
        again = self.done(self.client.revise(w, {"command": "echo second", "kind": "training"}))
        self.assertEqual((again.attempt, "".join(again.logs())), (1, "second\n"))
        self.assertEqual(again.attempts[0]["revised"][0]["path"], "command")

    def test_a_revision_is_checked_while_it_runs(self) -> None:
        w = self.client.run("sleep 600", name=unique())
        self.assertEqual(self.client.revise(w, {"command": "echo second", "kind": "training"}, dry_run=True).attempt, 0)
        with self.assertRaises(errors.UnschedulableError):
            self.client.revise(w, {"command": "true", "kind": "training", "resources": {"cpu": 100000}}, dry_run=True)
        self.assertFalse(self.client.workload(w).ended)
        self.client.stop(w, grace_period="0s")
