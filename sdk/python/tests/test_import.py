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

    def test_the_client_comes_with_the_first_call(self) -> None:
        for code in ["from mcli import create_run, RunConfig", "import jobq", "from jobq import job, JobOptions, ResourceOptions"]:
            with self.subTest(code=code):
                self.assertEqual(modules(code) & {"muster.client", "muster._calls", "muster._work", "json"}, set())

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

    def test_mcli_offers_what_its_sdk_offers(self) -> None:
        import mcli
        import mcli.sdk as sdk

        self.assertEqual(mcli.__all__, sdk.__all__)
        for name in mcli.__all__:
            self.assertIs(getattr(mcli, name), getattr(sdk, name), name)

    def test_what_is_not_offered_says_so(self) -> None:
        for name in ("finetune", "Finetune", "create_default_deployment", "EventType", "FeatureFlag"):
            with self.assertRaises(ImportError) as caught:
                exec("from mcli import " + name, {})
            self.assertIn("is not offered by Muster", str(caught.exception))

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
            "import mcli; mcli.sdk.create_run, mcli.config.MCLIConfig.load_config().api_key",
            "from mcli import config, sdk; config.initialize",
            "from mcli.config import MCLIConfig",
            "from mcli.api.exceptions import MCLIException, MCLIDeploymentConfigValidationError, RunStatusNotReached",
            "from mcli.api.model.run import Run, RunLifecycle, Resumption, Node, RunStatus, RunType",
            "from mcli.api.model.cluster_details import ClusterDetails, Instance, ClusterUtilization",
            "from mcli.api.model.inference_deployment import InferenceDeployment",
            "from mcli.models.run import Run",
            "from mcli.models.common import ObjectList",
            "from mcli.models.mcli_secret import Secret, EnvVarSecret",
            "from mcli.models.inference_deployment_config import InferenceDeploymentConfig, FinalInferenceDeploymentConfig",
            "from mcli.api.runs.api_create_run import create_run",
            "from mcli.api.runs.api_create_interactive_run import create_interactive_run",
            "from mcli.api.runs.api_delete_runs import delete_run, delete_runs",
            "from mcli.api.runs.api_get_run_logs import get_run_logs, follow_run_logs",
            "from mcli.api.runs.api_get_runs import get_run, get_runs",
            "from mcli.api.runs.api_start_run import start_run, start_runs",
            "from mcli.api.runs.api_stop_runs import stop_run, stop_runs",
            "from mcli.api.runs.api_update_run import update_run",
            "from mcli.api.runs.api_update_run_metadata import update_run_metadata",
            "from mcli.api.runs.api_watch_run import wait_for_run_status, watch_run_status",
            "from mcli.api.secrets.api_create_secret import create_secret",
            "from mcli.api.secrets.api_get_secrets import get_secrets",
            "from mcli.api.secrets.api_delete_secrets import delete_secrets",
            "from mcli.api.secrets import create_secret, get_secrets, delete_secrets",
            "from mcli.api.cluster import get_cluster, get_clusters",
            "from mcli.api.cluster.api_get_clusters import get_clusters",
            "from mcli.api.users.api_get_users import get_users",
            "from mcli.api.inference_deployments import ping, predict, get_inference_deployments",
            "from mcli.api.inference_deployments.api_create_inference_deployment import create_inference_deployment",
            "from mcli.api.inference_deployments.api_get_inference_deployment_logs import get_inference_deployment_logs",
            "from mcli.api.inference_deployments.api_ping import ping",
            "from mcli.api.inference_deployments.api_predict_inference_deployment import predict",
            "from mcli.api.finetuning_runs.api_create_finetuning_run import create_finetuning_run",
            "from mcli import *; create_run, RunConfig, RunStatus.RUNNING",
            "from mcli import ComputeConfig, SchedulingConfig, RunConfig; RunConfig(name='a', compute=ComputeConfig(gpus=8), scheduling=SchedulingConfig(max_duration=1.5))",
            "from mcli import MCLIConfig; MCLIConfig.load_config().api_key",
            "from mcli.utils.utils_config import ComputeConfig",
            "from mcli.objects.secrets import MCLIEnvVarSecret, EnvVarSecret",
            "from mcli.models.mcli_secret import MCLIEnvVarSecret",
            "from mcli.api.model.run_event import FormattedRunEvent",
            "import jobq.job; from jobq import job; assert callable(job)",
            "from jobq.job import Job, job, JobOptions",
        ]:
            with self.subTest(line=line):
                # In a process of its own where what was imported before would help.
                modules(line) if line.startswith("import mcli;") or "*" in line else exec(line, {})
