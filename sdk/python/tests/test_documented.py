"""The scripts of examples/as-documented/python against a server, as they are."""

import os
import subprocess
import sys
from typing import List

from .support import PATIENCE, ServerCase

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPTS = os.path.join(HERE, "..", "..", "..", "examples", "as-documented", "python")


class TestDocumented(ServerCase):
    def run_script(self, name: str) -> List[str]:
        out = subprocess.run([sys.executable, os.path.join(SCRIPTS, name)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=2 * PATIENCE)
        self.assertEqual(out.returncode, 0, out.stdout + out.stderr)
        return out.stdout.splitlines()

    def test_all_are_here(self) -> None:
        self.assertEqual(sorted(f for f in os.listdir(SCRIPTS) if f.endswith(".py")), ["jobq_hello.py", "lifecycle.py", "native.py", "quick_start.py", "utilization.py"])

    def test_quick_start(self) -> None:
        hello, end = self.run_script("quick_start.py")
        self.assertRegex(hello, r"^Hello hello-world-[a-z0-9]{6}!$")
        self.assertEqual(end, "Completed")

    def test_lifecycle(self) -> None:
        out = self.run_script("lifecycle.py")
        self.assertIn("-> RUNNING", out)
        self.assertIn("STOPPED enough", out)
        self.assertIn("resumption 1", out)
        order = [line for line in out if line[:2] in ("0 ", "1 ")]
        for entry in ("0 RUNNING", "0 TERMINATING", "0 STOPPED", "1 RUNNING", "1 TERMINATING", "1 STOPPED"):
            self.assertIn(entry, order)
        self.assertEqual(sorted(order, key=order.index), order)
        self.assertIn("FAILED 2", out)
        self.assertIn("no such file", out)

    def test_utilization(self) -> None:
        self.assertRegex(self.run_script("utilization.py")[0], r"^local free GPUs: 8(\.0)? active: \d+ queued: \d+$")

    def test_jobq(self) -> None:
        self.assertEqual(self.run_script("jobq_hello.py"), ["Hello, World!", "Succeeded Hello, World!"])

    def test_native(self) -> None:
        fits, done, error, refused = self.run_script("native.py")
        self.assertEqual((fits, done), ("it fits", "Completed 5 {'loss': 0.2}"))
        self.assertTrue(error.startswith("Python exception | SystemError: disk | "), error)
        self.assertTrue(refused.startswith("illegal_phase | possible now: "), refused)
