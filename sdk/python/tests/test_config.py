import json
import os
import subprocess
import tempfile
import unittest
import warnings
from typing import Any, Dict

from muster import MCLIRunConfigValidationError, RunConfig, RunStatus, RunType, _discover
from muster.runconfig import Machines, clean_name, document, matches

MACHINES = Machines({"nodes": [{"name": "n%d" % i, "backend": "east", "devices": [{"product": "NVIDIA A100-SXM4-80GB"}] * 8} for i in range(3)]})


def native(**fields: Any) -> Dict[str, Any]:
    fields.setdefault("command", "true")
    return document(RunConfig(**fields), MACHINES)


class TestRunStatus(unittest.TestCase):
    def test_order(self) -> None:
        names = "FAILED STOPPED COMPLETED TERMINATING RUNNING STARTING QUEUED PENDING UNKNOWN".split()
        self.assertEqual([s.value for s in RunStatus.order()], names)
        for i, a in enumerate(RunStatus):
            for j, b in enumerate(RunStatus):
                self.assertEqual(a.after(b), i < j)
                self.assertEqual(a.before(b), i > j)
                self.assertEqual(a.after(b, inclusive=True), i <= j)
                self.assertEqual(a.before(b, inclusive=True), i >= j)
        self.assertEqual([s.value for s in RunStatus if s.is_terminal()], ["FAILED", "STOPPED", "COMPLETED"])

    def test_any_text_is_a_status(self) -> None:
        for text, want in [("running", "RUNNING"), ("Running", "RUNNING"), ("failed_pull", "FAILED"), ("FailedPull", "FAILED"), ("nonsense", "UNKNOWN"), (None, "UNKNOWN"), (7, "UNKNOWN"), ("", "UNKNOWN")]:
            self.assertIs(RunStatus.from_string(text), RunStatus[want], text)
        self.assertEqual(RunStatus.TERMINATING.display_name, "Terminating")
        self.assertEqual(str(RunStatus.FAILED), "FAILED")
        self.assertIs(RunType.from_string("interactive"), RunType.INTERACTIVE)


class TestRunConfig(unittest.TestCase):
    def test_gpus_are_a_total(self) -> None:
        one = native(compute={"gpus": 4})
        self.assertEqual((one["kind"], one["workers"], one["resources"]["gpu"]["count"]), ("distributed", 1, 4))
        many = native(compute={"gpus": 24, "gpu_type": "a100_80gb"})
        self.assertEqual((many["kind"], many["workers"]), ("distributed", 3))
        self.assertEqual(many["resources"]["gpu"], {"count": 8, "type": "NVIDIA A100-SXM4-80GB"})
        self.assertEqual(many["env"]["WORLD_SIZE"], "24")
        nodes = native(compute={"nodes": 2, "gpu_type": "a100"})
        self.assertEqual((nodes["workers"], nodes["resources"]["gpu"]), (2, {"count": 8, "type": "a100"}))
        self.assertNotIn("gpu", native(compute={"gpus": 0, "cpus": 4})["resources"])
        self.assertEqual(native(compute={"gpu_type": "none", "nodes": 2, "cpus": 8})["resources"], {"cpu": 4})
        self.assertEqual(native(compute={"instance": "4xH100", "nodes": 2})["resources"]["gpu"], {"count": 4, "type": "H100"})

    def test_impossible_computes_are_refused(self) -> None:
        for compute, words in [
            ({"gpus": 12}, "cannot be divided"),
            ({"gpus": 3, "nodes": 2}, "cannot be divided"),
            ({"gpus": "many"}, "whole number"),
            ({"gpus": 1.5}, "whole number"),
            ({"gpus": True}, "whole number"),
            ({"gpus": -1}, "whole number"),
            ({"nodes": 0}, "at least one"),
            ({"gpu_type": "none", "gpus": 8}, "contradicts"),
        ]:
            with self.subTest(compute=compute), self.assertRaises(MCLIRunConfigValidationError) as c:
                native(compute=compute)
            self.assertIn(words, str(c.exception))

    def test_where_it_runs(self) -> None:
        d = native(compute={"gpus": 8, "cluster": "east", "node_names": ["a", "b"], "instance": "dgx"})
        self.assertEqual(d["clusters"], ["east"])
        self.assertEqual(d["nodeAffinity"], [{"key": "kubernetes.io/hostname", "op": "In", "values": ["a", "b"]}])
        self.assertEqual(d["nodeType"], "dgx")

    def test_scheduling(self) -> None:
        plain = native()
        self.assertIs(plain["preemptible"], False)
        self.assertEqual(plain["retry"], {"limit": 0, "system": 0})
        self.assertNotIn("priority", plain)
        d = native(scheduling={"priority": "lowest", "preemptible": True, "max_retries": 3, "retry_on_system_failure": True, "max_duration": 1.5})
        self.assertEqual((d["priority"], d["preemptible"], d["retry"]["limit"], d["maxDuration"]), ("very-low", True, 3, "5400s"))
        self.assertGreater(d["retry"]["system"], 3)
        for bad in ({"max_duration": "long"}, {"max_duration": 0}, {"max_duration": -1}, {"max_duration": float("nan")}, {"preemptible": "yes"}, {"max_retries": "x"}):
            with self.subTest(bad=bad), self.assertRaises(MCLIRunConfigValidationError):
                native(scheduling=bad)

    def test_integrations_and_trackers(self) -> None:
        d = native(
            integrations=[
                {"integration_type": "git_repo", "git_repo": "org/repo", "git_branch": "main", "pip_install": "-e .", "ssh_clone": False},
                {"integration_type": "pip_packages", "packages": ["a"], "upgrade": True},
                {"type": "apt_packages", "params": {"packages": ["b"]}},
                {"integration_type": "wandb", "project": "p", "entity": "e", "job_type": "j", "tags": ["t"]},
                {"integration_type": "comet_ml", "project": "p", "workspace": "w"},
                {"integration_type": "mlflow", "experiment_name": "x"},
            ],
            experiment_tracker={"mlflow": {"experiment_path": "/e", "tracking_uri": "u"}, "wandb": {"project": "p", "entity": "e"}},
        )
        self.assertEqual(
            d["integrations"],
            [
                {"git": {"repo": "org/repo", "branch": "main", "pip": "-e .", "ssh": False}},
                {"pip": {"packages": ["a"], "upgrade": True}},
                {"apt": {"packages": ["b"]}},
                {"wandb": {"project": "p", "entity": "e", "jobType": "j", "tags": ["t"]}},
                {"comet": {"project": "p", "workspace": "w"}},
                {"mlflow": {"experiment": "x"}},
                {"mlflow": {"experiment": "/e", "trackingURI": "u"}},
                {"wandb": {"project": "p", "entity": "e"}},
            ],
        )
        with self.assertRaises(MCLIRunConfigValidationError):
            native(integrations=[{"integration_type": "ftp"}])

    def test_both_forms_of_variables(self) -> None:
        for env in ({"A": 1, "B": True}, [{"key": "A", "value": 1}, {"key": "B", "value": True}], [{"envKey": "A", "envValue": "1"}, {"envKey": "B", "envValue": "true"}]):
            d = native(env_variables=env)
            self.assertEqual((d["env"]["A"], d["env"]["B"]), ("1", "true"))
        self.assertEqual(native(env_variables={"WORLD_SIZE": "9"})["env"]["WORLD_SIZE"], "9")
        with self.assertRaises(MCLIRunConfigValidationError):
            native(env_variables=["A"])

    def test_old_fields_move_with_a_warning(self) -> None:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            c = RunConfig(run_name="old", gpu_type="a100", gpu_num=8, platform="r1z1", cpus=2, entrypoint=" train ", partitions=["p"], optimization_level=1)
        self.assertEqual((c.name, c.command), ("old", "train"))
        self.assertEqual(c.compute, {"gpu_type": "a100", "gpus": 8, "cluster": "r1z1", "cpus": 2})
        self.assertEqual({w.category for w in seen}, {DeprecationWarning})
        self.assertEqual(len(seen), 8)
        self.assertEqual(sorted(c.to_dict()), ["command", "compute", "name"])

    def test_unknown_fields_warn_and_are_ignored(self) -> None:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            c = RunConfig.from_dict({"name": "a", "comand": "x", "envVariables": {"A": "b"}, "compute": {"gpuType": "h100"}})
        self.assertEqual([str(w.message) for w in seen], ["the field 'comand' of a run configuration is not known, and ignored"])
        self.assertEqual((c.env_variables, c.compute), ({"A": "b"}, {"gpu_type": "h100"}))

    def test_wrong_sorts_are_refused(self) -> None:
        for d in [{"compute": 8}, {"name": 3}, {"integrations": {}}, {"command": ["a"]}, ["a"], "a"]:
            with self.subTest(d=d), self.assertRaises(MCLIRunConfigValidationError):
                RunConfig.from_dict(d)  # type: ignore[arg-type]

    def test_files(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.yaml")

            def put(text: bytes) -> str:
                with open(path, "wb") as f:
                    f.write(text)
                return path

            c = RunConfig.from_file(put(b"name: llm\nimage: org/image:tag\ncommand: |\n  a\n  b\ncompute: {gpus: 16, gpu_type: a100_80gb}\nparameters:\n  lr: 0.1\n"))
            self.assertEqual((c.name, c.image, c.command, c.compute["gpus"], c.parameters), ("llm", "org/image:tag", "a\nb", 16, {"lr": 0.1}))
            self.assertEqual(RunConfig.from_file(put(c.to_yaml().encode())), c)
            self.assertEqual(RunConfig.from_file(put(json.dumps(c.to_dict()).encode())), c)
            for text, words in [(b"a: 1\na: 2\n", "line 2"), (b"name: \xff\n", "UTF-8"), (b"- a\n", "mapping")]:
                with self.subTest(text=text), self.assertRaises(MCLIRunConfigValidationError) as e:
                    RunConfig.from_file(put(text))
                self.assertIn(words, str(e.exception))

    def test_names(self) -> None:
        self.assertEqual(native(name="good-name")["namePrefix"], "good-name")
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            self.assertEqual(clean_name("My_Run.v2"), "my-run-v2")
            self.assertEqual(len(clean_name("x" * 90)), 45)
        self.assertEqual(len(seen), 2)
        with self.assertRaises(MCLIRunConfigValidationError):
            clean_name("___")

    def test_what_is_kept_and_refused(self) -> None:
        d = native(name="a", parent_name="p")
        self.assertEqual(json.loads(d["annotations"]["mcli.muster.dev/config"]), {"name": "a", "parent_name": "p", "command": "true"})
        self.assertEqual(d["annotations"]["mcli.muster.dev/parent"], "p")
        with self.assertRaises(MCLIRunConfigValidationError) as c:
            native(dependent_deployment={"image": "x"})
        self.assertIn("inference", c.exception.hint)
        with self.assertRaises(MCLIRunConfigValidationError):
            document(RunConfig(name="empty"))

    def test_the_command_line_reads_files_alike(self) -> None:
        text = "name: both\nimage: org/image:tag\ncommand: |\n  echo a\n  echo b\ncompute: {gpus: 2}\nenv_variables: {A: b}\nscheduling: {priority: low, max_retries: 2}\n"
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.yaml")
            for extra in ("", "compute: {gpus: 16, nodes: 2}\n"):
                with self.subTest(extra=extra):
                    with open(path, "w", encoding="utf-8") as f:
                        f.write(text.replace("compute: {gpus: 2}\n", extra) if extra else text)
                    theirs = json.loads(subprocess.run([os.environ["MUSTER_BIN"], "import", path, "-o", "json"], check=True, capture_output=True).stdout)
                    ours = document(RunConfig.from_file(path), MACHINES)
                    del ours["annotations"]
                    ours["resources"]["gpu"] = ours["resources"]["gpu"]["count"]  # as the command line writes it
                    self.assertEqual({k: v for k, v in theirs.items() if v is not None}, ours)

    def test_gpu_types(self) -> None:
        self.assertTrue(matches("a100_80gb", "NVIDIA A100-SXM4-80GB"))
        self.assertFalse(matches("a100_40gb", "NVIDIA A100-SXM4-80GB"))
        self.assertTrue(matches(None, "anything"))


class TestCopiedDirectory(unittest.TestCase):
    def test_the_copy_of_a_data_directory_is_not_its_original(self) -> None:
        with tempfile.TemporaryDirectory() as base:
            own, other, short = (os.path.join(base, name) for name in ("own", "other", "short"))
            for d in (own, other, short):
                os.mkdir(d)

            def said(directory: str, text: str) -> None:
                with open(os.path.join(directory, "muster.addr"), "w", encoding="utf-8") as f:
                    f.write(text + "\n")

            def socket(directory: str) -> str:
                return "unix://" + os.path.join(directory, "muster.sock")

            said(other, socket(other))
            for there, want in ((own, own), (other, own), (short, short)):
                said(own, socket(there))
                self.assertEqual(_discover.address(own), socket(want))
