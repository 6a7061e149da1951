// Package kubernetes reads manifests of Kubernetes and of the operators that run
// jobs in it, object by object, as documents.
package kubernetes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/convert/kubernetes/podnames"
	"github.com/musterhq/muster/internal/convert/kubernetes/servedmodels"
	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// kindReader is how one kind of Kubernetes objects is read.
type kindReader struct {
	group string // of apiVersion, with every version
	read  func(k *reader, o *source.Map, doc *spec.Document) *spec.Document
}

// kinds are the kinds that are workloads.
var kinds = map[string]kindReader{
	"Pod":              {"", (*reader).pod},
	"Job":              {"batch", (*reader).job},
	"CronJob":          {"batch", (*reader).cronJob},
	"Deployment":       {"apps", (*reader).deployment},
	"ReplicaSet":       {"apps", (*reader).replicaSet},
	"StatefulSet":      {"apps", (*reader).statefulSet},
	"PyTorchJob":       {"kubeflow.org", (*reader).pytorchJob},
	"TFJob":            {"kubeflow.org", (*reader).tfJob},
	"XGBoostJob":       {"kubeflow.org", (*reader).xgboostJob},
	"MPIJob":           {"kubeflow.org", (*reader).mpiJob},
	"Notebook":         {"kubeflow.org", (*reader).notebook},
	"InferenceService": {"serving.kserve.io", (*reader).inferenceService},
	"JAXJob":           {"kubeflow.org", (*reader).jaxJob},
	"JobSet":           {"jobset.x-k8s.io", (*reader).jobSet},
	"TrainJob":         {"trainer.kubeflow.org", (*reader).trainJob},
	"LeaderWorkerSet":  {"leaderworkerset.x-k8s.io", (*reader).leaderWorkerSet},
	"RayCluster":       {"ray.io", (*reader).rayCluster},
	"RayJob":           {"ray.io", (*reader).rayJob},
	"RayService":       {"ray.io", (*reader).rayService},
}

// knativeGroup has a kind of the same name as one that stands beside workloads.
const knativeGroup = "serving.knative.dev"

// Read reads the objects of one file. Objects that are not workloads are passed
// over, each with the reason.
func Read(r *source.Reader, trees []codec.Tree) {
	k := &reader{Reader: r, configs: map[string]map[string]string{}, computed: map[*spec.Document]*computed{},
		secrets: map[string][]string{}, secretKeys: map[string][]string{}, groups: map[string]*podGroup{}, runtimes: map[string]*codec.Tree{}, wrapped: map[*source.Map]*spec.Document{}, servings: servedmodels.Runtimes{}}
	var objects []*source.Map
	var open func(o *source.Map, depth int)
	open = func(o *source.Map, depth int) {
		if o == nil {
			return
		}
		kind := kind(o)
		if wraps(o) {
			for _, in := range unwrapped(k, o) {
				open(in, depth+1)
			}
			return
		}
		if kind != "List" && !strings.HasSuffix(kind, "List") || !o.Has("items") {
			objects = append(objects, o)
			return
		}
		if depth > 2 {
			r.Refuse(o.Tree.Line, source.FieldPath(o.Path, "items"), "", "lists lie in each other", "write one list of objects")
			return
		}
		for _, name := range []string{"apiVersion", "kind"} {
			o.Consume(name).Translated("", "says what the file is")
		}
		for _, item := range o.Consume("items").List() {
			open(item.Map(), depth+1)
		}
		o.Finish(source.Reasons{"metadata": "it is of the list"}, nil, false)
	}
	for i := range trees {
		open(r.Map(&trees[i], ""), 0)
	}
	for _, o := range objects { // workloads may come before what they refer to
		switch kind := kind(o); kind {
		case "ConfigMap":
			readConfig(k, o)
		case "Secret":
			secretNames(k, o)
		case "ClusterTrainingRuntime", "TrainingRuntime":
			k.runtimes[nameOf(o)] = source.Entry(o.Tree, "spec")
		case "ClusterServingRuntime", "ServingRuntime":
			if s := source.Entry(o.Tree, "spec"); s != nil {
				findSecrets(k, o.Tree)
				k.servings[nameOf(o)] = s
			}
		default:
			findSecrets(k, o.Tree)
			if _, is := kinds[kind]; is {
				k.work = true
				k.texts = append(k.texts, textsRead(o.Tree, false)...)
			}
		}
	}
	for _, o := range objects {
		k.readObject(o)
	}
	joinPods(k)
	nameServices(k)
	nameAlone(k)
}

// kind is the kind of an object, which stays untaken.
func kind(o *source.Map) string {
	for i, name := range o.Tree.Names {
		if name == "kind" {
			return o.Tree.Items[i].Text
		}
	}
	return ""
}

// readObject reads one object of a file.
func (k *reader) readObject(o *source.Map) {
	kind := kind(o)
	switch kind {
	case "ConfigMap":
		return
	case "Secret":
		readSecret(k, o)
		return
	}
	serves := kind == "Service" && strings.HasPrefix(entryText(o.Tree, "apiVersion"), knativeGroup+"/")
	if _, is := kinds[kind]; !is && !serves && k.beside(o, kind) {
		return
	}
	v, version := o.Consume("kind"), o.Consume("apiVersion")
	if v == nil || version == nil {
		k.Refuse(o.Tree.Line, o.Path, "", "has no kind and apiVersion of Kubernetes", "write both, such as apiVersion: batch/v1 and kind: Job")
		return
	}
	is, known := kinds[kind]
	switch api := strings.TrimPrefix(version.Tree.Text, volcanoGroup+"/"); {
	case serves:
		is, known = kindReader{knativeGroup, (*reader).knative}, true
	case kind == "Job" && api != version.Tree.Text:
		is = kindReader{volcanoGroup, (*reader).volcanoJob}
	case kind == "CronJob" && api != version.Tree.Text:
		is = kindReader{volcanoGroup, func(k *reader, o *source.Map, doc *spec.Document) *spec.Document { return scheduled(k, o, doc, k.volcanoJob) }}
	}
	if !known {
		elsewhere(v, kind)
		return
	}
	group, _, grouped := strings.Cut(version.Text(), "/")
	if !grouped {
		group = ""
	}
	if version.Text() == "serving.kubeflow.org/v1beta1" { // as KServe was called
		group = is.group
	}
	if group != is.group {
		version.Refuse(fmt.Sprintf("a %s is not of %q", kind, source.Shorten(version.Tree.Text)), "its group is "+is.group)
		return
	}
	v.Translated("kind", "")
	version.Translated("", "says what the file is")
	doc := &spec.Document{Kind: lifecycle.Training}
	k.meta(o.Map("metadata"), doc, true)
	inWrapper(k, o, doc)
	k.schedule = nil
	before := len(k.Documents)
	doc = is.read(k, o, doc)
	for _, d := range append(slices.Clone(k.Documents[before:]), doc) {
		podnames.Within(d, o.Tree)
	}
	o.Finish(source.Reasons{"status": "what the cluster wrote"}, nil, false)
	at := &source.Value{Reader: k.Reader, Tree: o.Tree, Path: "spec", Line: o.Tree.Line}
	if doc != nil && kind == "Pod" && ofGroup(k, doc, at) {
		return
	}
	if doc != nil {
		k.scripted(doc, nil, at)
	}
	k.ApplyAnnotation(doc)
	if k.schedule != nil {
		k.AddScheduled(doc, *k.schedule)
		return
	}
	k.Add(doc)
}
