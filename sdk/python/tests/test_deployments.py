import shlex
import sys
import unittest
import warnings
from typing import Any, List
from unittest import mock

from mcli import (
    InferenceDeployment,
    InferenceDeploymentConfig,
    MAPIException,
    MCLIRunConfigValidationError,
    create_finetuning_run,
    create_inference_deployment,
    create_pretraining_run,
    delete_inference_deployment,
    delete_inference_deployments,
    follow_inference_deployment_logs,
    get_inference_deployment,
    get_inference_deployment_logs,
    get_inference_deployments,
    get_runs,
    ping,
    predict,
    update_inference_deployment,
    update_inference_deployments,
)
from muster import UnsupportedError

from .support import PATIENCE, ServerCase, eventually, unique

# It answers with its generation and what it was sent, and fails on request.
SERVER = """
import http.server, json, os
class Answers(http.server.BaseHTTPRequestHandler):
    def log_message(self, *a): pass
    def tell(self, status, text):
        self.send_response(status); self.end_headers(); self.wfile.write(text.encode())
    def do_GET(self): self.tell(200, "here")
    def do_POST(self):
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/predict" or "bad" in sent: self.tell(422, "no such input")
        elif "text" in sent: self.tell(200, sent["text"])
        else: self.tell(200, json.dumps({"outputs": sent["inputs"], "with": os.environ["WITH"]}))
print("listening", flush=True)
http.server.HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Answers).serve_forever()
"""


class TestDeployments(ServerCase):
    def deploy(self, **fields: Any) -> InferenceDeployment:
        fields.setdefault("name", unique("dep"))
        command = "exec %s -c %s" % (sys.executable, shlex.quote(SERVER))
        d = create_inference_deployment(InferenceDeploymentConfig(command=command, env_variables={"WITH": "love"}, **fields))
        return self.until(d, "READY")

    def until(self, d: InferenceDeployment, status: str) -> InferenceDeployment:
        return eventually(lambda: d if d.refresh().status == status else None, "it is not " + status)  # type: ignore[no-any-return]

    def test_asking_one(self) -> None:
        d = self.deploy(compute={"gpus": 1}, metadata={"team": "nlp"})
        self.assertEqual((ping(d), d.ping(), ping(d.name, future=True).result(PATIENCE)), ({"status": 200},) * 3)
        self.assertEqual(predict(d.name, {"inputs": [1, "é"]}), {"outputs": [1, "é"], "with": "love"})
        self.assertEqual(d.predict({"inputs": []}), {"outputs": [], "with": "love"})
        self.assertEqual("".join(predict(d.public_dns, {"text": "wörds " * 50}, stream=True)), "wörds " * 50)
        for sent, status, words in (({"bad": 1}, 422, "no such input"), ({"text": "{"}, 502, "not JSON")):
            with self.assertRaises(MAPIException) as e:
                predict(d, sent)
            self.assertEqual((e.exception.status, words in str(e.exception)), (status, True))
        self.assertEqual("".join(get_inference_deployment_logs(d, tail=1)), "listening\n")
        self.assertEqual(next(follow_inference_deployment_logs(d, future=True).result(PATIENCE)), "listening\n")
        self.assertEqual((d.gpus, d.cluster, d.metadata, d.config.command[:5], d.config.metadata), (1, "local", {"team": "nlp"}, "exec ", {"team": "nlp"}))
        self.assertRegex(d.name, "^%s-[a-z0-9]{6}$" % d.config.name)
        self.assertNotIn(d.name, [r.name for r in get_runs(all_users=True, limit=None)])
        delete_inference_deployment(d)

    def test_many(self) -> None:
        prefix = unique("many")
        made: List[InferenceDeployment] = [self.deploy(name=prefix, replicas=1) for _ in range(2)]
        self.assertEqual([d.name for d in get_inference_deployments(prefix + "-*")], [d.name for d in reversed(made)])
        for wanted, n in (({"statuses": ["ready"]}, 2), ({"statuses": ["FAILED"]}, 0), ({"cluster_names": ["local"]}, 2), ({"gpu_types": ["none"]}, 2), ({"gpu_nums": [4]}, 0), ({"before": made[1].created_at}, 1)):
            self.assertEqual(len(get_inference_deployments(prefix + "-*", **wanted)), n, wanted)  # type: ignore[arg-type]
        self.assertEqual(str(get_inference_deployments(made)).split("\n")[0].split(), ["NAME", "USER", "STATUS", "REPLICAS", "ADDRESS", "CREATED"])
        self.assertEqual([r.status for r in get_inference_deployment(made[1]).replicas], ["READY"])
        d = update_inference_deployment(made[0], {"replicas": 0})
        self.assertEqual(d.replicas_wanted, 0)
        eventually(lambda: get_inference_deployment(d.name).replicas_ready == 0)
        self.assertEqual([x.replicas_wanted for x in update_inference_deployments(prefix + "-*", {"replicas": 0})], [0, 0])
        for bad in ({}, {"command": "x"}):
            with self.assertRaises(MAPIException):
                update_inference_deployment(made[0], bad)
        self.assertEqual(len(delete_inference_deployments(prefix + "-*")), 2)
        eventually(lambda: not get_inference_deployments(prefix + "-*"))

    def test_a_document_is_one_too(self) -> None:
        document = {"kind": "inference", "namePrefix": "native", "command": "echo up; sleep 600", "ports": [9000], "replicas": 0, "resources": {"cpu": "100m"}}
        d = create_inference_deployment(document)
        self.assertEqual((d.config.port, d.config.replicas, d.config.command), (9000, 0, "echo up; sleep 600"))
        with self.assertRaises(MAPIException) as e:
            get_inference_deployment(self.client.run("true").id)
        self.assertIn("kind training", str(e.exception))

        with mock.patch.object(self.client, "request", wraps=self.client.request) as asked:
            with self.assertRaises(MAPIException) as e:
                update_inference_deployment(d, {"image": "no image"})
        self.assertEqual(e.exception.errors[0]["path"], "image")
        sent = asked.call_args.kwargs["body"]
        self.assertEqual((asked.call_args.args[1][-7:], sent["image"], sent["ports"], "namePrefix" in sent), (":update", "no image", d.workload.spec["ports"], False))
        delete_inference_deployment(d)

    def test_what_is_submitted(self) -> None:
        sent = InferenceDeploymentConfig(name="web", image="reg.example/web:1", replicas=3, compute={"gpus": 2, "gpu_type": "a100"}, port=9000).document()
        self.assertEqual({k: sent[k] for k in ("kind", "namePrefix", "image", "replicas", "ports")}, {"kind": "inference", "namePrefix": "web", "image": "reg.example/web:1", "replicas": 3, "ports": [9000]})
        self.assertEqual((sent["resources"], "retry" in sent, sent["env"]), ({"gpu": {"count": 2, "type": "a100"}}, False, {}))


class TestRefusals(unittest.TestCase):
    def test_configurations(self) -> None:
        for fields, words in (({"compute": {"nodes": 2}}, "replica"), ({"replicas": -1}, "whole number"), ({"compute": {"gpus": 16}}, "no node has 16"), ({"default_model": {"model_type": "mpt"}}, "by name")):
            with self.subTest(fields=fields), self.assertRaises(MAPIException) as e:
                InferenceDeploymentConfig(name="a", command="b", **fields).document()  # type: ignore[arg-type]
            self.assertIn(words, str(e.exception))
        with self.assertRaises(MCLIRunConfigValidationError):
            create_inference_deployment({"kind": "training", "command": "x"})
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            c = InferenceDeploymentConfig.from_dict({"name": "a", "gpu_num": 2, "rateLimit": 3})
        self.assertEqual((c.compute, c.gpu_num, len(seen)), ({"gpus": 2}, None, 2))

    def test_services_that_are_not_there(self) -> None:
        for call in (create_finetuning_run, create_pretraining_run):
            with self.assertRaises(UnsupportedError) as e:
                call(model="m", train_data_path="d", save_folder="s")
            self.assertIn("mcli run -f", e.exception.hint)
