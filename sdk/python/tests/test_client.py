import http.server
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from datetime import datetime, timedelta, timezone
from typing import Any, List

import muster
from muster import Client, errors

from .support import PATIENCE, Server, ServerCase, eventually, python, unique


class TestClient(ServerCase):
    def test_a_workload_from_submit_to_end(self) -> None:
        w = self.client.run("echo hello; echo worse >&2", name=unique(), labels={"team": "sdk"})
        self.assertEqual((w.kind, w.ended, w.project), ("training", False, "default"))
        w.wait(timeout=PATIENCE)
        self.assertEqual((w.phase, w.exit_code, w.succeeded), ("Completed", 0, True))
        self.assertIn("hello\n", "".join(w.logs()))
        self.assertEqual([t["to"] for t in w.transitions][-1], "Completed")
        self.assertIsNotNone(w.ended_at)
        self.assertLess(abs(w.created_at - datetime.now(timezone.utc)), timedelta(hours=1))
        self.assertIn(w.name, repr(w))
        again = self.client.workload(w.name)
        self.assertEqual((again.id, self.client.workload(w.id).name), (w.id, w.name))

    def test_processes_run_where_and_with_what_they_were_submitted(self) -> None:
        w = self.done(self.client.run(python("import os, sys; print(os.getcwd()); print(sys.executable); print(os.environ['PYTHONPATH'])"), name=unique()))
        self.assertEqual("".join(w.logs()).split("\n")[:3], [os.getcwd(), sys.executable, os.environ["PYTHONPATH"]])

    def test_yaml_goes_as_it_is(self) -> None:
        name = unique()
        w = self.done(self.client.submit("name: %s\ncommand: echo $A\nenv: {A: b}\n" % name))
        self.assertEqual("".join(w.logs()), "b\n")

    def test_a_text_goes_to_the_configured_project(self) -> None:
        c = self.server.client(project="text-team")
        c.request("POST", "/v1/projects", body={"name": "text-team"})
        self.addCleanup(c.request, "DELETE", "/v1/projects/text-team")
        made = [c.submit("command: 'true'\nname: %s\n" % unique()), c.submit("command: 'true'\nproject: default\nname: %s\n" % unique()), c.run("true", name=unique())]
        self.assertEqual([w.project for w in made], ["text-team", "default", "text-team"])
        for w in made:
            w.wait(timeout=PATIENCE)
            w.delete()

    def test_several_documents_are_no_text(self) -> None:
        with self.assertRaises(errors.InvalidError) as e:
            self.client.submit_all("command: 'true'\n")  # type: ignore[arg-type]
        self.assertIn("not a text", e.exception.message)

    def test_errors_are_typed(self) -> None:
        c = self.client
        with self.assertRaises(errors.InvalidError) as e:
            c.submit({"comand": "x", "command": "y"})
        self.assertEqual((e.exception.code, e.exception.status), ("invalid", 422))
        self.assertIn("comand", e.exception.message)
        self.assertTrue(e.exception.hint)
        self.assertEqual(e.exception.errors[0]["path"], "comand")
        self.assertIn("fix: ", str(e.exception))
        with self.assertRaises(errors.NotFoundError):
            c.workload("no-such")
        with self.assertRaises(errors.UnschedulableError):
            c.run("true", resources={"gpu": 1000})
        name = unique()
        w = c.run("true", name=name)
        with self.assertRaises(errors.ConflictError):
            c.run("true", name=name)
        self.done(w)
        with self.assertRaises(errors.IllegalPhaseError):
            w.stop()
        with self.assertRaises(errors.InvalidError):
            c.workloads(phases=["Nowhere"])
        self.assertIsInstance(e.exception, muster.MAPIException)

    def test_a_dry_run_submits_nothing(self) -> None:
        name = unique()
        w = self.client.submit({"name": name, "command": "true", "resources": {"gpu": 1}}, dry_run=True)
        self.assertIsNotNone(w.plan)
        with self.assertRaises(errors.NotFoundError):
            self.client.workload(name)

    def test_pages(self) -> None:
        prefix = unique("page")
        made = self.client.bulk([{"name": "%s-%d" % (prefix, i), "command": "true", "labels": {"n": str(i % 2)}} for i in range(7)] + [{"bad": 1}])
        self.assertIsInstance(made[-1], errors.InvalidError)
        page = self.client.workloads(prefix=prefix, limit=3)
        self.assertEqual((len(page), page.has_next), (3, True))
        self.assertEqual(len(page.next_page()), 3)
        names = [w.name for w in page.all()]
        self.assertEqual(names, ["%s-%d" % (prefix, i) for i in range(6, -1, -1)])
        self.assertEqual(len(self.client.workloads(prefix=prefix, labels={"n": "1"})), 3)
        last = page.next_page().next_page()
        self.assertEqual((len(last), last.has_next, list(last.next_page())), (1, False, []))
        for w in made[:-1]:
            assert isinstance(w, muster.Workload)
            self.done(w)
        ended = self.client.workloads(prefix=prefix, phases=["Completed"], since=datetime.now(timezone.utc) - timedelta(hours=2), summary=True)
        self.assertEqual(len(ended), 7)

    def test_all_or_none(self) -> None:
        one, two = unique("all"), unique("all")
        docs = [{"name": one, "command": "true"}, {"name": two, "command": "true", "after": [one]}]
        planned = self.client.submit_all(docs, dry_run=True)
        self.assertEqual([w.name for w in planned], [one, two])
        with self.assertRaises(errors.InvalidError) as e:
            self.client.submit_all([docs[0], {"name": two, "command": "true", "after": ["nobody"]}])
        self.assertIn("nobody", str(e.exception))
        made = self.client.submit_all(docs, key=one)
        self.assertEqual([w.id for w in self.client.submit_all(docs, key=one)], [w.id for w in made])
        self.assertEqual(self.done(made[1]).phase, "Completed")

    def test_notifications(self) -> None:
        heard: List[str] = []

        class Receiver(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["type"])
                self.send_response(204)
                self.end_headers()

            def log_message(self, *args: Any) -> None:
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as s:
            threading.Thread(target=s.serve_forever, daemon=True).start()
            self.addCleanup(s.shutdown)
            url = "http://127.0.0.1:%d/" % s.server_port
            name = unique("hook")
            made = self.client.add_notification(name, on=["Failed"], webhook=url, project="default", everyone=True)
            self.assertEqual((made["webhook"], made["everyone"]), (url, True))
            self.assertIn(name, [n["name"] for n in self.client.notifications()])
            self.assertEqual(self.client.test_notification(name, timeout=PATIENCE)["state"], "delivered")
            self.assertEqual(heard, ["dev.muster.test.v1"])
            self.assertTrue(self.client.deliveries(state="delivered"))
            self.client.remove_notification(name)
            self.assertNotIn(name, [n["name"] for n in self.client.notifications()])
            with self.assertRaises(errors.InvalidError):
                self.client.add_notification(name, on=["Sometimes"], webhook=url)
            with self.assertRaises(errors.NotFoundError):
                self.client.remove_notification(name)
            s.shutdown()

    def test_hold(self) -> None:
        w = self.client.submit({"command": "true", "name": unique("held"), "hold": True})
        self.assertEqual((w.phase, w.reason), ("Inadmissible", "Held"))
        with self.assertRaises(errors.ConflictError):
            w.hold("twice")
        w.release("now")
        self.assertEqual(self.done(w).phase, "Completed")
        with self.assertRaises(errors.MusterError):
            w.release()

    def test_stop_restart_change_delete(self) -> None:
        w = self.client.run("sleep 600", name=unique(), maxDuration="2h")
        w.wait("Running", timeout=PATIENCE)
        w.change(priority="high", retry={"limit": 2})
        self.assertEqual((w.priority, w.spec["retry"]["limit"]), (125, 2))
        with self.assertRaises(errors.InvalidError):
            w.change(command="other")
        w.stop("enough", grace_period="1s")
        self.done(w)
        self.assertEqual((w.phase, w.message), ("Stopped", "enough"))
        self.assertIn("restart", w.allowed_actions)
        w.restart().wait("Running", timeout=PATIENCE)
        self.assertEqual(w.attempt, 1)
        w.delete()
        eventually(lambda: w.name not in [x.name for x in self.client.workloads(limit=1000).all()])

    def test_unless_changed(self) -> None:
        w = self.client.run("sleep 600", name=unique(), resources={"gpu": {"count": 1}}, hold=True)
        seen = w.version
        self.client.change(w, {"priority": 7}, version=seen)
        for act in (
            lambda: self.client.change(w, {"priority": 9}, version=seen),
            lambda: self.client.stop(w, version=seen),
            lambda: self.client.update_metadata(w, {"a": 1}, version=seen),
            lambda: self.client.delete(w, version=seen),
        ):
            with self.assertRaises(errors.MusterError) as refused:
                act()
            self.assertEqual((refused.exception.status, refused.exception.code), (412, "stale"))
        w = self.client.workload(w.id)
        self.assertEqual(w.priority, 7)
        self.client.stop(w, version=w.version)

    def test_metadata(self) -> None:
        w = self.client.run("true", name=unique())
        w.update_metadata({"a": {"b": [1, None, "ü"]}, "c": 2 ** 60})
        w.update_metadata({"c": 2 ** 60 + 1})
        self.assertEqual(self.client.workload(w.id).metadata, {"a": {"b": [1, None, "ü"]}, "c": 2 ** 60 + 1})
        w.update_metadata({"a": None})
        self.assertEqual(w.metadata, {"c": 2 ** 60 + 1})
        with self.assertRaises(errors.InvalidError):
            w.update_metadata({"k%d" % i: 1 for i in range(300)})

    def test_waiting(self) -> None:
        w = self.client.run("sleep 600", name=unique())
        with self.assertRaises(TimeoutError):
            w.wait(timeout=0.5)
        self.assertEqual(w.wait("Running", timeout=PATIENCE).phase, "Running")
        w.stop(grace_period="0s")
        self.assertEqual(w.wait("Running", timeout=PATIENCE).ended, True)  # it never will be again
        bad = self.client.run("exit 3", name=unique())
        with self.assertRaises(errors.WorkloadFailed) as e:
            self.client.wait(bad.id, check=True, timeout=PATIENCE)
        self.assertEqual(e.exception.workload.exit_code, 3)

    def test_a_watch_resumes(self) -> None:
        a = self.done(self.client.run("true", name=unique()))
        b = self.done(self.client.run("true", name=unique()))
        seen: List[Any] = []
        for change in self.client.watch(after=int(a.raw["revision"]), timeout=PATIENCE):
            if change.synced:
                break
            assert change.workload is not None
            seen.append(change.workload.id)
        self.assertIn(b.id, seen)
        with self.assertRaises(TimeoutError):
            list(self.client.watch("nobody", timeout=0.3))

    def test_following_a_log_waits_for_its_start(self) -> None:
        hold = self.client.run("sleep 600", name=unique("hold"), resources={"gpu": 8})
        hold.wait("Running", timeout=PATIENCE)
        w = self.client.run("for i in 1 2 3; do echo line $i; sleep 0.1; done", name=unique(), resources={"gpu": 1})
        got: List[str] = []
        reader = threading.Thread(target=lambda: got.extend(w.follow()))
        reader.start()
        time.sleep(0.2)
        hold.stop(grace_period="0s")
        reader.join(PATIENCE)
        self.assertEqual("".join(got), "line 1\nline 2\nline 3\n")
        self.assertEqual("".join(w.logs(tail=1)), "line 3\n")
        self.assertEqual("".join(w.logs(offset=7)), "line 2\nline 3\n")

    def test_text_is_not_cut_inside_a_character(self) -> None:
        w = self.done(self.client.run(python("import sys; sys.stdout.write('€' * 100001)"), name=unique()))
        self.assertEqual("".join(w.logs()), "€" * 100001)

    def test_the_first_error_names_the_culprit(self) -> None:
        code = "import os, sys, time\nif os.environ['RANK'] == '1': raise ValueError('lost: <b>')\ntime.sleep(600)"
        w = self.client.submit({"name": unique(), "kind": "distributed", "workers": 2, "command": python(code), "resources": {"gpu": 1}, "gracePeriod": "1s"})
        self.done(w)
        e = w.first_error()
        assert e is not None
        self.assertEqual((e["kind"], e["title"], e["task"], e["role"]), ("Python exception", "ValueError: lost: <b>", 1, "worker"))
        self.assertEqual((len(e["devices"]), e["exitCode"]), (1, 1))
        self.assertTrue(e["hint"] and e["node"])
        self.assertEqual(w.culprit, 1)
        quiet = self.done(self.client.run("echo some words; exit 9", name=unique()))
        e = quiet.first_error()
        assert e is not None
        self.assertEqual((e["kind"], e["exitCode"], e["excerpt"]), ("exit code", 9, ["some words"]))
        crashed = self.done(self.client.run("kill -SEGV $$", name=unique()))
        e = crashed.first_error()
        assert e is not None
        self.assertIn("signal", e["kind"])
        self.assertIsNone(self.done(self.client.run("true", name=unique())).first_error())

    def test_secrets(self) -> None:
        name = unique("s")
        self.client.create_secret(name, "env", {"value": "hidden"}, {"variable": "SDK_SECRET"})
        self.assertIn(name, [s["name"] for s in self.client.secrets()])
        w = self.done(self.client.run("echo $SDK_SECRET", name=unique(), secrets=[name]))
        self.assertEqual("".join(w.logs()), "hidden\n")
        self.client.delete_secret(name)
        self.assertNotIn(name, [s["name"] for s in self.client.secrets()])

    def test_what_the_cluster_tells(self) -> None:
        self.assertEqual(len(self.client.cluster()["nodes"][0]["devices"]), 8)
        self.assertEqual([c["name"] for c in self.client.clusters()], ["local"])
        self.assertIn("default", [p["name"] for p in self.client.projects()])
        self.assertIn("items", self.client.usage(by="project"))
        self.assertIn("total", self.client.report(by="department,gpu-type"))
        self.assertEqual([], self.client.budgets())
        self.assertTrue(self.client.version()["version"])
        self.assertEqual(self.client.server()["dataDir"], self.server.dir)
        self.assertTrue(self.client.quota())
        w = self.client.run("true", name=unique())
        self.assertIn("phase", self.client.why(w.id))

    def test_what_was_measured(self) -> None:
        w = self.client.run(python("while True: pass"), name=unique(), resources={"gpu": 1})

        def cores() -> bool:
            series = {s["metric"]: s for s in self.client.metrics(w, since="5m")["series"]}
            return "cpu_cores" in series and series["cpu_cores"]["last"] > 0 and "gpu_utilization_ratio" in series

        eventually(cores)
        node = self.client.cluster()["nodes"][0]["name"]
        self.assertIn("cpu_cores", [s["metric"] for s in self.client.metrics(node=node)["series"]])
        self.assertIn("gpus_allocated", [s["metric"] for s in self.client.metrics()["series"]])
        w.stop()

    def test_many_threads_share_a_client(self) -> None:
        failed: List[BaseException] = []

        def work() -> None:
            try:
                for _ in range(10):
                    self.client.version()
                    self.client.workloads(limit=1)
            except BaseException as e:
                failed.append(e)

        threads = [threading.Thread(target=work) for _ in range(12)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(PATIENCE)
        self.assertEqual(failed, [])


class Cutter(threading.Thread):
    """Passes requests on, and cuts the first few connections once the server has answered."""

    def __init__(self, to: str, cuts: int) -> None:
        super().__init__(daemon=True)
        self.to = to
        self.cuts = cuts
        self.seen = 0
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(8)
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]

    def run(self) -> None:
        while True:
            try:
                c, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.pass_on, args=(c,), daemon=True).start()

    def pass_on(self, c: socket.socket) -> None:
        s = socket.socket(socket.AF_UNIX)
        s.connect(self.to)
        s.settimeout(PATIENCE)
        try:
            while True:
                data = c.recv(65536)
                if not data:
                    return
                s.sendall(data)
                head, _, body = data.partition(b"\r\n\r\n")
                if b"content-length" in head.lower() and not body:
                    s.sendall(c.recv(65536))
                answer = s.recv(1 << 20)
                self.seen += 1
                if self.seen <= self.cuts:
                    return
                c.sendall(answer)
        except OSError:
            pass
        finally:
            c.close()
            s.close()


class TestBrokenConnections(ServerCase):
    def test_a_submission_whose_answer_is_lost_makes_one_workload(self) -> None:
        cutter = Cutter(self.client.address[len("unix://") :], cuts=2)
        cutter.start()
        name = unique("once")
        with Client(cutter.url, token="") as c:
            w = c.run("true", namePrefix=name)
        self.assertGreaterEqual(cutter.seen, 3)
        self.assertEqual([x.id for x in self.client.workloads(prefix=name)], [w.id])
        cutter.listener.close()

    def test_what_may_not_be_repeated_is_not(self) -> None:
        w = self.client.run("sleep 600", name=unique())
        cutter = Cutter(self.client.address[len("unix://") :], cuts=1)
        cutter.start()
        with Client(cutter.url, token="") as c, self.assertRaises(errors.UnreachableError):
            c.stop(w.id, grace_period="0s")
        self.assertEqual(cutter.seen, 1)
        self.assertEqual(self.done(w).phase, "Stopped")
        cutter.listener.close()


class TestServers(unittest.TestCase):
    def test_a_token_over_tcp(self) -> None:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        srv = Server("--listen", "127.0.0.1:%d" % port)
        self.addCleanup(srv.close)
        url = "http://127.0.0.1:%d" % port
        with open(os.path.join(srv.dir, "token")) as f:
            token = f.read().strip()
        with Client(url, token=token) as c:
            w = c.run("true", name="tcp").wait(timeout=PATIENCE)
            self.assertEqual((w.phase, w.user, c.user), ("Completed", "token", "token"))
        with Client(url, token="wrong") as c, self.assertRaises(errors.UnauthenticatedError) as e:
            c.workloads()
        self.assertEqual(e.exception.status, 401)

    def test_streams_survive_a_restart_of_the_server(self) -> None:
        srv = Server()
        self.addCleanup(srv.close)
        # A slow machine takes its time to start it; a log that is followed does not mind how long.
        with srv.client(retries=20) as c, srv.client(retries=0) as hasty:
            w = c.run("for i in $(seq 40); do echo $i; sleep 0.1; done", name="long")
            w.wait("Running", timeout=PATIENCE)
            got: List[str] = []
            ends: List[str] = []
            reader = threading.Thread(target=lambda: got.extend(hasty.logs(w.id, follow=True)))
            waiter = threading.Thread(target=lambda: ends.append(c.wait(w.id, timeout=PATIENCE).phase))
            reader.start()
            waiter.start()
            eventually(lambda: len("".join(got).split()) > 3)
            srv.end()
            time.sleep(1)
            srv.start()
            reader.join(PATIENCE)
            waiter.join(PATIENCE)
            self.assertEqual("".join(got).split(), [str(i) for i in range(1, 41)])
            self.assertEqual(ends, ["Completed"])

    def test_a_local_server_is_started_when_it_is_needed(self) -> None:
        with tempfile.TemporaryDirectory(prefix="muster-sdk-") as home:
            env = dict(os.environ, XDG_DATA_HOME=home, HOME=home, MUSTER_CONFIG="")
            for name in ("MUSTER_SERVER", "MUSTER_DATA_DIR", "MUSTER_NO_AUTOSTART", "XDG_CONFIG_HOME"):
                env.pop(name, None)
            code = "import muster; print(muster.Client().run('true').wait(timeout=%d).phase)" % PATIENCE
            try:
                none = subprocess.run([sys.executable, "-c", code], env=dict(env, MUSTER_NO_AUTOSTART="1"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                self.assertIn("UnreachableError", none.stderr)
                out = subprocess.run([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                self.assertEqual(out.stdout, "Completed\n", out.stderr)
                self.assertIn("started a local server", out.stderr)
                self.assertNotIn("ResourceWarning", out.stderr)
                again = subprocess.run([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                self.assertEqual((again.stdout, again.stderr), ("Completed\n", ""))
            finally:
                subprocess.run([os.environ["MUSTER_BIN"], "server", "stop"], env=env, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def test_addresses(self) -> None:
        for bad in ("ftp://x", "host:1", "http://"):
            with self.subTest(bad=bad), self.assertRaises(errors.InvalidError):
                Client(bad)
        with Client("http://127.0.0.1:9", retries=1) as c, self.assertRaises(errors.UnreachableError) as e:
            c.version()
        self.assertEqual((e.exception.code, e.exception.status), ("unreachable", 0))
        self.assertTrue(e.exception.hint)
