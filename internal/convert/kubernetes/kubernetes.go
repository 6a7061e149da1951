// Package kubernetes reads manifests of Kubernetes and of the operators that run
// jobs in it, object by object, as documents.
package kubernetes

import (
	"fmt"
	"slices"
	"strings"

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
	"Pod":         {"", (*reader).pod},
	"Job":         {"batch", (*reader).job},
	"Deployment":  {"apps", (*reader).deployment},
	"ReplicaSet":  {"apps", (*reader).replicaSet},
	"StatefulSet": {"apps", (*reader).statefulSet},
	"PyTorchJob":  {"kubeflow.org", (*reader).pytorchJob},
	"TFJob":       {"kubeflow.org", (*reader).tfJob},
	"XGBoostJob":  {"kubeflow.org", (*reader).xgboostJob},
	"MPIJob":      {"kubeflow.org", (*reader).mpiJob},
	"Notebook":    {"kubeflow.org", (*reader).notebook},
	"JAXJob":      {"kubeflow.org", (*reader).jaxJob},
	"JobSet":      {"jobset.x-k8s.io", (*reader).jobSet},
	"TrainJob":    {"trainer.kubeflow.org", (*reader).trainJob},
	"RayCluster":  {"ray.io", (*reader).rayCluster},
	"RayJob":      {"ray.io", (*reader).rayJob},
}

// knativeGroup has a kind of the same name as one that stands beside workloads.
const knativeGroup = "serving.knative.dev"

// companions are kinds that stand beside workloads in a file, and why nothing
// is made of them.
var companions = source.Reasons{
	"Service":                 "tasks and replicas are reached without one",
	"Namespace":               "projects are made by muster apply",
	"ServiceAccount":          "tasks have no account in the cluster",
	"Role":                    "tasks have no account in the cluster",
	"RoleBinding":             "tasks have no account in the cluster",
	"PersistentVolumeClaim":   "a claim must be there; make it with kubectl",
	"PersistentVolume":        "a volume must be there; make it with kubectl",
	"Secret":                  "values of secrets are never in documents; muster secret create makes them",
	"Ingress":                 "replicas are reached through the server",
	"PodDisruptionBudget":     "the scheduler keeps gangs whole by itself",
	"HorizontalPodAutoscaler": "replicas follow requests under way, not load; write autoscale",
	"PriorityClass":           "priorities are numbers here",
	"NetworkPolicy":           "there are no network rules",
	"LocalQueue":              "queues are projects here; muster apply makes them",
	"ClusterQueue":            "queues are projects here; muster apply makes them",
	"ResourceFlavor":          "flavors are node pools here; muster apply makes them",
}

// reader reads the objects of one file.
type reader struct {
	*source.Reader
	configs  map[string]map[string]string // ConfigMaps of the file, by name
	computed map[*spec.Document]*computed // what a shell finds out for a document's tasks, until its command does
	scaling  *scaler                      // of the Service of Knative that is read; nil: it is another kind
}

// Read reads the objects of one file. Objects that are not workloads are passed
// over, each with the reason.
func Read(r *source.Reader, trees []codec.Tree) {
	k := &reader{Reader: r, configs: map[string]map[string]string{}, computed: map[*spec.Document]*computed{}}
	var objects []*source.Map
	var open func(o *source.Map, depth int)
	open = func(o *source.Map, depth int) {
		if o == nil {
			return
		}
		kind := kind(o)
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
		if kind(o) == "ConfigMap" {
			k.config(o)
		}
	}
	for _, o := range objects {
		k.readObject(o)
	}
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

func (k *reader) config(o *source.Map) {
	name := ""
	for i, n := range o.Tree.Names {
		if n != "metadata" {
			continue
		}
		for j, m := range o.Tree.Items[i].Names {
			if m == "name" {
				name = o.Tree.Items[i].Items[j].Text
			}
		}
	}
	files := map[string]string{}
	if v := o.Consume("data"); v != nil {
		names, values := v.Pairs()
		for i, n := range names {
			files[n] = values[i].Text()
		}
		v.Translated("volumes", "the files of a volume")
	}
	k.configs[name] = files
	for _, n := range []string{"apiVersion", "kind", "metadata"} {
		o.Consume(n).Ignored("its files are in the document of whoever mounts it")
	}
	o.Finish(source.Reasons{"immutable": "documents keep their files"}, source.Reasons{"binaryData": "files of documents are text"}, false)
}

// readObject reads one object of a file.
func (k *reader) readObject(o *source.Map) {
	kind := kind(o)
	if kind == "ConfigMap" {
		return
	}
	serves := kind == "Service" && strings.HasPrefix(entryText(o.Tree, "apiVersion"), knativeGroup+"/")
	if why, beside := companions[kind]; beside && !serves {
		k.Note(source.Note{Line: o.Tree.Line, Last: source.LastLine(o.Tree), Field: kind, Fate: source.Ignored, Reason: why, Lossy: kind != "Service" && kind != "Namespace"})
		return
	}
	v, version := o.Consume("kind"), o.Consume("apiVersion")
	if v == nil || version == nil {
		k.Refuse(o.Tree.Line, o.Path, "", "has no kind and apiVersion of Kubernetes", "write both, such as apiVersion: batch/v1 and kind: Job")
		return
	}
	is, known := kinds[kind]
	if serves {
		is, known = kindReader{knativeGroup, (*reader).knative}, true
	}
	if !known {
		elsewhere(v, kind)
		return
	}
	group, _, grouped := strings.Cut(version.Text(), "/")
	if !grouped {
		group = ""
	}
	if group != is.group {
		version.Refuse(fmt.Sprintf("a %s is not of %q", kind, source.Shorten(version.Tree.Text)), "its group is "+is.group)
		return
	}
	v.Translated("kind", "")
	version.Translated("", "says what the file is")
	doc := &spec.Document{Kind: lifecycle.Training}
	k.meta(o.Map("metadata"), doc, true)
	doc = is.read(k, o, doc)
	o.Finish(source.Reasons{"status": "what the cluster wrote"}, nil, false)
	if doc != nil {
		k.scripted(doc, nil, &source.Value{Reader: k.Reader, Tree: o.Tree, Path: "spec", Line: o.Tree.Line})
	}
	k.ApplyAnnotation(doc)
	k.Add(doc)
}

// queueLabels name the queue of a workload, and thereby its project.
var queueLabels = []string{"kueue.x-k8s.io/queue-name", "kai.scheduler/queue", "runai/queue", "project"}

var metaIgnored = source.Reasons{
	"creationTimestamp": "what the cluster wrote", "uid": "what the cluster wrote", "resourceVersion": "what the cluster wrote",
	"generation": "what the cluster wrote", "managedFields": "what the cluster wrote", "selfLink": "what the cluster wrote",
}

// meta reads metadata: of the object itself, or of its pods' template.
func (k *reader) meta(o *source.Map, doc *spec.Document, own bool) {
	if o == nil {
		return
	}
	if own {
		readNames(o, doc)
	} else {
		o.Consume("name").Ignored("pods are named after their workload")
		o.Consume("namespace").Ignored("pods are where their workload is")
	}
	queue := readLabels(o, doc)
	if v := o.Consume("namespace"); v != nil {
		switch name := v.Text(); {
		case queue:
			v.Ignored("its queue says the project, which has a namespace of its own")
		case name == "default":
			v.Kept("project")
		default:
			doc.Project = name
			v.Translated("project", "namespaces are projects here")
		}
	}
	names, values := o.Consume("annotations").Pairs()
	for i, name := range names {
		k.annotation(doc, name, values[i])
	}
	o.Finish(metaIgnored, source.Reasons{"finalizers": "nothing here waits for them", "ownerReferences": "workloads have no owners"}, false)
}

func readNames(o *source.Map, doc *spec.Document) {
	if v := o.Consume("name"); v != nil {
		doc.Name = v.Name("name")
	}
	if v := o.Consume("generateName"); v != nil {
		if doc.Name != "" {
			v.Ignored("it has a name")
			return
		}
		doc.NamePrefix = strings.TrimRight(v.Text(), "-")
		v.Translated("namePrefix", "")
	}
}

// readLabels reads labels and reports whether they name a queue.
func readLabels(o *source.Map, doc *spec.Document) (queue bool) {
	names, values := o.Consume("labels").Pairs()
	for i, name := range names {
		v := values[i]
		switch {
		case slices.Contains(queueLabels, name):
			if doc.Project != "" && doc.Project != v.Text() {
				v.Refuse(fmt.Sprintf("names the queue %q, and another label %q", source.Shorten(v.Tree.Text), source.Shorten(doc.Project)), "keep one of them")
			}
			doc.Project, queue = v.Text(), true
			v.Translated("project", "queues are projects here")
		case name == "kueue.x-k8s.io/priority-class":
			readPriority(doc, v)
		case name == "kueue.x-k8s.io/max-exec-time-seconds":
			if s := v.Integer(1); s > 0 {
				doc.MaxDuration = shorter(doc.MaxDuration, source.Seconds(s))
				v.Translated("maxDuration", "")
			}
		default:
			if doc.Labels == nil {
				doc.Labels = map[string]string{}
			}
			doc.Labels[name] = v.Text()
			v.Kept("labels." + name)
		}
	}
	return queue
}

func (k *reader) annotation(doc *spec.Document, name string, v *source.Value) {
	if of, is := strings.CutPrefix(name, "autoscaling.knative.dev/"); is && k.scaling != nil {
		readScale(k.scaling, of, v)
		return
	}
	switch name {
	case "kubectl.kubernetes.io/last-applied-configuration", "deployment.kubernetes.io/revision":
		v.Ignored("what kubectl wrote")
	case source.OverlayName:
		doc.Annotations = source.Set(doc.Annotations, source.OverlayName, v.Text())
		v.Translated("", "what the format has no words for")
	case "gpu-fraction":
		if s, err := spec.ParseShare(v.Text()); err == nil {
			doc.Resources.GPU.Share = s
			v.Translated("resources.gpu.share", "")
		} else {
			v.Refuse(source.ProblemOf(err), source.HintOf(err))
		}
	case "gpu-memory":
		if n := v.Integer(1); n > 0 {
			doc.Resources.GPU.Memory = spec.Quantity(n) * 1000 << 20
			v.Translated("resources.gpu.memory", "it is in MiB")
		}
	case "gpu-fraction-num-devices":
		doc.Resources.GPU.Count = v.Integer(1)
		v.Translated("resources.gpu.count", "")
	case "kueue.x-k8s.io/podset-required-topology":
		doc.Topology.Required = v.Text()
		v.Translated("topology.required", "")
	case "kueue.x-k8s.io/podset-preferred-topology":
		doc.Topology.Preferred = v.Text()
		v.Translated("topology.preferred", "")
	case "kueue.x-k8s.io/podset-unconstrained-topology":
		v.Ignored("any place is as good")
	default:
		doc.Annotations = source.Set(doc.Annotations, name, v.Text())
		v.Kept("annotations." + name)
	}
}

// readPriority reads the name of a priority class.
func readPriority(doc *spec.Document, v *source.Value) {
	name := v.Text()
	p, ok := source.PriorityNamed(name)
	switch {
	case !ok && doc.Priority != 0:
		v.Dropped("it is no priority here; another class says it")
	case !ok:
		v.Dropped("it is no priority here; write priority: low, medium, high or a number")
	default:
		doc.Priority = p
		if p.String() == name {
			v.Kept("priority")
		} else {
			v.Translated("priority", "")
		}
	}
}

// shorter is the shorter of two limits, of which 0 is none.
func shorter(a, b spec.Duration) spec.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
