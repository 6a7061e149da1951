package convert

import (
	"fmt"
	"strings"

	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// jobSet is a gang of the pods of its jobs: one group, or a leader and one.
func (k *k8sReader) jobSet(o *object, doc *spec.Document) *spec.Document {
	s := o.object("spec")
	jobs := s.take("replicatedJobs")
	if jobs == nil {
		k.missingTemplate(o, "spec.replicatedJobs")
		return nil
	}
	const exclusive = "alpha.jobset.sigs.k8s.io/exclusive-topology"
	if key, ok := doc.Annotations[exclusive]; ok {
		delete(doc.Annotations, exclusive)
		doc.Topology.Required = key
		for i, n := range k.notes {
			if n.To == "annotations."+exclusive {
				k.notes[i].To, k.notes[i].Fate, k.notes[i].Lossy, k.notes[i].Reason = "topology.required", Approximated, true, "all tasks are in one such domain, which others may use too"
			}
		}
	}
	doc.Kind = lifecycle.Distributed
	var groups []*replica
	for _, item := range jobs.list() {
		if g := k.replicatedJob(item, doc); g != nil && g.count > 0 {
			groups = append(groups, g)
		}
	}
	if len(k.errs) > 0 {
		return nil
	}
	gang := k.ofGroups(jobs, groups)
	if gang == nil {
		return nil
	}
	if p := s.object("failurePolicy"); p != nil {
		if v := p.take("maxRestarts"); v != nil {
			k.retries(v, gang, 0, 0, "")
		}
		p.done(nothing{"restartStrategy": "the whole gang is tried again"}, nothing{"rules": "write retry.rules"}, false)
	}
	if p := s.object("successPolicy"); p != nil {
		if v := p.take("operator"); v.text() == "Any" {
			gang.CleanPolicy = "running"
			v.approximated("cleanPolicy", "it has succeeded once its first task has")
		} else {
			v.translated("cleanPolicy", "")
		}
		p.done(nil, nothing{"targetReplicatedJobs": "its first task decides, or all"}, false)
	}
	k.ttl(s.take("ttlSecondsAfterFinished"), gang)
	k.suspended(s.take("suspend"), gang)
	s.done(nothing{"network": "tasks find each other by MASTER_ADDR", "startupPolicy": "all start together", "coordinator": "the first task is the master", "managedBy": "it is Muster's"}, nothing{"volumeClaimPolicies": "a claim must be there"}, false)
	if gang.Workers == 1 {
		gang.Kind, gang.Workers, gang.CleanPolicy = lifecycle.Training, 0, ""
		k.noTopology(gang, o.t.Line, "a single task has no topology")
	}
	return gang
}

// replicatedJob reads one group of a JobSet.
func (k *k8sReader) replicatedJob(item *value, doc *spec.Document) *replica {
	o := item.object()
	if o == nil {
		return nil
	}
	name := o.take("name")
	name.harmless("tasks are numbered")
	g := &replica{role: name.text(), count: 1, doc: doc.Clone(), at: item}
	if v := o.take("replicas"); v != nil {
		g.count = v.whole(0)
		v.translated("workers", "")
	}
	if v := o.take("dependsOn"); v != nil {
		v.lost("all start together")
	}
	job := o.object("template")
	s := job.object("spec")
	if s == nil {
		k.missingTemplate(o, "template.spec")
		return g
	}
	k.meta(job.object("metadata"), g.doc, false)
	pods := 1
	p, c := s.take("parallelism"), s.take("completions")
	switch {
	case p != nil && c != nil && p.whole(1) < c.whole(1):
		p.refuse(fmt.Sprintf("%d is less than completions, %s: its pods would not run together", p.whole(1), c.t.Text), "write the same number for both")
	case c != nil:
		pods = c.whole(1)
	case p != nil:
		pods = p.whole(1)
	}
	p.translated("workers", "")
	c.translated("workers", "")
	if g.count *= pods; g.count > 100_000 || g.count < 0 {
		item.refuse(fmt.Sprintf("has %d pods, more than 100000", g.count), "")
	}
	if v := s.take("backoffLimit"); v != nil {
		if v.whole(0) == 0 {
			v.translated("retry.limit", "")
		} else {
			v.approximated("retry.limit", "a pod is not tried again alone, but the whole gang as often as failurePolicy says")
		}
	}
	if v := s.take("activeDeadlineSeconds"); v != nil {
		g.doc.MaxDuration = shorter(g.doc.MaxDuration, seconds(v.whole(1)))
		v.translated("maxDuration", "")
	}
	if t := s.object("template"); t != nil {
		k.template(t, g.doc, "").onRestart()
	} else {
		k.missingTemplate(s, "template")
	}
	k.gangEnv(g.doc)
	s.done(nothing{"completionMode": "each task knows its index: MUSTER_TASK_INDEX", "suspend": "the JobSet's own counts", "podReplacementPolicy": "a task is replaced once it has ended"}, nothing{"podFailurePolicy": "write retry.rules", "successPolicy": "its first task decides, or all", "backoffLimitPerIndex": "failures of all tasks count together", "ttlSecondsAfterFinished": "the JobSet's own counts"}, false)
	job.done(nil, nil, false)
	o.done(nothing{"groupName": "there are no groups"}, nil, false)
	return g
}

// ofGroups makes one gang: of one group, or of a single first pod and a group.
func (k *k8sReader) ofGroups(at *value, groups []*replica) *spec.Document {
	switch {
	case len(groups) == 0:
		at.refuse("has no pods", "write at least one group")
	case len(groups) == 1:
		groups[0].doc.Workers = groups[0].count
		return groups[0].doc
	case len(groups) == 2 && groups[0].count == 1:
		return k.merge(groups[0], groups[1])
	default:
		var sizes []string
		for _, g := range groups {
			sizes = append(sizes, fmt.Sprintf("%s of %d", shorten(g.role), g.count))
		}
		at.refuse("has several groups of tasks: "+strings.Join(sizes, ", "), "a gang has one master, which may differ, and workers that are all the same; write the others as workloads of their own")
	}
	return nil
}

// runtimes are the frameworks of the runtimes that come with Kubeflow Trainer.
var runtimes = map[string]string{
	"torch-distributed": "pytorch", "torch-distributed-multi-node": "pytorch", "torchtune": "pytorch", "deepspeed-distributed": "mpi", "mpi-distributed": "mpi", "mlx-distributed": "mpi",
	"jax-distributed": "jax", "xgboost-distributed": "xgboost",
}

// trainJob is a gang of which a runtime in the cluster says the rest.
func (k *k8sReader) trainJob(o *object, doc *spec.Document) *spec.Document {
	s := o.object("spec")
	t := s.object("trainer")
	if t == nil {
		k.missingTemplate(o, "spec.trainer")
		return nil
	}
	doc.Kind, doc.Workers, doc.Framework = lifecycle.Distributed, 1, "env"
	if ref := s.object("runtimeRef"); ref != nil {
		v := ref.take("name")
		if f, known := runtimes[v.text()]; known {
			doc.Framework = f
			v.approximated("framework", "of the runtime only the framework is known; what else it has is missing")
		} else if v != nil {
			v.lost("the runtime is not in the file; what it has is missing")
		}
		ref.done(nothing{"apiGroup": "", "kind": ""}, nil, false)
	}
	k.trainer(t, doc)
	k.suspended(s.take("suspend"), doc)
	if v := s.take("activeDeadlineSeconds"); v != nil {
		doc.MaxDuration = seconds(v.whole(1))
		v.translated("maxDuration", "")
	}
	s.done(nothing{"managedBy": "it is Muster's", "labels": "they are of what the cluster makes", "annotations": "they are of what the cluster makes"},
		nothing{"initializer": "write integrations or init", "podTemplateOverrides": "write nodeSelector, tolerations and volumes", "podSpecOverrides": "write nodeSelector, tolerations and volumes", "runtimePatches": "write nodeSelector, tolerations and volumes"}, false)
	return doc
}

func (k *k8sReader) trainer(t *object, doc *spec.Document) {
	k.environment(t, doc)
	k.gangEnv(doc)
	if v := t.take("image"); v != nil {
		doc.Image = v.text()
		v.kept("image")
	} else {
		k.refuse(t.t.Line, below(t.path, "image"), "", "is missing: the runtime that has it is not in the file", "write the image")
	}
	if v := t.take("command"); v != nil {
		doc.Command = spec.Command{Argv: k.expanded(v, doc)}
		v.kept("command")
	}
	if v := t.take("args"); v != nil {
		doc.Args = k.expanded(v, doc)
		v.kept("args")
	}
	if v := t.take("numNodes"); v != nil {
		doc.Workers = v.whole(1)
		v.translated("workers", "")
	}
	if r := t.object("resourcesPerNode"); r != nil {
		k.resources(r, doc)
	}
	if v := t.take("numProcPerNode"); v != nil {
		if doc.Framework == "mpi" {
			doc.Slots = v.whole(1)
			v.translated("slots", "")
		} else {
			k.perNode(v, doc)
		}
	}
	t.done(nil, nil, false)
}

// rayJob is a gang whose first task is the head of a Ray cluster, where the
// entrypoint runs.
func (k *k8sReader) rayJob(o *object, doc *spec.Document) *spec.Document {
	s := o.object("spec")
	entrypoint, cluster := s.take("entrypoint"), s.object("rayClusterSpec")
	if entrypoint == nil || cluster == nil {
		k.missingTemplate(o, "spec.entrypoint and spec.rayClusterSpec")
		return nil
	}
	head := cluster.object("headGroupSpec")
	h := &replica{role: "head", count: 1, doc: doc.Clone(), at: entrypoint}
	if t := head.object("template"); t != nil {
		k.template(t, h.doc, "ray-head").headRestart()
	}
	k.rayStart(head)
	worker := k.rayWorkers(cluster, doc)
	if len(k.errs) > 0 {
		return nil
	}
	gang := h.doc
	if worker != nil {
		h.doc.Command, h.doc.Args = worker.doc.Command, worker.doc.Args // Ray's own in both
		gang = k.merge(h, worker)
	} else {
		gang.Workers = 1
	}
	if gang == nil {
		return nil
	}
	gang.Kind, gang.CleanPolicy = lifecycle.Distributed, "running"
	gang.Command, gang.Args = spec.Command{Argv: []string{"/bin/bash", "-c", rayScript(entrypoint.text())}}, nil
	if gang.Master != nil {
		gang.Master.Command, gang.Master.Args = spec.Command{}, nil
	}
	entrypoint.approximated("command", "the first task starts the head of a Ray cluster and runs it there")
	k.rayEnds(s, gang)
	cluster.done(nothing{"rayVersion": "the image has it"}, nothing{"enableInTreeAutoscaling": "the cluster keeps its size", "autoscalerOptions": "the cluster keeps its size", "gcsFaultToleranceOptions": "the whole gang is tried again"}, false)
	return gang
}

func (v *value) headRestart() {
	if v != nil {
		v.harmless("the whole gang is tried again, as retry says")
	}
}

// rayStart accounts for a group's options of ray start.
func (k *k8sReader) rayStart(o *object) {
	if o == nil {
		return
	}
	o.done(nothing{"serviceType": "there are no services", "groupName": "there is one group"}, nothing{"rayStartParams": "ray start finds out what a node has", "replicas": "", "numOfHosts": "", "scaleStrategy": "", "headService": "there are no services", "enableIngress": "there are no services"}, false)
}

// rayWorkers reads the workers of a Ray cluster: one group.
func (k *k8sReader) rayWorkers(cluster *object, doc *spec.Document) (worker *replica) {
	v := cluster.take("workerGroupSpecs")
	for _, item := range v.list() {
		o := item.object()
		if o == nil {
			continue
		}
		name := o.take("groupName")
		name.harmless("tasks are numbered")
		w := &replica{role: name.text(), count: 1, doc: doc.Clone(), at: item}
		if n := o.take("replicas"); n != nil {
			w.count = n.whole(0)
			n.translated("workers", "")
		}
		if n := o.take("numOfHosts"); n != nil {
			w.count *= n.whole(1)
			n.translated("workers", "")
		}
		for _, name := range []string{"minReplicas", "maxReplicas"} {
			if n := o.take(name); n != nil && n.whole(0) != w.count {
				n.approximated("workers", "the cluster keeps its size")
			} else {
				n.translated("workers", "")
			}
		}
		if t := o.object("template"); t != nil {
			k.template(t, w.doc, "ray-worker").headRestart()
		}
		k.rayStart(o)
		switch {
		case w.count == 0:
			item.harmless("it has no replicas")
		case worker != nil:
			item.refuse("is a second group of workers", "a gang's workers are all the same; keep one group")
		default:
			worker = w
		}
	}
	return worker
}

// runEnds reads how often and how long a group of pods may run, and when it does.
func (k *k8sReader) runEnds(o *object, gang *spec.Document) {
	if v := o.take("backoffLimit"); v != nil {
		k.retries(v, gang, 0, 0, "")
	}
	if v := o.take("activeDeadlineSeconds"); v != nil {
		gang.MaxDuration = shorter(gang.MaxDuration, seconds(v.whole(1)))
		if gang.Retry.Limit > 0 {
			v.approximated("maxDuration", "it is of each attempt, not of all together")
		} else {
			v.translated("maxDuration", "")
		}
	}
	k.ttl(o.take("ttlSecondsAfterFinished"), gang)
	k.suspended(o.take("suspend"), gang)
}

// rayEnds reads how a RayJob ends.
func (k *k8sReader) rayEnds(s *object, gang *spec.Document) {
	k.runEnds(s, gang)
	if v := s.take("runtimeEnvYAML"); v != nil {
		v.lost("the entrypoint runs on the head itself, in its own environment; write integrations or env")
	}
	s.done(nothing{"shutdownAfterJobFinishes": "the cluster ends with its entrypoint", "submissionMode": "the entrypoint runs on the head", "submitterConfig": "the entrypoint runs on the head", "submitterPodTemplate": "the entrypoint runs on the head", "jobId": "workloads have ids of their own", "managedBy": "it is Muster's", "metadata": "labels say it"},
		nothing{"entrypointNumCpus": "the entrypoint shares the head", "entrypointNumGpus": "the entrypoint shares the head", "entrypointResources": "the entrypoint shares the head", "clusterSelector": "a cluster that is there is not used", "deletionStrategy": "the cluster ends with its entrypoint"}, false)
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
