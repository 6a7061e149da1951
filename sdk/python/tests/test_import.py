"""What an import costs is what it imports: the modules are counted, not milliseconds."""

import subprocess
import sys
import unittest
from typing import Set

HEAVY = {"asyncio", "http.client", "ssl", "email", "concurrent.futures", "logging", "subprocess", "urllib.request", "yaml", "requests", "numpy", "pandas", "torch", "multiprocessing", "socket", "unittest"}


def modules(code: str) -> Set[str]:
    out = subprocess.run([sys.executable, "-I", "-c", "import sys; sys.path[:0] = %r; before = set(sys.modules)\n%s\nprint(*sorted(set(sys.modules) - before))" % (sys.path, code)], check=True, stdout=subprocess.PIPE, text=True)
    return set(out.stdout.split())


class TestImport(unittest.TestCase):
    def test_import_alone_loads_nothing_of_ours(self) -> None:
        loaded = modules("import muster, mcli")
        self.assertEqual({m for m in loaded if m.startswith(("muster.", "mcli.", "jobq"))}, {"muster._version"})
        self.assertEqual(loaded & HEAVY, set())

    def test_names_load_only_what_they_need(self) -> None:
        for code in ["from mcli import create_run, RunConfig, get_run, follow_run_logs, RunStatus", "from jobq import job, JobOptions", "from muster import report, checkpoint, resume_from, this_run, on_preempt", "import muster; muster.Client"]:
            with self.subTest(code=code):
                self.assertEqual(modules(code) & HEAVY, set())

    def test_nothing_but_the_standard_library(self) -> None:
        # Everything is imported; what is neither ours nor Python's has no place.
        loaded = modules("import muster\nfor n in muster.__all__: getattr(muster, n)\nimport mcli.sdk, mcli.api.runs, mcli.models, jobq, muster.aio, muster._yaml, muster._card, muster._transport")
        names = getattr(sys, "stdlib_module_names", None)
        if names is None:
            self.assertNotIn("yaml", loaded)  # before Python 3.10 the list of its own modules is not known
            return
        self.assertEqual({m.split(".")[0] for m in loaded} - set(names) - {"muster", "mcli", "jobq"}, set())

    def test_every_name_is_there(self) -> None:
        import muster

        for name in muster.__all__:
            self.assertIsNotNone(getattr(muster, name), name)
        self.assertIn("create_run", dir(muster))
        with self.assertRaises(AttributeError):
            muster.nonsense  # type: ignore[attr-defined]

    def test_published_lines_of_mcli(self) -> None:
        for line in [
            "import mcli; mcli.create_run; mcli.RunConfig; mcli.RunStatus.RUNNING",
            "from mcli import RunConfig, RunStatus, create_run, wait_for_run_status, follow_run_logs, get_run_logs",
            "from mcli.sdk import RunConfig, create_run, get_runs, stop_run, delete_runs, get_clusters",
            "from mcli import sdk; sdk.get_run",
            "from mcli.api.exceptions import MAPIException, MCLIRunConfigValidationError",
            "from mcli.api.runs import create_run, get_runs, Run",
            "from mcli.models.run_config import RunConfig, FinalRunConfig",
            "from mcli.models import Run, RunConfig",
            "from mcli.utils.utils_run_status import RunStatus",
            "from mcli.sdk import *; create_run",
        ]:
            with self.subTest(line=line):
                modules(line)
