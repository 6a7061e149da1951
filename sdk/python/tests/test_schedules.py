from muster import errors

from .support import ServerCase, unique


class TestSchedules(ServerCase):
    def test_a_workload_is_run_by_the_clock(self) -> None:
        c, name = self.client, unique()
        made = c.create_schedule(name, "@yearly", {"command": "echo hello"}, timeZone="Asia/Tokyo")
        self.assertEqual((made["cron"], made["timeZone"], made["concurrency"], len(made["next"])), ("@yearly", "Asia/Tokyo", "allow", 3))
        run = c.run_schedule(name)
        self.assertTrue(run["name"].startswith(name))
        self.assertEqual([r["name"] for r in c.schedule(name)["runs"]], [run["name"]])
        changed = c.update_schedule(name, suspended=True, concurrency="forbid")
        self.assertEqual((changed["suspended"], changed["concurrency"], changed["next"]), (True, "forbid", []))
        self.assertIn(name, [s["name"] for s in c.schedules()])
        with self.assertRaises(errors.InvalidError):
            c.create_schedule(unique(), "61 * * * *", {"command": "true"})
        c.delete_schedule(name, runs=True)
        with self.assertRaises(errors.NotFoundError):
            c.schedule(name)
