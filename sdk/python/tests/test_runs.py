import os
import tempfile
import unittest
import unittest.mock
import warnings
from concurrent.futures import Future
from typing import Any

import mcli
from mcli import MAPIException, Run, RunConfig, RunStatus
from mcli.sdk import (
    EnvVarSecret,
    HuggingFaceSecret,
    MCLIRunConfigValidationError,
    RunStatusNotReached,
    create_interactive_run,
    create_run,
    create_secret,
    delete_run,
    delete_runs,
    delete_secrets,
    follow_run_logs,
    get_cluster,
    get_clusters,
    get_run,
    get_run_logs,
    get_runs,
    get_secrets,
    get_users,
    start_run,
    start_runs,
    stop_run,
    stop_runs,
    update_run,
    update_run_metadata,
    wait_for_run_status,
    watch_run_status,
)

from muster.errors import NoLogsError

from .support import PATIENCE, ServerCase, eventually, unique


class TestRuns(ServerCase):
    def run_of(self, command: str, **fields: Any) -> Run:
        fields.setdefault("name", unique("run"))
        return create_run(RunConfig(command=command, **fields))

    def test_a_run_completes(self) -> None:
        name = unique("hello")
        run = create_run(RunConfig(name=name, command='[[ -n "$RUN_NAME" ]] && echo "hello from $RUN_NAME"', metadata={"team": "nlp"}))
        self.assertRegex(run.name, "^%s-[a-z0-9]{6}$" % name)
        run = wait_for_run_status(run, RunStatus.COMPLETED, timeout=PATIENCE)
        self.assertIs(run.status, RunStatus.COMPLETED)
        self.assertEqual("".join(get_run_logs(run)), "hello from %s\n" % run.name)
        self.assertEqual(run.metadata, {"team": "nlp"})
        self.assertEqual([e.status.value for e in run.lifecycle][-3:], ["RUNNING", "TERMINATING", "COMPLETED"])
        self.assertEqual([e.event_message for e in run.events], ["Run created", "Run started", "Run completed successfully"])
        self.assertEqual((run.resumption_count, run.latest_resumption.index, run.latest_resumption.status), (1, 0, RunStatus.COMPLETED))
        self.assertTrue(run.created_at <= run.started_at <= run.completed_at)  # type: ignore[operator]
        assert run.submitted_config is not None
        self.assertEqual(run.submitted_config.name, name)
        self.assertEqual((run.nodes[0].rank, run.nodes[0].status, run.cpus), (0, "COMPLETED", 1))
        self.assertGreaterEqual(run.cumulative_running_time, 0)
        self.assertFalse(run.is_deleted or run.preemptible or run.retry_on_system_failure)

    def test_a_failure_is_read_where_it_happened(self) -> None:
        run = self.run_of('if [ "$NODE_RANK" = 1 ]; then echo "rank one is bad"; exit 7; fi; sleep 600', compute={"nodes": 2, "gpus": 2})
        run = wait_for_run_status(run, "completed", timeout=PATIENCE)
        self.assertEqual((run.status, run.reason), (RunStatus.FAILED, "7"))
        self.assertEqual((run.node_count, run.gpus), (2, 2))
        self.assertIn("rank one is bad", "".join(get_run_logs(run)))
        self.assertIn("rank one is bad", "".join(get_run_logs(run, failed=True)))
        self.assertNotIn("rank one is bad", "".join(get_run_logs(run, 0)))
        self.assertIn("rank one is bad", "".join(get_run_logs(run, global_gpu_rank=1)))
        self.assertIn("exit code 7", run.events[-1].event_message)
        self.assertGreater(run.get_gpu_hours(), 0)
        with self.assertRaises(MAPIException):
            list(get_run_logs(run, 0, node_rank=1))

    def test_the_first_exception(self) -> None:
        run = wait_for_run_status(self.run_of("echo fine; python3 -c 'raise KeyError(1)'"), RunStatus.COMPLETED, PATIENCE)
        text = "".join(get_run_logs(run, first_exception=True))
        self.assertTrue(text.startswith("Traceback") and text.endswith("KeyError: 1\n"), text)

    def test_what_each_node_is_told(self) -> None:
        run = self.run_of("echo $NODE_RANK/$NUM_NODES $WORLD_SIZE $LOCAL_WORLD_SIZE $RESUMPTION_INDEX; cat $PARAMETERS", compute={"nodes": 2, "gpus": 4}, parameters={"lr": 0.5})
        wait_for_run_status(run, RunStatus.COMPLETED, timeout=PATIENCE)
        for rank in (0, 1):
            self.assertEqual("".join(get_run_logs(run, node_rank=rank)), "%d/2 4 2 0\nlr: 0.5\n" % rank)

    def test_waiting_returns_at_later_statuses(self) -> None:
        run = wait_for_run_status(self.run_of("exit 1"), RunStatus.RUNNING, timeout=PATIENCE)
        self.assertTrue(run.status.after(RunStatus.RUNNING, inclusive=True))
        done = wait_for_run_status(self.run_of("true"), RunStatus.COMPLETED, timeout=PATIENCE)
        with self.assertRaises(RunStatusNotReached):
            wait_for_run_status(done, RunStatus.FAILED, timeout=PATIENCE)
        with self.assertRaises(TimeoutError):
            wait_for_run_status(self.run_of("sleep 600"), RunStatus.COMPLETED, timeout=0.5)
        with self.assertRaises(MAPIException):
            wait_for_run_status(done, "nonsense")

    def test_watching_tells_each_status_once(self) -> None:
        run = self.run_of("sleep 0.3")
        seen = [r.status for r in watch_run_status(run, timeout=PATIENCE)]
        self.assertIs(seen[-1], RunStatus.COMPLETED)
        self.assertEqual(len(set(seen)), len(seen))
        for a, b in zip(seen, seen[1:]):
            self.assertTrue(b.after(a))

    def test_a_preempted_run_goes_on(self) -> None:
        run = self.run_of("sleep 600", scheduling={"preemptible": True}, compute={"gpus": 1})
        wait_for_run_status(run, RunStatus.RUNNING, timeout=PATIENCE)
        self.client.preempt(run.workload)
        run = eventually(lambda: (lambda r: r if r.workload.attempt == 1 and r.status is RunStatus.RUNNING else None)(get_run(run)))
        self.assertEqual([r.index for r in run.resumptions], [0, 1])
        self.assertEqual((run.resumptions[0].status, run.resumptions[0].reason), (RunStatus.STOPPED, "Preempted"))
        self.assertIn((0, RunStatus.STOPPED), [(e.resumption_index, e.status) for e in run.lifecycle])
        self.assertEqual([e.event_message for e in run.events if e.resumption_index == 0][-1], "Run was preempted")
        self.assertEqual([e.event_message for e in run.events].count("Run placed back in the scheduling queue"), 1)
        self.assertIn("Run placed back in the scheduling queue", [e.event_message for e in run.events])
        self.assertIn("Run resumed", [e.event_message for e in run.events])
        stop_run(run)

    def test_stop_start_delete(self) -> None:
        run = self.run_of("sleep 600")
        wait_for_run_status(run, RunStatus.RUNNING, timeout=PATIENCE)
        stop_run(run, reason="over budget")
        run = wait_for_run_status(run, RunStatus.STOPPED, timeout=PATIENCE)
        self.assertEqual((run.status, run.reason), (RunStatus.STOPPED, "over budget"))
        self.assertIs(stop_run(run.name).status, RunStatus.STOPPED)
        start_run(run)
        run = wait_for_run_status(run, RunStatus.RUNNING, timeout=PATIENCE)
        self.assertEqual((run.resumption_count, run.resumptions[0].status), (2, RunStatus.STOPPED))
        delete_run(run)
        eventually(lambda: run.name not in [r.name for r in get_runs(all_users=True, limit=None)])
        self.assertTrue(any(r.name == run.name and r.is_deleted for r in get_runs(include_deleted=True, limit=None)))

    def test_many_by_name_run_and_glob(self) -> None:
        prefix = unique("many")
        runs = [create_run(RunConfig(name="%s-%d" % (prefix, i), command="sleep 600")) for i in range(4)]
        stopped = stop_runs(["%s-0*" % prefix, runs[1], runs[2].name])
        self.assertEqual(len(stopped), 3)
        for r in runs[:3]:
            wait_for_run_status(r, RunStatus.STOPPED, timeout=PATIENCE)
        self.assertEqual(len(start_runs([runs[0]])), 1)
        self.assertEqual(len(delete_runs("%s-*" % prefix)), 4)

    def test_lists(self) -> None:
        prefix = unique("list")
        made = [create_run(RunConfig(name=prefix, command="true", compute={"gpus": i % 2})) for i in range(5)]
        for r in made:
            wait_for_run_status(r, RunStatus.COMPLETED, timeout=PATIENCE)
        page = get_runs(["%s-*" % prefix], limit=2)
        self.assertEqual((len(page), page.has_next_page), (2, True))
        second = page.next_page()
        third = second.next_page()
        self.assertEqual((len(second), len(third), third.has_next_page, len(third.next_page())), (2, 1, False, 0))
        self.assertEqual([r.name for p in (page, second, third) for r in p], [r.name for r in reversed(made)])
        self.assertEqual(len(get_runs("%s-*" % prefix, gpu_nums=[1], statuses=["completed"], limit=None)), 2)
        self.assertEqual(len(get_runs("%s-*" % prefix, statuses=[RunStatus.RUNNING])), 0)
        with self.assertRaises(MAPIException):
            get_runs(statuses=["bogus"])
        self.assertEqual(len(get_runs([made[0]])), 1)
        one = get_run(made[1])
        self.assertEqual((one.cluster, one.latest_resumption.cluster), ("local", "local"))
        product = one.gpu_type
        self.assertEqual((one.instance, made[0].gpu_type), ("8x" + product, "none"))
        self.assertEqual(get_cluster("local").cluster_instances[0].name, one.instance)
        for types, n in (([product], 2), ([product.upper()], 2), (["none"], 3), (["none", product], 5), (["h900"], 0)):
            self.assertEqual(len(get_runs("%s-*" % prefix, gpu_types=types)), n, types)
        self.assertEqual(len(get_runs("%s-*" % prefix, cluster_names=["local"])), 5)
        self.assertEqual(len(get_runs("%s-*" % prefix, cluster_names=["west"])), 0)
        self.assertEqual(len(get_runs("%s-*" % prefix, user_emails=["nobody"])), 0)
        self.assertEqual(len(get_runs("%s-*" % prefix, user_emails=[made[0].created_by], after=made[2].created_at)), 3)
        self.assertEqual(len(get_runs("%s-*" % prefix, before=made[2].created_at)), 2)
        self.assertEqual(str(page).split("\n")[0].split()[:4], ["NAME", "USER", "CLUSTER", "GPUS"])
        self.assertIn("<table>", page._repr_html_())
        self.assertEqual(len(str(page).split("\n")), 3)

    def test_futures(self) -> None:
        f = create_run(RunConfig(name=unique("later"), command="sleep 0.2"), future=True)
        self.assertIsInstance(f, Future)
        run = f.result(PATIENCE)
        done = wait_for_run_status(run, RunStatus.COMPLETED, future=True)
        self.assertIs(done.result(PATIENCE).status, RunStatus.COMPLETED)
        self.assertEqual([r.name for r in get_runs([run], future=True).result(PATIENCE)], [run.name])
        self.assertEqual("".join(get_run_logs(run, future=True).result(PATIENCE)), "")
        again = self.run_of("echo one; sleep 0.2; echo two")
        changes = watch_run_status(again, timeout=1e-9, future=True)  # which a future has no use for
        written = follow_run_logs(again, timeout=1e-9, future=True)
        self.assertTrue(isinstance(changes, Future) and isinstance(written, Future))
        self.assertEqual("".join(written.result(PATIENCE)), "one\ntwo\n")
        self.assertIs([r.status for r in changes.result(PATIENCE)][-1], RunStatus.COMPLETED)
        for none in (follow_run_logs("no-such-run", future=True), watch_run_status("no-such-run", future=True)):
            with self.assertRaises(MAPIException):
                none.result(PATIENCE)
        with self.assertRaises(MAPIException):
            get_run("no-such-run", future=True).result(PATIENCE)

    def test_following(self) -> None:
        run = self.run_of("for i in 1 2 3; do echo $i; sleep 0.1; done")
        self.assertEqual("".join(follow_run_logs(run)), "1\n2\n3\n")
        self.assertEqual("".join(follow_run_logs(run, tail=1)), "3\n")

    def test_following_what_begins_and_ends_between_two_looks(self) -> None:
        run = self.run_of("echo short")
        eventually(lambda: get_run(run).workload.ended)
        transport, asked = self.client._transport, []
        stream = transport.stream

        def late(*args: Any, **options: Any) -> Any:
            asked.append(args)
            if len(asked) == 1:
                raise NoLogsError(404, "the task never started")
            return stream(*args, **options)

        with unittest.mock.patch.object(transport, "stream", late):
            self.assertEqual("".join(self.client.logs(run.workload, follow=True)), "short\n")

    def test_logs_of_an_earlier_resumption(self) -> None:
        run = self.run_of("echo try $RESUMPTION_INDEX; exit $((1-RESUMPTION_INDEX))", scheduling={"max_retries": 1})
        self.assertEqual(run.max_retries, 1)
        run = eventually(lambda: (lambda r: r if r.workload.ended else None)(get_run(run)))
        self.assertIs(run.status, RunStatus.COMPLETED)
        self.assertEqual("".join(get_run_logs(run)), "try 1\n")
        self.assertEqual("".join(get_run_logs(run, resumption=0)), "try 0\n")
        self.assertEqual([r.reason for r in run.resumptions], ["1", None])

    def test_updates(self) -> None:
        run = self.run_of("sleep 600", scheduling={"max_duration": 5})
        self.assertEqual(run.max_duration, 5)
        run = update_run(run, preemptible=True, priority="low", max_retries=4, retry_on_system_failure=True, max_duration=2.5)
        self.assertEqual((run.preemptible, run.priority, run.max_retries, run.retry_on_system_failure, run.max_duration), (True, "low", 4, True, 2.5))
        self.assertIn("🐕", run.display_name)
        run.update(priority="high")
        self.assertEqual(get_run(run.name).priority, "high")
        update_run_metadata(run, {"a": 1, "b": 2})
        self.assertEqual(update_run_metadata(run, {"b": 3}).metadata, {"a": 1, "b": 3})
        with self.assertRaises(MAPIException):
            update_run(run)
        wait_for_run_status(run, RunStatus.RUNNING, timeout=PATIENCE)
        self.assertIsNotNone(get_run(run).estimated_end_time)
        run.stop(reason="done")
        run = wait_for_run_status(run, RunStatus.STOPPED, timeout=PATIENCE)
        with self.assertRaises(MAPIException) as e:
            update_run(run, priority="low")
        self.assertEqual((e.exception.status, e.exception.code), (409, "illegal_phase"))

    def test_clones(self) -> None:
        run = self.run_of("echo $A", env_variables={"A": "b"}, scheduling={"priority": "low"})
        copy = run.clone(name="copy", gpus=1, priority="high")
        self.assertTrue(copy.name.startswith("copy-"))
        self.assertEqual((copy.gpus, copy.priority), (1, "high"))
        wait_for_run_status(copy, RunStatus.COMPLETED, timeout=PATIENCE)
        self.assertEqual("".join(copy.logs()), "b\n")

    def test_clones_of_what_was_submitted_otherwise(self) -> None:
        document = {
            "kind": "distributed",
            "namePrefix": "native",
            "workers": 2,
            "command": ["/bin/bash", "-c", "echo $A $WORLD_SIZE"],
            "env": {"A": "b", "WORLD_SIZE": "2"},
            "resources": {"gpu": {"count": 1}, "cpu": "500m", "memory": "64Mi"},
            "clusters": ["local"],
            "priority": "low",
            "preemptible": True,
            "retry": {"limit": 2, "system": 0},
            "maxDuration": "90m",
            "integrations": [{"wandb": {"project": "p", "entity": "e", "jobType": "j"}}],
            "parameters": {"lr": 0.5},
            "annotations": {"team": "nlp", "parent-name": "first-ab12cd"},
            "labels": {"found": "by"},
        }
        run = get_run(self.client.submit(document).id)
        config = run.submitted_config
        assert config is not None
        self.assertEqual((config.name, config.command, config.image, config.parameters), ("native", "echo $A $WORLD_SIZE", None, {"lr": 0.5}))
        self.assertEqual(config.compute, {"cluster": "local", "nodes": 2, "gpus": 2, "cpus": 1})
        self.assertEqual(config.scheduling, {"priority": "low", "preemptible": True, "max_retries": 2, "max_duration": 1.5})
        self.assertEqual((config.env_variables, config.metadata["team"], run.metadata["team"]), ({"A": "b"}, "nlp", "nlp"))
        self.assertEqual(config.integrations, [{"integration_type": "wandb", "project": "p", "entity": "e", "job_type": "j"}])
        self.assertEqual(run.parent_name, "first-ab12cd")
        copy = run.clone(name="wider", gpus=4, priority="high", max_duration=1)
        self.assertRegex(copy.name, "^wider-[a-z0-9]{6}$")
        self.assertEqual((copy.gpus, copy.node_count, copy.priority, copy.preemptible, copy.max_duration, copy.max_retries), (4, 2, "high", True, 1, 2))
        spec = copy.workload.spec
        self.assertEqual((spec["labels"], str(spec["resources"]["memory"]), spec["env"]["WORLD_SIZE"]), ({"found": "by"}, "64Mi", "4"))
        self.assertEqual("".join(follow_run_logs(copy)), "b 4\n")
        single = run.clone(nodes=1, gpus=0)
        self.assertEqual((single.gpus, single.node_count, single.name[:7]), (0, 1, "native-"))
        plain = Run(self.client.run("echo 'as it is'", name=unique("plain")))
        assert plain.submitted_config is not None
        self.assertEqual((plain.submitted_config.command, plain.submitted_config.name, plain.submitted_config.environment), ("echo 'as it is'", plain.name, {}))
        self.assertEqual("".join(follow_run_logs(plain.clone())), "as it is\n")

    def test_files(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.yaml")
            with open(path, "w") as f:
                f.write("name: from-file\ncommand: |\n  echo one\n  echo two\nscheduling: {max_duration: 1}\n")
            run = create_run(RunConfig.from_file(path))
        self.assertEqual("".join(follow_run_logs(run)), "one\ntwo\n")

    def test_interactive(self) -> None:
        with self.assertRaises(MCLIRunConfigValidationError):
            create_interactive_run(RunConfig(name="i"))
        run = create_interactive_run(RunConfig(scheduling={"max_duration": 1}))
        self.assertEqual((run.run_type.value, run.name[:12]), ("INTERACTIVE", "interactive-"))
        self.assertIn(run.name, [r.name for r in get_runs(run_types=["interactive"])])
        run.delete()

    def test_refusals(self) -> None:
        with self.assertRaises(MCLIRunConfigValidationError):
            create_run(RunConfig(name="x", command="true", compute={"gpus": 9}))
        with self.assertRaises(MAPIException) as e:
            create_run(RunConfig(name="x", command="true", compute={"cluster": "r9z9"}))
        self.assertEqual(e.exception.code, "invalid")
        with self.assertRaises(MAPIException) as e:
            get_run("no-such-run")
        self.assertEqual(e.exception.status, 404)
        with self.assertRaises(MCLIRunConfigValidationError):
            create_run({"name": "x"})  # type: ignore[call-overload]
        with self.assertRaises(MAPIException):
            list(get_run_logs(self.run_of("true"), local_gpu_rank=0))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with self.assertRaises(DeprecationWarning):
                RunConfig(name="a", command="b", gpu_num=1)

    def test_clusters(self) -> None:
        (cluster,) = get_clusters(include_utilization=True)
        self.assertEqual((cluster.name, cluster.provider), ("local", "local"))
        (use,) = cluster.utilization.cluster_instance_utils
        self.assertEqual((use.gpus_total, use.instance.gpus, use.instance.nodes), (8, 8, 1))
        self.assertEqual(str(use.gpus_available + use.gpus_used), "8")
        run = self.run_of("sleep 600", compute={"gpus": 3})
        wait_for_run_status(run, RunStatus.RUNNING, timeout=PATIENCE)
        first = self.run_of("true", compute={"gpus": 8}, scheduling={"priority": "lowest"})
        second = self.run_of("true", compute={"gpus": 8}, scheduling={"priority": "low"})
        eventually(lambda: [r.name for r in get_cluster("local").utilization.queued_runs_by_user] == [second.name, first.name])
        first.stop(), second.stop()
        use = get_cluster("local").utilization
        self.assertGreaterEqual(use.cluster_instance_utils[0].gpus_used, 3)
        self.assertIn((run.name, 3, use.cluster_instance_utils[0].instance.name), [(u.name, u.gpu_num, u.instance) for u in use.active_runs_by_user])
        self.assertIn("NAME", str(get_clusters()))
        with self.assertRaises(MAPIException):
            get_cluster("none")
        self.assertIn(run.created_by, get_users())
        run.stop()

    def test_secrets_reach_every_run(self) -> None:
        name = unique("sec")
        create_secret(EnvVarSecret(name, key="SDK_HIDDEN", value="xyz"))
        self.addCleanup(delete_secrets, [name])
        self.assertIn((name, "env", "SDK_HIDDEN"), [(s.name, s.secret_type, getattr(s, "key", "")) for s in get_secrets()])
        self.assertEqual([s.name for s in get_secrets([name], secret_types=["env"])], [name])
        run = self.run_of("echo $SDK_HIDDEN")
        self.assertEqual("".join(follow_run_logs(run)), "xyz\n")
        with self.assertRaises(MAPIException):
            HuggingFaceSecret("x", password="y")

    def test_initialize(self) -> None:
        mcli.initialize(api_key="ignored over a unix socket")
        try:
            self.assertIsInstance(get_runs(limit=1), list)
        finally:
            import muster

            muster.set_default_client(self.client)


class TestNames(unittest.TestCase):
    def test_a_deleted_file_is_no_yaml(self) -> None:
        with self.assertRaises(OSError):
            RunConfig.from_file("/nowhere/run.yaml")


class EventsTest(unittest.TestCase):
    def test_what_ended_at_once_had_started(self) -> None:
        from muster.run import _events, _lifecycle

        steps = [{"at": "2026-01-01T00:00:0%dZ" % i, "attempt": 0, "from": a, "to": b, "word": w} for i, (a, b, w) in enumerate([("", "Queued", "PENDING"), ("Queued", "Starting", "STARTING"), ("Starting", "Completed", "COMPLETED")])]
        told = lambda attempt: [e.event_message for e in _events(_lifecycle(steps, [attempt]), "x")]  # noqa: E731
        self.assertEqual(told({"index": 0, "exitCode": 0}), ["Run created", "Run started", "Run completed successfully"])
        self.assertEqual(told({"index": 0}), ["Run created", "Run completed successfully"])
