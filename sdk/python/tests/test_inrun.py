import os
import signal
import subprocess
import sys
import tempfile
import unittest
from typing import Dict

import muster

from .support import PATIENCE, ServerCase, eventually, lines, python, unique

HEAD = "import muster, os, sys, time\n"


class TestInside(ServerCase):
    def go(self, code: str, **fields: object) -> muster.Workload:
        fields.setdefault("name", unique("in"))
        return self.client.run(python(HEAD + code), **fields)

    def test_progress(self) -> None:
        w = self.go("for i in range(50): muster.report(step=i + 1, total=50, loss=1 / (i + 1)); time.sleep(0.02)\nmuster.report(accuracy=0.5, message='good')")
        self.done(w)
        p = w.progress
        assert p is not None
        self.assertEqual((p["step"], p["total"], p["message"], p["attempt"]), (50, 50, "good", 0))
        self.assertEqual(p["metrics"], {"loss": 0.02, "accuracy": 0.5})
        self.assertEqual("".join(w.logs()), "")

    def test_a_loop_is_not_held_up(self) -> None:
        w = self.done(self.go("a = time.monotonic()\nfor i in range(20000): muster.report(step=i)\nassert time.monotonic() - a < 30\nassert muster.flush()"))
        self.assertEqual((w.phase, w.progress and w.progress["step"]), ("Completed", 19999))
        # 20,000 reports are few changes of the workload.
        self.assertLess(int(w.raw["version"]), 60)

    def test_numbers_that_are_none(self) -> None:
        w = self.done(self.go("muster.report(step=1, loss=float('nan'), lr=0.1)"))
        assert w.progress is not None
        self.assertEqual((w.progress["metrics"], w.progress["message"]), ({"lr": 0.1}, "loss is nan"))

    def test_every_number_becomes_a_curve(self) -> None:
        w = self.done(self.go("for i in range(3):\n    muster.report(step=i, loss=3 - i)\n    assert muster.flush()\n    time.sleep(0.2)"))
        loss = [s for s in self.client.reported(w) if s["metric"] == "loss"]
        self.assertEqual([(s["attempt"], s["task"], s["steps"], s["values"], s["last"], s["min"], s["max"]) for s in loss], [(0, 0, [0, 1, 2], [3, 2, 1], 1, 1, 3)])
        self.assertEqual([s["metric"] for s in self.client.reported(w, metric="loss")], ["", "loss"])

    def test_many_metrics_leave_the_last(self) -> None:
        w = self.done(self.go("for i in range(150): muster.report(step=i, **{'m%d' % i: i})\nmuster.report(**{'m10': 1, 'x' * 201: 1, '': 1})\nassert muster.flush()"))
        assert w.progress is not None
        metrics = w.progress["metrics"]
        self.assertEqual((w.progress["step"], len(metrics), metrics["m149"], metrics["m10"], "m50" in metrics), (149, 100, 149, 1, False))

    def test_the_next_attempt_resumes(self) -> None:
        code = "at = muster.resume_from()\nprint(at, os.environ.get('MUSTER_RESUME_STEP'))\nassert muster.checkpoint('/ckpt/%s' % os.environ['MUSTER_ATTEMPT'], step=5)\nsys.exit(0 if at else 1)"
        w = self.done(self.go(code, retry={"limit": 1, "backoff": "0s"}))
        self.assertEqual((w.phase, w.attempt), ("Completed", 1))
        self.assertEqual("".join(w.logs(attempt=0)) + "".join(w.logs()), "None None\n/ckpt/0 5\n")
        w.restart()
        self.done(w)
        self.assertEqual("".join(w.logs()), "/ckpt/1 5\n")
        self.assertEqual(w.checkpoint and w.checkpoint["attempt"], 2)

    def test_itself(self) -> None:
        code = "import time\nr = muster.this_run()\nwhile r.workload.phase == 'Starting': time.sleep(0.01)  # it may ask before it is known to run\nprint(r.name, r.task, r.task_count, r.workload.phase, r.parameters())\nr.update_metadata({'k': [1]})\nprint(r.metadata)"
        w = self.done(self.go(code, parameters={"lr": 0.1}))
        self.assertEqual("".join(w.logs()), "%s 0 1 Running {'lr': 0.1}\n{'k': [1]}\n" % w.name)
        self.assertEqual(w.metadata, {"k": [1]})

    def test_only_rank_0_is_heard(self) -> None:
        w = self.client.submit({"name": unique(), "kind": "distributed", "workers": 2, "command": python(HEAD + "muster.report(step=int(os.environ['RANK']) + 5)\nmuster.flush()")})
        self.done(w)
        assert w.progress is not None
        self.assertEqual((w.progress["step"], w.progress.get("task", 0)), (5, 0))

    def test_preemption_saves(self) -> None:
        code = (
            "def save(p):\n    assert 3 < p.remaining() <= p.grace == 7, p.grace\n    muster.checkpoint('/saved/%s' % os.environ['MUSTER_ATTEMPT'])\n    print('saved')\n"
            "muster.on_preempt(save)\nprint('from', muster.resume_from())\nif muster.resume_from(): sys.exit(0)\nmuster.report(step=1)\nmuster.flush()\ntime.sleep(600)"
        )
        w = self.go(code, gracePeriod="7s", preemptible=True)
        eventually(lambda: self.client.workload(w.id).progress)
        self.client.preempt(w)
        self.done(w)
        self.assertEqual((w.phase, w.attempt), ("Completed", 1))
        self.assertEqual("".join(w.logs(attempt=0)), "from None\nsaved\n")
        self.assertEqual("".join(w.logs()), "from /saved/0\n")

    def test_a_loop_can_end_itself(self) -> None:
        code = "muster.on_preempt(exit=False)\nmuster.report(step=1); muster.flush()\nwhile not muster.stopping(): time.sleep(0.01)\nprint('my own end')"
        w = self.go(code)
        eventually(lambda: self.client.workload(w.id).progress)
        w.stop()
        self.done(w)
        self.assertEqual((w.phase, "".join(w.logs())), ("Stopped", "my own end\n"))

    def test_forked_workers_report_too(self) -> None:
        code = "muster.report(step=1); muster.flush()\npid = os.fork()\nif pid == 0:\n    muster.report(step=2)\n    os._exit(0 if muster.flush() else 1)\nsys.exit(os.waitpid(pid, 0)[1])"
        w = self.done(self.go(code))
        self.assertEqual((w.phase, w.progress and w.progress["step"]), ("Completed", 2))

    def test_forked_workers_report_at_their_end(self) -> None:
        code = "muster.report(step=1); muster.flush()\npid = os.fork()\nif pid == 0:\n    muster.report(step=2)\n    sys.exit(0)\nos.waitpid(pid, 0)"
        w = self.done(self.go(code))
        self.assertEqual((w.phase, w.progress and w.progress["step"]), ("Completed", 2))

    def test_a_callback_may_report_wherever_the_signal_comes(self) -> None:
        """The signal is handled in the middle of reports, on the same thread."""
        code = (
            "import signal, threading, random\n"
            "saved = []\n"
            "def save(p):\n"
            "    saved.append(1); muster.report(step=7, a=1); muster.checkpoint('/saved'); muster.flush()\n"
            "muster.on_preempt(save, exit=False)\n"
            "import muster.inrun as inrun\n"
            "inrun._PATIENCE = 60\n"
            "inrun.FLUSH_EVERY = 0\n"
            "for n in range(100):\n"
            "    inrun._notice = None\n"
            "    signal.setitimer(signal.ITIMER_REAL, random.random() * 0.001 + 1e-5)\n"
            "    if n == 0: signal.signal(signal.SIGALRM, inrun._on_signal); signal.setitimer(signal.ITIMER_REAL, 1e-4)\n"
            "    while inrun._notice is None: muster.report(step=n, loss=n); muster.flush() if n % 3 == 0 else None\n"
            "print(len(saved))\n"
        )
        w = self.done(self.go(code))
        self.assertEqual((w.phase, "".join(w.logs())), ("Completed", "100\n"))

    def test_the_token_opens_only_itself(self) -> None:
        other = self.client.run("sleep 600", name=unique())
        code = (
            "from muster import Client, ForbiddenError\n"
            "c = Client(os.environ['MUSTER_TASK_URL'], token=open(os.environ['MUSTER_TASK_TOKEN_FILE']).read())\n"
            "for call in (lambda: c.workload(%r), lambda: c.stop(%r), lambda: c.run('true'), c.secrets, c.cluster):\n"
            "    try:\n        call()\n        print('open')\n    except ForbiddenError as e:\n        print('shut', e.status)\n" % (other.id, other.id)
            + "try:\n    Client(os.environ['MUSTER_TASK_URL'], token='').cluster()\nexcept muster.MusterError as e:\n    print(e.code)\n"
        )
        w = self.done(self.go(code))
        self.assertEqual("".join(w.logs()), "shut 403\n" * 5 + "unauthenticated\n")
        other.stop(grace_period="0s")


class TestOutside(unittest.TestCase):
    def alone(self, code: str, **env: str) -> "subprocess.CompletedProcess[str]":
        clean: Dict[str, str] = {k: v for k, v in os.environ.items() if not k.startswith("MUSTER_")}
        return subprocess.run([sys.executable, "-c", HEAD + code], env={**clean, **env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=PATIENCE)

    def test_nothing_is_said_of_what_is_no_workload(self) -> None:
        out = self.alone("muster.report(step=1, loss=2)\nprint(muster.checkpoint('x'), muster.resume_from(), bool(muster.this_run()), muster.stopping())\nr = muster.this_run()\nprint(r.update_metadata({'a': 1}), r.workload, r.metadata, r.parameters(), r.world_size, r)")
        self.assertEqual((out.returncode, out.stdout, out.stderr), (0, "False None False False\nFalse None {} {} 1 <ThisRun outside of a workload>\n", ""))

    def test_a_server_that_cannot_be_reached_is_told_once(self) -> None:
        with tempfile.NamedTemporaryFile("w") as token:
            token.write("muster_task_x.0.y")
            token.flush()
            for url in ("", "http://127.0.0.1:9"):
                out = self.alone(
                    "for i in range(3): muster.report(step=i); muster.flush(); muster.checkpoint('a')\nprint(muster.resume_from())",
                    MUSTER_WORKLOAD_ID="x", MUSTER_TASK_URL=url, MUSTER_TASK_TOKEN_FILE=token.name, MUSTER_RESUME_FROM="/before",
                )
                self.assertEqual((out.returncode, out.stdout), (0, "/before\n"))
                self.assertEqual(out.stderr.count("not heard"), 1, out.stderr)

    def test_reports_go_to_a_file(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "reports")
            out = self.alone("muster.report(step=3, total=9, loss=0.5)\nmuster.flush()\nmuster.checkpoint('/a', step=3)\nmuster.checkpoint('/b')\nprint(muster.resume_from())", MUSTER_REPORT_FILE=path)
            self.assertEqual((out.returncode, out.stdout, out.stderr), (0, "/b\n", ""))
            kept = lines(path)
            self.assertEqual([x["what"] for x in kept], ["report", "checkpoint", "checkpoint"])
            self.assertEqual((kept[0]["step"], kept[0]["metrics"]), (3, {"loss": 0.5}))

    def test_a_failing_callback_keeps_no_other_from_saving(self) -> None:
        code = "def bad(p): raise ValueError('bad')\nmuster.on_preempt(bad)\nmuster.on_preempt(lambda p: print('saved', flush=True))\nprint('up', flush=True)\ntime.sleep(60)"
        p = subprocess.Popen([sys.executable, "-c", HEAD + code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert p.stdout is not None
        self.assertEqual(p.stdout.readline(), "up\n")
        p.send_signal(signal.SIGTERM)
        out, err = p.communicate(timeout=PATIENCE)
        self.assertEqual((p.returncode, out), (143, "saved\n"))
        self.assertIn("ValueError: bad", err)
