import os
import tempfile
import unittest

from jobq import ImageOptions, Job, JobOptions, JobOptionsError, ResourceOptions, SchedulingOptions, discover, job

from .support import ServerCase, unique

calls = []


@job(
    options=JobOptions(
        resources=ResourceOptions(memory="64Mi", cpu="500m", gpu=1),
        scheduling=SchedulingOptions(queue_name="default", priority_class="production"),
        labels={"type": "hello-world@dev", "free": "any text, even this"},
    )
)
def hello_world() -> str:
    """Says so."""
    calls.append(os.getpid())
    print("hello from", os.environ.get("MUSTER_WORKLOAD", "here"))
    return "done"


class TestJob(ServerCase):
    def test_here(self) -> None:
        self.assertEqual((hello_world(), hello_world.submit("local")), ("done", "done"))
        self.assertEqual(calls[-2:], [os.getpid()] * 2)
        self.assertEqual((hello_world.name, hello_world.__doc__, isinstance(hello_world, Job)), ("hello_world", "Says so.", True))

    def test_as_a_workload(self) -> None:
        for mode in ("cluster", "kueue", "docker"):
            w = self.done(hello_world.submit(mode))
            self.assertEqual((w.phase, w.priority, w.gpus), ("Completed", 150, 1), "".join(w.logs()))
            self.assertEqual("".join(w.logs()), "hello from %s\n" % w.name)
            self.assertTrue(w.name.startswith("hello-world-"))
            notes = w.spec["annotations"]
            self.assertEqual(notes["x-jobq.io/free"], "any text, even this")
            self.assertIn("submitter", notes["x-jobq.io/submission-context"])
            self.assertEqual((str(w.spec["resources"]["cpu"]), str(w.spec["resources"]["memory"])), ("0.5", "64Mi"))

    def test_extended_resources(self) -> None:
        @job(options=JobOptions(resources=ResourceOptions(extended={"rdma/hca": 2})))
        def adapters() -> None:
            """Has adapters, which this machine has not."""

        with self.assertRaisesRegex(Exception, "each task asks for 2 rdma/hca, and the only node has none"):
            adapters.submit("cluster")

    def test_an_image_needs_no_package_of_ours(self) -> None:
        # The same program where nothing of ours can be imported.
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "entry.py")
            with open(path, "w") as f:
                f.write("from jobq import job, JobOptions, ImageOptions\nfrom other import VALUE\n@job(options=JobOptions(), image=ImageOptions('a'))\ndef go():\n    print('went', VALUE)\nif __name__ == '__main__':\n    raise SystemExit(9)\n")
            with open(os.path.join(folder, "other.py"), "w") as f:
                f.write("VALUE = 7\n")
            from muster._job import RUNNER

            w = self.done(self.client.submit({"name": unique(), "command": ["/usr/bin/env", "-u", "PYTHONPATH", "python3", "-c", RUNNER, path, "go"]}))
            self.assertEqual("".join(w.logs()), "went 7\n")

    def test_a_failure_is_one(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "entry.py")
            with open(path, "w") as f:
                f.write("from jobq import job\n@job()\ndef bad():\n    raise ValueError('no')\n@job()\ndef good(): pass\n")
            jobs = discover(path)
            self.assertEqual([j.name for j in jobs], ["bad", "good"])
            doc = jobs[0].document()
            self.assertEqual(doc["retry"], {"limit": 6})  # not at the first abnormal end, as of a Job of Kubernetes
            doc["retry"] = {"limit": 1, "backoff": "10ms"}
            w = self.done(self.client.submit(doc))
            self.assertEqual((w.phase, w.attempt, (w.first_error() or {}).get("title")), ("Failed", 1, "ValueError: no"))


class TestDocuments(unittest.TestCase):
    def test_images(self) -> None:
        d = Job(hello_world.func, image=ImageOptions(name="reg/team/a", tag="v1")).document()
        self.assertEqual((d["image"], d["command"][0], os.path.basename(d["command"][3]), d["command"][4]), ("reg/team/a:v1", "python3", "test_job.py", "hello_world"))
        self.assertFalse(os.path.isabs(d["command"][3]))  # the image has the files below the project's root
        self.assertNotIn("workdir", d)
        with self.assertRaises(JobOptionsError):
            hello_world.document(local=False)
        with self.assertRaises(JobOptionsError):
            ImageOptions(spec="a", dockerfile="b")

    def test_a_spec_is_built(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            spec = os.path.join(folder, "image.yaml")

            def put(text: str) -> Job[str]:
                with open(spec, "w") as f:
                    f.write(text)
                return Job(hello_world.func, image=ImageOptions(name="reg/a", spec=spec))

            d = put("build:\n  base_image: python:3.12\n  dependencies:\n    apt: [git]\n    pip: [torch==2.5.1]\n  config:\n    env:\n      - A=b=c\n  workdir: /usr/src\n").document()
            self.assertEqual({k: v for k, v in d["build"].items() if k != "code"}, {"base": "python:3.12", "apt": ["git"], "pip": ["torch==2.5.1"], "env": {"A": "b=c"}, "codePath": "/usr/src", "target": "reg/a:latest"})
            self.assertEqual(d["workdir"], "/usr/src")
            for text, path in [
                ("copy: [.:.]", "/usr/src"),
                ("copy: {.: .}, add: {data/set: data/set}", "/usr/src"),
                ("copy: [./:/app]", "/app"),
                ("add: ['.:code']", "/usr/src/code"),
            ]:
                d = put("build: {base_image: a, workdir: /usr/src/, filesystem: {%s}}\n" % text).document()
                self.assertEqual((d["build"]["codePath"].rstrip("/"), d["workdir"].rstrip("/")), (path, path), text)
            for text, words in [
                ("build: {}\n", "base_image"),
                ("build: {base_image: a, user: {name: x}}\n", "user"),
                ("build: {base_image: a, filesystem: {copy: {data: /data}}}\n", "copy of data to /data"),
                ("build: {base_image: a, filesystem: {add: ['https://x.example/a.tgz:/data']}}\n", "filesystem.add"),
                ("build: {base_image: a, filesystem: {move: [a:b]}}\n", "filesystem.move"),
                ("build: {base_image: a, config: {arg: {V: '1'}}}\n", "config.arg"),
                ("build: {base_image: a, config: {stopsignal: SIGINT}}\n", "config.stopsignal"),
                ("build: {base_image: a, config: {shell: bash}}\n", "config.shell"),
                ("build: {base_image: a, dependencies: {conda: [x]}}\n", "dependencies.conda"),
            ]:
                with self.assertRaises(JobOptionsError) as e:
                    put(text).document()
                self.assertIn(words, str(e.exception))
        d = Job(hello_world.func, image=ImageOptions(dockerfile="Dockerfile")).document()
        self.assertEqual(d["build"]["dockerfile"], "Dockerfile")

    def test_modes(self) -> None:
        for mode in ("rayjob", "elsewhere"):
            with self.assertRaises(JobOptionsError) as e:
                hello_world.submit(mode)
            self.assertTrue(e.exception.hint)
