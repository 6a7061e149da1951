package kubernetes

import (
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/convert/kubernetes/podnames"
	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/hosts"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// rayJob is a gang whose first task is the head of a Ray cluster, where the
// entrypoint runs.
func (k *reader) rayJob(o *source.Map, doc *spec.Document) *spec.Document {
	s := o.Map("spec")
	entrypoint, cluster := s.Consume("entrypoint"), s.Map("rayClusterSpec")
	if entrypoint == nil || cluster == nil {
		k.missingTemplate(o, "spec.entrypoint and spec.rayClusterSpec")
		return nil
	}
	run := entrypoint.Text()
	if v := s.Consume("runtimeEnvYAML"); v != nil {
		run = "cat >/tmp/runtime-env.yaml <<'MUSTER'\n" + strings.TrimRight(v.Text(), "\n") + "\nMUSTER\nexec ray job submit --address http://127.0.0.1:8265 --runtime-env /tmp/runtime-env.yaml -- " + run
		v.Translated("command", "the head submits the entrypoint with it")
	}
	gang := rayGang(k, cluster, entrypoint, doc, run)
	if gang == nil {
		return nil
	}
	entrypoint.Translated("command", "the first task starts the head of a Ray cluster and runs it there")
	rayEnds(k, s, gang)
	return gang
}

// rayCluster is a gang that is a Ray cluster until it is stopped.
func (k *reader) rayCluster(o *source.Map, doc *spec.Document) *spec.Document {
	s := o.Consume("spec")
	gang := rayGang(k, s.Map(), s, doc, "exec sleep infinity")
	if gang == nil {
		return nil
	}
	gang.Retry.Limit, gang.Retry.Backoff = source.MaxRetries, podBackoff
	if gang.Name != "" {
		podnames.Give(gang, hosts.Entry{Host: gang.Name + "-head-svc"})
	}
	s.Translated("command", "a Ray cluster of so many tasks, until it is stopped")
	return gang
}

// servePort is where Ray Serve listens where nothing else is said.
const servePort = 8000

// rayService is a Ray cluster whose head deploys the applications of Ray Serve. It runs
// until it is stopped.
func (k *reader) rayService(o *source.Map, doc *spec.Document) *spec.Document {
	s := o.Map("spec")
	config, cluster := s.Consume("serveConfigV2"), s.Map("rayClusterConfig")
	if config == nil || cluster == nil {
		k.missingTemplate(o, "spec.serveConfigV2 and spec.rayClusterConfig")
		return nil
	}
	run := "cat >/tmp/serve-config.yaml <<'MUSTER'\n" + strings.TrimRight(config.Text(), "\n") + "\nMUSTER\nserve start --http-host 0.0.0.0 && serve deploy /tmp/serve-config.yaml || exit $?\nexec sleep infinity"
	gang := rayGang(k, cluster, config, doc, run)
	if gang == nil {
		return nil
	}
	gang.Retry.Limit, gang.Retry.Backoff = source.MaxRetries, podBackoff
	config.Translated("command", "the first task starts the head of a Ray cluster and deploys it there")
	if len(gang.Ports) == 0 {
		gang.Ports = []spec.Port{{Port: servePort, Name: "serve"}}
	}
	s.Consume("serveService").Ignored("the first task is reached by muster port-forward")
	s.Finish(source.Reasons{"serviceUnhealthySecondThreshold": "the whole gang is tried again when it ends", "deploymentUnhealthySecondThreshold": "the whole gang is tried again when it ends", "rayClusterDeletionDelaySeconds": "it is replaced whole"},
		source.Reasons{"upgradeStrategy": "it is replaced whole", "excludeHeadPodFromServeSvc": "requests go to the head", "suspend": "write hold"}, false)
	return gang
}

// rayGang makes a gang of the head and the workers of a Ray cluster.
func rayGang(k *reader, cluster *source.Map, at *source.Value, doc *spec.Document, run string) *spec.Document {
	if cluster == nil {
		return nil
	}
	grows := cluster.Consume("enableInTreeAutoscaling")
	head := cluster.Map("headGroupSpec")
	if head == nil {
		k.missingTemplate(cluster, "headGroupSpec")
		return nil
	}
	h := &replica{role: "head", count: 1, doc: doc.Clone(), at: at}
	if t := head.Map("template"); t != nil {
		headRestart(k.template(t, h.doc, "ray-head"))
	}
	start := readRayStart(head)
	worker, join := rayWorkers(k, cluster, doc, grows != nil && grows.Bool())
	if len(k.Errors) > 0 {
		return nil
	}
	h.doc.Command, h.doc.Args = rayCommand(k, h.doc, rayScript(run, start, join), at), nil
	gang := h.doc
	if worker != nil {
		worker.doc.Command, worker.doc.Args = rayCommand(k, worker.doc, rayScript(run, start, join), at), nil
		gang = mergeGroups(h, worker)
	} else {
		gang.Workers = 1
	}
	gang.Kind, gang.CleanPolicy = lifecycle.Distributed, "running"
	switch {
	case grows == nil:
	case grows.Bool() && worker != nil:
		grows.Approximated("workers", "the cluster keeps its size")
	default:
		grows.Ignored("it keeps its size")
	}
	cluster.Finish(source.Reasons{"rayVersion": "the image has it", "autoscalerOptions": "the cluster keeps its size", "managedBy": "it is Muster's"}, source.Reasons{"gcsFaultToleranceOptions": "the whole gang is tried again", "authOptions": "Ray asks for no token", "upgradeStrategy": "it is replaced whole", "suspend": "write hold"}, false)
	return gang
}

// rayCommand is the command of a task of a Ray cluster: Ray's own, and before
// it what the container says, as KubeRay joins them.
func rayCommand(k *reader, doc *spec.Document, script string, at *source.Value) spec.Command {
	before := ""
	if c := k.computed[doc]; c != nil {
		before = "export " + strings.Join(c.lines, "\nexport ") + "\n"
		delete(k.computed, doc)
	}
	for _, name := range source.SortedKeys(doc.Env) {
		if strings.Contains(doc.Env[name], hole) {
			before += "export " + name + "=" + quote(doc.Env[name]) + "\n"
			delete(doc.Env, name)
		}
	}
	own := shellText(strings.Join(append(slices.Clone(doc.Command.Argv), doc.Args...), " "))
	switch {
	case doc.Annotations["ray.io/overwrite-container-cmd"] == "true" || strings.Contains(own, "KUBERAY_GEN_RAY_START_CMD"):
		at.Dropped("ray start is given by Muster; what the container's own command does beside it is missing")
	case own != "":
		before += own + " || exit $?\n"
		at.Translated("command", "what the container says comes before ray start")
	}
	return spec.Command{Argv: []string{"/bin/bash", "-c", before + script}}
}

// shellText is a text for a shell in which the holes are variables.
func shellText(text string) string {
	parts := strings.Split(text, hole)
	for i := 1; i < len(parts); i += 2 {
		parts[i] = "${" + parts[i] + "}"
	}
	return strings.Join(parts, "")
}

func headRestart(v *source.Value) {
	if v != nil {
		v.Ignored("the whole gang is tried again, as retry says")
	}
}

// rayOwn are options of ray start that say where the cluster is: its tasks
// know. Without values they are what a node has.
var rayOwn = source.Reasons{
	"block": "its tasks run until they are ended", "address": "its tasks know it", "port": "its tasks know it", "node-ip-address": "its tasks know it", "head": "the first task is it", "redis-password": "there is no redis",
}

// readRayStart accounts for a group's options of ray start, and returns them as
// words of the shell.
func readRayStart(o *source.Map) string {
	if o == nil {
		return ""
	}
	var b strings.Builder
	names, values := o.Consume("rayStartParams").Pairs()
	for i, name := range names {
		v := values[i]
		switch why, own := rayOwn[name]; {
		case own:
			v.Ignored(why)
		case strings.Contains(name, "'"):
			v.Refuse("is no option of ray start", "remove it")
		default:
			b.WriteString(" " + quote("--"+name+"="+unquoted(v.Text())))
			v.Translated("command", "")
		}
	}
	o.Finish(source.Reasons{"serviceType": "there are no services", "groupName": "tasks are numbered", "headService": "there are no services", "enableIngress": "the server leads to ports", "scaleStrategy": "the cluster keeps its size", "replicas": "there is one head", "numOfHosts": "there is one head", "rayStartParams": "there are none", "idleTimeoutSeconds": "the cluster keeps its size"}, nil, false)
	return b.String()
}

// unquoted is a value that KubeRay hands to a shell, without the quotes that
// keep it whole there.
func unquoted(s string) string {
	if words, err := source.ShellWords(s); err == nil && len(words) == 1 {
		return words[0]
	}
	return s
}

// rayWorkers reads the workers of a Ray cluster: those of all groups are the
// same but for their number.
func rayWorkers(k *reader, cluster *source.Map, doc *spec.Document, grows bool) (worker *replica, join string) {
	v := cluster.Consume("workerGroupSpecs")
	for _, item := range v.List() {
		o := item.Map()
		if o == nil {
			continue
		}
		name := o.Consume("groupName")
		name.Ignored("tasks are numbered")
		w := &replica{role: name.Text(), count: 1, doc: doc.Clone(), at: item}
		if n := o.Consume("replicas"); n != nil {
			w.count = n.Integer(0)
			n.Translated("workers", "")
		}
		if n := o.Consume("numOfHosts"); n != nil {
			w.count *= n.Integer(1)
			n.Translated("workers", "")
		}
		for _, name := range []string{"minReplicas", "maxReplicas"} {
			switch n := o.Consume(name); {
			case n == nil:
			case grows && n.Integer(0) != w.count:
				n.Approximated("workers", "the cluster keeps its size")
			default:
				n.Ignored("the cluster keeps its size")
			}
		}
		if t := o.Map("template"); t != nil {
			headRestart(k.template(t, w.doc, "ray-worker"))
		}
		params := readRayStart(o)
		switch {
		case w.count == 0:
			item.Ignored("it has no replicas")
		case worker == nil:
			worker, join = w, params
		case params != join || !w.doc.Equal(worker.doc):
			item.Refuse("is a second group of workers, which differ", "a gang's workers are all the same; keep one group")
		default:
			worker.count += w.count
			item.Translated("workers", "its workers are as those of the first group")
		}
	}
	return worker, join
}

// rayEnds reads how a RayJob ends.
func rayEnds(k *reader, s *source.Map, gang *spec.Document) {
	k.runEnds(s, gang)
	s.Finish(source.Reasons{"shutdownAfterJobFinishes": "the cluster ends with its entrypoint", "submissionMode": "the entrypoint runs on the head", "submitterConfig": "the entrypoint runs on the head", "submitterPodTemplate": "the entrypoint runs on the head", "jobId": "workloads have ids of their own", "managedBy": "it is Muster's", "metadata": "labels say it"},
		source.Reasons{"entrypointNumCpus": "the entrypoint shares the head", "entrypointNumGpus": "the entrypoint shares the head", "entrypointResources": "the entrypoint shares the head", "clusterSelector": "a cluster that is there is not used", "deletionStrategy": "the cluster ends with its entrypoint"}, false)
}

// rayScript starts a Ray cluster in the tasks of a gang and the entrypoint in
// its first, once all nodes are there.
func rayScript(entrypoint, head, join string) string {
	return `at="$MASTER_ADDR:$MASTER_PORT"
if [ "$RANK" != 0 ]; then
  until ray status --address "$at" >/dev/null 2>&1; do sleep 1; done
  exec ray start --address "$at" --block` + join + `
fi
ray start --head --port "$MASTER_PORT"` + head + ` || exit $?
export RAY_ADDRESS="$at"
until [ "$(python3 -c 'import ray; ray.init(log_to_driver=False, logging_level="ERROR"); print(len([n for n in ray.nodes() if n["Alive"]]))' 2>/dev/null)" = "$WORLD_SIZE" ]; do sleep 1; done
` + entrypoint + "\n"
}
