package kubernetes

import (
	"fmt"
	"strings"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// jobSet is a gang of the pods of its jobs: one group, or a leader and one.
func (k *reader) jobSet(o *source.Map, doc *spec.Document) *spec.Document {
	s := o.Map("spec")
	jobs := s.Consume("replicatedJobs")
	if jobs == nil {
		k.missingTemplate(o, "spec.replicatedJobs")
		return nil
	}
	const exclusive = "alpha.jobset.sigs.k8s.io/exclusive-topology"
	if key, ok := doc.Annotations[exclusive]; ok {
		delete(doc.Annotations, exclusive)
		doc.Topology.Required = key
		for i, n := range k.Notes {
			if n.To == "annotations."+exclusive {
				k.Notes[i].To, k.Notes[i].Fate, k.Notes[i].Lossy, k.Notes[i].Reason = "topology.required", source.Approximated, true, "all tasks are in one such domain, which others may use too"
			}
		}
	}
	doc.Kind = lifecycle.Distributed
	var groups []*replica
	for _, item := range jobs.List() {
		if g := k.replicatedJob(item, doc); g != nil && g.count > 0 {
			groups = append(groups, g)
		}
	}
	if len(k.Errors) > 0 {
		return nil
	}
	gang := joinGroups(jobs, groups)
	if gang == nil {
		return nil
	}
	if p := s.Map("failurePolicy"); p != nil {
		if v := p.Consume("maxRestarts"); v != nil {
			k.retries(v, gang, 0, 0, "")
		}
		p.Finish(source.Reasons{"restartStrategy": "the whole gang is tried again"}, source.Reasons{"rules": "write retry.rules"}, false)
	}
	if p := s.Map("successPolicy"); p != nil {
		if v := p.Consume("operator"); v.Text() == "Any" {
			gang.CleanPolicy = "running"
			v.Approximated("cleanPolicy", "it has succeeded once its first task has")
		} else {
			v.Translated("cleanPolicy", "")
		}
		p.Finish(nil, source.Reasons{"targetReplicatedJobs": "its first task decides, or all"}, false)
	}
	readTTL(s.Consume("ttlSecondsAfterFinished"), gang)
	readSuspended(s.Consume("suspend"), gang)
	s.Finish(source.Reasons{"network": "tasks find each other by MASTER_ADDR", "startupPolicy": "all start together", "coordinator": "the first task is the master", "managedBy": "it is Muster's"}, source.Reasons{"volumeClaimPolicies": "a claim must be there"}, false)
	if gang.Workers == 1 {
		gang.Kind, gang.Workers, gang.CleanPolicy = lifecycle.Training, 0, ""
		k.noTopology(gang, o.Tree.Line, "a single task has no topology")
	}
	return gang
}

// replicatedJob reads one group of a JobSet.
func (k *reader) replicatedJob(item *source.Value, doc *spec.Document) *replica {
	o := item.Map()
	if o == nil {
		return nil
	}
	name := o.Consume("name")
	name.Ignored("tasks are numbered")
	g := &replica{role: name.Text(), count: 1, doc: doc.Clone(), at: item}
	if v := o.Consume("replicas"); v != nil {
		g.count = v.Integer(0)
		v.Translated("workers", "")
	}
	if v := o.Consume("dependsOn"); v != nil {
		v.Dropped("all start together")
	}
	job := o.Map("template")
	s := job.Map("spec")
	if s == nil {
		k.missingTemplate(o, "template.spec")
		return g
	}
	k.meta(job.Map("metadata"), g.doc, false)
	pods := 1
	p, c := s.Consume("parallelism"), s.Consume("completions")
	switch {
	case p != nil && c != nil && p.Integer(1) < c.Integer(1):
		p.Refuse(fmt.Sprintf("%d is less than completions, %s: its pods would not run together", p.Integer(1), c.Tree.Text), "write the same number for both")
	case c != nil:
		pods = c.Integer(1)
	case p != nil:
		pods = p.Integer(1)
	}
	p.Translated("workers", "")
	c.Translated("workers", "")
	if g.count *= pods; g.count > 100_000 || g.count < 0 {
		item.Refuse(fmt.Sprintf("has %d pods, more than 100000", g.count), "")
	}
	if v := s.Consume("backoffLimit"); v != nil {
		if v.Integer(0) == 0 {
			v.Translated("retry.limit", "")
		} else {
			v.Approximated("retry.limit", "a pod is not tried again alone, but the whole gang as often as failurePolicy says")
		}
	}
	if v := s.Consume("activeDeadlineSeconds"); v != nil {
		g.doc.MaxDuration = shorter(g.doc.MaxDuration, source.Seconds(v.Integer(1)))
		v.Translated("maxDuration", "")
	}
	if t := s.Map("template"); t != nil {
		onRestart(k.template(t, g.doc, ""))
	} else {
		k.missingTemplate(s, "template")
	}
	k.gangEnv(g.doc)
	s.Finish(source.Reasons{"completionMode": "each task knows its index: MUSTER_TASK_INDEX", "suspend": "the JobSet's own counts", "podReplacementPolicy": "a task is replaced once it has ended"}, source.Reasons{"podFailurePolicy": "write retry.rules", "successPolicy": "its first task decides, or all", "backoffLimitPerIndex": "failures of all tasks count together", "ttlSecondsAfterFinished": "the JobSet's own counts"}, false)
	job.Finish(nil, nil, false)
	o.Finish(source.Reasons{"groupName": "there are no groups"}, nil, false)
	return g
}

// joinGroups makes one gang: of one group, or of a single first pod and a group.
func joinGroups(at *source.Value, groups []*replica) *spec.Document {
	switch {
	case len(groups) == 0:
		at.Refuse("has no pods", "write at least one group")
	case len(groups) == 1:
		groups[0].doc.Workers = groups[0].count
		return groups[0].doc
	case len(groups) == 2 && groups[0].count == 1:
		return mergeGroups(groups[0], groups[1])
	default:
		var sizes []string
		for _, g := range groups {
			sizes = append(sizes, fmt.Sprintf("%s of %d", source.Shorten(g.role), g.count))
		}
		at.Refuse("has several groups of tasks: "+strings.Join(sizes, ", "), "a gang has one master, which may differ, and workers that are all the same; write the others as workloads of their own")
	}
	return nil
}

// runtimes are the frameworks of the runtimes that come with Kubeflow Trainer.
var runtimes = map[string]string{
	"torch-distributed": "pytorch", "torch-distributed-multi-node": "pytorch", "torchtune": "pytorch", "deepspeed-distributed": "mpi", "mpi-distributed": "mpi", "mlx-distributed": "mpi",
	"jax-distributed": "jax", "xgboost-distributed": "xgboost",
}

// trainJob is a gang of which a runtime in the cluster says the rest.
func (k *reader) trainJob(o *source.Map, doc *spec.Document) *spec.Document {
	s := o.Map("spec")
	t := s.Map("trainer")
	if t == nil {
		k.missingTemplate(o, "spec.trainer")
		return nil
	}
	doc.Kind, doc.Workers, doc.Framework = lifecycle.Distributed, 1, "env"
	if ref := s.Map("runtimeRef"); ref != nil {
		v := ref.Consume("name")
		if f, known := runtimes[v.Text()]; known {
			doc.Framework = f
			v.Approximated("framework", "of the runtime only the framework is known; what else it has is missing")
		} else if v != nil {
			v.Dropped("the runtime is not in the file; what it has is missing")
		}
		ref.Finish(source.Reasons{"apiGroup": "", "kind": ""}, nil, false)
	}
	k.trainer(t, doc)
	readSuspended(s.Consume("suspend"), doc)
	if v := s.Consume("activeDeadlineSeconds"); v != nil {
		doc.MaxDuration = source.Seconds(v.Integer(1))
		v.Translated("maxDuration", "")
	}
	s.Finish(source.Reasons{"managedBy": "it is Muster's", "labels": "they are of what the cluster makes", "annotations": "they are of what the cluster makes"},
		source.Reasons{"initializer": "write integrations or init", "podTemplateOverrides": "write nodeSelector, tolerations and volumes", "podSpecOverrides": "write nodeSelector, tolerations and volumes", "runtimePatches": "write nodeSelector, tolerations and volumes"}, false)
	return doc
}

func (k *reader) trainer(t *source.Map, doc *spec.Document) {
	k.environment(t, doc)
	k.gangEnv(doc)
	if v := t.Consume("image"); v != nil {
		doc.Image = v.Text()
		v.Kept("image")
	} else {
		k.Refuse(t.Tree.Line, source.FieldPath(t.Path, "image"), "", "is missing: the runtime that has it is not in the file", "write the image")
	}
	if v := t.Consume("command"); v != nil {
		doc.Command = spec.Command{Argv: expandedCommand(v, doc)}
		v.Kept("command")
	}
	if v := t.Consume("args"); v != nil {
		doc.Args = expandedCommand(v, doc)
		v.Kept("args")
	}
	if v := t.Consume("numNodes"); v != nil {
		doc.Workers = v.Integer(1)
		v.Translated("workers", "")
	}
	if r := t.Map("resourcesPerNode"); r != nil {
		readResources(r, doc)
	}
	if v := t.Consume("numProcPerNode"); v != nil {
		if doc.Framework == "mpi" {
			doc.Slots = v.Integer(1)
			v.Translated("slots", "")
		} else {
			readPerNode(v, doc)
		}
	}
	t.Finish(nil, nil, false)
}

// rayJob is a gang whose first task is the head of a Ray cluster, where the
// entrypoint runs.
func (k *reader) rayJob(o *source.Map, doc *spec.Document) *spec.Document {
	s := o.Map("spec")
	entrypoint, cluster := s.Consume("entrypoint"), s.Map("rayClusterSpec")
	if entrypoint == nil || cluster == nil {
		k.missingTemplate(o, "spec.entrypoint and spec.rayClusterSpec")
		return nil
	}
	head := cluster.Map("headGroupSpec")
	h := &replica{role: "head", count: 1, doc: doc.Clone(), at: entrypoint}
	if t := head.Map("template"); t != nil {
		headRestart(k.template(t, h.doc, "ray-head"))
	}
	readRayStart(head)
	worker := k.rayWorkers(cluster, doc)
	if len(k.Errors) > 0 {
		return nil
	}
	gang := h.doc
	if worker != nil {
		h.doc.Command, h.doc.Args = worker.doc.Command, worker.doc.Args // Ray's own in both
		gang = mergeGroups(h, worker)
	} else {
		gang.Workers = 1
	}
	if gang == nil {
		return nil
	}
	gang.Kind, gang.CleanPolicy = lifecycle.Distributed, "running"
	gang.Command, gang.Args = spec.Command{Argv: []string{"/bin/bash", "-c", rayScript(entrypoint.Text())}}, nil
	if gang.Master != nil {
		gang.Master.Command, gang.Master.Args = spec.Command{}, nil
	}
	entrypoint.Approximated("command", "the first task starts the head of a Ray cluster and runs it there")
	k.rayEnds(s, gang)
	cluster.Finish(source.Reasons{"rayVersion": "the image has it"}, source.Reasons{"enableInTreeAutoscaling": "the cluster keeps its size", "autoscalerOptions": "the cluster keeps its size", "gcsFaultToleranceOptions": "the whole gang is tried again"}, false)
	return gang
}

func headRestart(v *source.Value) {
	if v != nil {
		v.Ignored("the whole gang is tried again, as retry says")
	}
}

// readRayStart accounts for a group's options of ray start.
func readRayStart(o *source.Map) {
	if o == nil {
		return
	}
	o.Finish(source.Reasons{"serviceType": "there are no services", "groupName": "there is one group"}, source.Reasons{"rayStartParams": "ray start finds out what a node has", "replicas": "", "numOfHosts": "", "scaleStrategy": "", "headService": "there are no services", "enableIngress": "there are no services"}, false)
}

// rayWorkers reads the workers of a Ray cluster: one group.
func (k *reader) rayWorkers(cluster *source.Map, doc *spec.Document) (worker *replica) {
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
			if n := o.Consume(name); n != nil && n.Integer(0) != w.count {
				n.Approximated("workers", "the cluster keeps its size")
			} else {
				n.Translated("workers", "")
			}
		}
		if t := o.Map("template"); t != nil {
			headRestart(k.template(t, w.doc, "ray-worker"))
		}
		readRayStart(o)
		switch {
		case w.count == 0:
			item.Ignored("it has no replicas")
		case worker != nil:
			item.Refuse("is a second group of workers", "a gang's workers are all the same; keep one group")
		default:
			worker = w
		}
	}
	return worker
}

// runEnds reads how often and how long a group of pods may run, and when it does.
func (k *reader) runEnds(o *source.Map, gang *spec.Document) {
	if v := o.Consume("backoffLimit"); v != nil {
		k.retries(v, gang, 0, 0, "")
	}
	if v := o.Consume("activeDeadlineSeconds"); v != nil {
		gang.MaxDuration = shorter(gang.MaxDuration, source.Seconds(v.Integer(1)))
		if gang.Retry.Limit > 0 {
			v.Approximated("maxDuration", "it is of each attempt, not of all together")
		} else {
			v.Translated("maxDuration", "")
		}
	}
	readTTL(o.Consume("ttlSecondsAfterFinished"), gang)
	readSuspended(o.Consume("suspend"), gang)
}

// rayEnds reads how a RayJob ends.
func (k *reader) rayEnds(s *source.Map, gang *spec.Document) {
	k.runEnds(s, gang)
	if v := s.Consume("runtimeEnvYAML"); v != nil {
		v.Dropped("the entrypoint runs on the head itself, in its own environment; write integrations or env")
	}
	s.Finish(source.Reasons{"shutdownAfterJobFinishes": "the cluster ends with its entrypoint", "submissionMode": "the entrypoint runs on the head", "submitterConfig": "the entrypoint runs on the head", "submitterPodTemplate": "the entrypoint runs on the head", "jobId": "workloads have ids of their own", "managedBy": "it is Muster's", "metadata": "labels say it"},
		source.Reasons{"entrypointNumCpus": "the entrypoint shares the head", "entrypointNumGpus": "the entrypoint shares the head", "entrypointResources": "the entrypoint shares the head", "clusterSelector": "a cluster that is there is not used", "deletionStrategy": "the cluster ends with its entrypoint"}, false)
}

// rayScript starts a Ray cluster in the tasks of a gang and the entrypoint in
// its first, once all nodes are there.
func rayScript(entrypoint string) string {
	return `at="$MASTER_ADDR:$MASTER_PORT"
if [ "$RANK" != 0 ]; then
  until ray status --address "$at" >/dev/null 2>&1; do sleep 1; done
  exec ray start --address "$at" --block
fi
ray start --head --port "$MASTER_PORT" || exit $?
export RAY_ADDRESS="$at"
until [ "$(python3 -c 'import ray; ray.init(log_to_driver=False, logging_level="ERROR"); print(len([n for n in ray.nodes() if n["Alive"]]))' 2>/dev/null)" = "$WORLD_SIZE" ]; do sleep 1; done
` + entrypoint + "\n"
}
