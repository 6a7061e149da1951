package kubernetes

import (
	"strings"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
)

// runtime is what a TrainJob takes from the cluster where the file does not
// have it.
type runtime struct {
	framework, image string
	slots            int
}

// runtimes are those that come with Kubeflow Trainer (manifests/base/runtimes
// of its release 2.0.0 of July 2025, with the frameworks of later ones).
var runtimes = map[string]runtime{
	"torch-distributed":            {"pytorch", "pytorch/pytorch:2.7.1-cuda12.8-cudnn9-runtime", 0},
	"torch-distributed-multi-node": {"pytorch", "", 0},
	"deepspeed-distributed":        {"mpi", "ghcr.io/kubeflow/trainer/deepspeed-runtime", 4},
	"mpi-distributed":              {"mpi", "mpioperator/mpi-pi:openmpi", 1},
	"mlx-distributed":              {"mpi", "ghcr.io/kubeflow/trainer/mlx-runtime", 1},
	"jax-distributed":              {"jax", "", 0},
	"xgboost-distributed":          {"xgboost", "", 0},
}

// runtimeOf gives a TrainJob what its runtime says: one of the file, or one that
// comes with Kubeflow Trainer.
func runtimeOf(k *reader, ref *source.Map, doc *spec.Document) {
	v := ref.Consume("name")
	name := v.Text()
	ref.Finish(source.Reasons{"apiGroup": "it is Kubeflow Trainer's", "kind": "it is found by its name"}, nil, false)
	if t := k.runtimes[name]; t != nil {
		ownRuntime(k, k.Map(t, "spec"), doc)
		v.Translated("framework", "the runtime is in the file")
		return
	}
	r, known := runtimes[name]
	switch {
	case known:
		doc.Framework, doc.Image, doc.Slots = r.framework, r.image, r.slots
		if doc.Framework != "mpi" {
			doc.Slots = 0
		}
		v.Translated("framework", "as the runtime of that name comes with Kubeflow Trainer; what a cluster has added to it is not known")
	case strings.HasPrefix(name, "torch"):
		doc.Framework = "pytorch"
		v.Approximated("framework", "of the runtime only the framework is known; what else it has is missing")
	case v != nil:
		v.Dropped("the runtime is not in the file; what it has is missing")
	}
}

// ownRuntime reads a runtime of the file: its policy, and the template of its
// node.
func ownRuntime(k *reader, s *source.Map, doc *spec.Document) {
	if p := s.Map("mlPolicy"); p != nil {
		if v := p.Consume("numNodes"); v != nil {
			doc.Workers = v.Integer(1)
			v.Translated("workers", "")
		}
		for _, f := range []struct{ name, framework string }{{"torch", "pytorch"}, {"mpi", "mpi"}, {"jax", "jax"}, {"xgboost", "xgboost"}} {
			if !p.Has(f.name) {
				continue
			}
			doc.Framework = f.framework
			v := p.Consume(f.name)
			v.Translated("framework", "")
			if v == nil {
				continue
			}
			m := v.Map()
			if n := m.Consume("numProcPerNode"); n != nil && f.name == "mpi" {
				doc.Slots = n.Integer(1)
				n.Translated("slots", "")
			} else if n != nil {
				n.Translated("resources.gpu", "one for each GPU")
			}
			m.Finish(source.Reasons{"mpiImplementation": "it is Open MPI that is launched", "sshAuthMountPath": "workers are reached without ssh", "runLauncherAsNode": "the launcher stands beside the workers"}, source.Reasons{"elasticPolicy": "write minWorkers"}, false)
		}
		p.Finish(nil, nil, false)
	}
	set := s.Map("template")
	jobs := set.Map("spec")
	for _, item := range jobs.Consume("replicatedJobs").List() {
		j := item.Map()
		if name := j.Consume("name"); name.Text() != "node" && name.Text() != "trainer-node" {
			if name.Text() == "launcher" && doc.Framework == "mpi" {
				item.Ignored("the launcher is Muster's")
			} else {
				item.Dropped("the gang is of the nodes; what this one does is missing")
			}
			continue
		}
		job := j.Map("template")
		inner := job.Map("spec")
		headRestart(k.template(inner.Map("template"), doc, "node"))
		inner.Finish(source.Reasons{"backoffLimit": "the whole gang is tried again", "parallelism": "the TrainJob says it", "completions": "the TrainJob says it", "completionMode": "each task knows its index"}, nil, false)
		job.Finish(source.Reasons{"metadata": "it says which part of a runtime it is"}, nil, false)
		j.Finish(source.Reasons{"replicas": "the TrainJob says it"}, source.Reasons{"dependsOn": "all start together"}, false)
	}
	jobs.Finish(source.Reasons{"network": "tasks find each other by MASTER_ADDR", "successPolicy": "its first task decides, or all"}, nil, false)
	set.Finish(source.Reasons{"metadata": "it is of what the cluster makes"}, nil, false)
	s.Finish(source.Reasons{"podGroupPolicy": "gangs start together by themselves"}, nil, false)
}
