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
)

// k8sKind is how one kind of Kubernetes objects is read.
type k8sKind struct {
	group string // of apiVersion, with every version
	read  func(k *k8sReader, o *source.Map, doc *spec.Document) *spec.Document
}

// k8sKinds are the kinds that are workloads.
var k8sKinds = map[string]k8sKind{
	"Pod":         {"", (*k8sReader).pod},
	"Job":         {"batch", (*k8sReader).job},
	"Deployment":  {"apps", (*k8sReader).deployment},
	"ReplicaSet":  {"apps", (*k8sReader).replicaSet},
	"StatefulSet": {"apps", (*k8sReader).statefulSet},
	"PyTorchJob":  {"kubeflow.org", (*k8sReader).pytorchJob},
	"TFJob":       {"kubeflow.org", (*k8sReader).tfJob},
	"XGBoostJob":  {"kubeflow.org", (*k8sReader).xgboostJob},
	"MPIJob":      {"kubeflow.org", (*k8sReader).mpiJob},
	"Notebook":    {"kubeflow.org", (*k8sReader).notebook},
	"JobSet":      {"jobset.x-k8s.io", (*k8sReader).jobSet},
	"TrainJob":    {"trainer.kubeflow.org", (*k8sReader).trainJob},
	"RayJob":      {"ray.io", (*k8sReader).rayJob},
}

// knativeGroup has a kind of the same name as one that stands beside workloads.
const knativeGroup = "serving.knative.dev"

// k8sBeside are kinds that stand beside workloads in a file, and why nothing
// is made of them.
var k8sBeside = source.Nothing{
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

// k8sReader reads the objects of one file.
type k8sReader struct {
	*source.Reader
	configs map[string]map[string]string // ConfigMaps of the file, by name
	scaling *scaler                      // of the Service of Knative that is read; nil: it is another kind
}

// Read reads the objects of one file. Objects that are not workloads are passed
// over, each with the reason.
func Read(r *source.Reader, trees []spec.Tree) {
	k := &k8sReader{Reader: r, configs: map[string]map[string]string{}}
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
			r.Refuse(o.T.Line, source.Below(o.Path, "items"), "", "lists lie in each other", "write one list of objects")
			return
		}
		for _, name := range []string{"apiVersion", "kind"} {
			o.Take(name).Translated("", "says what the file is")
		}
		for _, item := range o.Take("items").List() {
			open(item.Map(), depth+1)
		}
		o.Done(source.Nothing{"metadata": "it is of the list"}, nil, false)
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
	for i, name := range o.T.Names {
		if name == "kind" {
			return o.T.Items[i].Text
		}
	}
	return ""
}

func (k *k8sReader) config(o *source.Map) {
	name := ""
	for i, n := range o.T.Names {
		if n != "metadata" {
			continue
		}
		for j, m := range o.T.Items[i].Names {
			if m == "name" {
				name = o.T.Items[i].Items[j].Text
			}
		}
	}
	files := map[string]string{}
	if v := o.Take("data"); v != nil {
		names, values := v.Pairs()
		for i, n := range names {
			files[n] = values[i].Text()
		}
		v.Translated("volumes", "the files of a volume")
	}
	k.configs[name] = files
	for _, n := range []string{"apiVersion", "kind", "metadata"} {
		o.Take(n).Harmless("its files are in the document of whoever mounts it")
	}
	o.Done(source.Nothing{"immutable": "documents keep their files"}, source.Nothing{"binaryData": "files of documents are text"}, false)
}

// readObject reads one object of a file.
func (k *k8sReader) readObject(o *source.Map) {
	kind := kind(o)
	if kind == "ConfigMap" {
		return
	}
	serves := kind == "Service" && strings.HasPrefix(entryText(o.T, "apiVersion"), knativeGroup+"/")
	if why, beside := k8sBeside[kind]; beside && !serves {
		k.Note(source.Note{Line: o.T.Line, Last: source.LastLine(o.T), Field: kind, Fate: source.Ignored, Reason: why, Lossy: kind != "Service" && kind != "Namespace"})
		return
	}
	v, version := o.Take("kind"), o.Take("apiVersion")
	if v == nil || version == nil {
		k.Refuse(o.T.Line, o.Path, "", "has no kind and apiVersion of Kubernetes", "write both, such as apiVersion: batch/v1 and kind: Job")
		return
	}
	is, known := k8sKinds[kind]
	if serves {
		is, known = k8sKind{knativeGroup, (*k8sReader).knative}, true
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
		version.Refuse(fmt.Sprintf("a %s is not of %q", kind, source.Shorten(version.T.Text)), "its group is "+is.group)
		return
	}
	v.Translated("kind", "")
	version.Translated("", "says what the file is")
	doc := &spec.Document{Kind: lifecycle.Training}
	k.meta(o.Map("metadata"), doc, true)
	doc = is.read(k, o, doc)
	o.Done(source.Nothing{"status": "what the cluster wrote"}, nil, false)
	k.Overlaid(doc)
	k.Add(doc)
}

// queueLabels name the queue of a workload, and thereby its project.
var queueLabels = []string{"kueue.x-k8s.io/queue-name", "kai.scheduler/queue", "runai/queue", "project"}

var metaHarmless = source.Nothing{
	"creationTimestamp": "what the cluster wrote", "uid": "what the cluster wrote", "resourceVersion": "what the cluster wrote",
	"generation": "what the cluster wrote", "managedFields": "what the cluster wrote", "selfLink": "what the cluster wrote",
}

// meta reads metadata: of the object itself, or of its pods' template.
func (k *k8sReader) meta(o *source.Map, doc *spec.Document, own bool) {
	if o == nil {
		return
	}
	if own {
		readNames(o, doc)
	} else {
		o.Take("name").Harmless("pods are named after their workload")
		o.Take("namespace").Harmless("pods are where their workload is")
	}
	queue := readLabels(o, doc)
	if v := o.Take("namespace"); v != nil {
		switch name := v.Text(); {
		case queue:
			v.Harmless("its queue says the project, which has a namespace of its own")
		case name == "default":
			v.Kept("project")
		default:
			doc.Project = name
			v.Translated("project", "namespaces are projects here")
		}
	}
	names, values := o.Take("annotations").Pairs()
	for i, name := range names {
		k.annotation(doc, name, values[i])
	}
	o.Done(metaHarmless, source.Nothing{"finalizers": "nothing here waits for them", "ownerReferences": "workloads have no owners"}, false)
}

func readNames(o *source.Map, doc *spec.Document) {
	if v := o.Take("name"); v != nil {
		doc.Name = v.Name("name")
	}
	if v := o.Take("generateName"); v != nil {
		if doc.Name != "" {
			v.Harmless("it has a name")
			return
		}
		doc.NamePrefix = strings.TrimRight(v.Text(), "-")
		v.Translated("namePrefix", "")
	}
}

// readLabels reads labels and reports whether they name a queue.
func readLabels(o *source.Map, doc *spec.Document) (queue bool) {
	names, values := o.Take("labels").Pairs()
	for i, name := range names {
		v := values[i]
		switch {
		case slices.Contains(queueLabels, name):
			if doc.Project != "" && doc.Project != v.Text() {
				v.Refuse(fmt.Sprintf("names the queue %q, and another label %q", source.Shorten(v.T.Text), source.Shorten(doc.Project)), "keep one of them")
			}
			doc.Project, queue = v.Text(), true
			v.Translated("project", "queues are projects here")
		case name == "kueue.x-k8s.io/priority-class":
			readPriority(doc, v)
		case name == "kueue.x-k8s.io/max-exec-time-seconds":
			if s := v.Whole(1); s > 0 {
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

func (k *k8sReader) annotation(doc *spec.Document, name string, v *source.Value) {
	if of, is := strings.CutPrefix(name, "autoscaling.knative.dev/"); is && k.scaling != nil {
		readScale(k.scaling, of, v)
		return
	}
	switch name {
	case "kubectl.kubernetes.io/last-applied-configuration", "deployment.kubernetes.io/revision":
		v.Harmless("what kubectl wrote")
	case source.OverlayName:
		doc.Annotations = source.Put(doc.Annotations, source.OverlayName, v.Text())
		v.Translated("", "what the format has no words for")
	case "gpu-fraction":
		if s, err := spec.ParseShare(v.Text()); err == nil {
			doc.Resources.GPU.Share = s
			v.Translated("resources.gpu.share", "")
		} else {
			v.Refuse(source.ProblemOf(err), source.HintOf(err))
		}
	case "gpu-memory":
		if n := v.Whole(1); n > 0 {
			doc.Resources.GPU.Memory = spec.Quantity(n) * 1000 << 20
			v.Translated("resources.gpu.memory", "it is in MiB")
		}
	case "gpu-fraction-num-devices":
		doc.Resources.GPU.Count = v.Whole(1)
		v.Translated("resources.gpu.count", "")
	case "kueue.x-k8s.io/podset-required-topology":
		doc.Topology.Required = v.Text()
		v.Translated("topology.required", "")
	case "kueue.x-k8s.io/podset-preferred-topology":
		doc.Topology.Preferred = v.Text()
		v.Translated("topology.preferred", "")
	case "kueue.x-k8s.io/podset-unconstrained-topology":
		v.Harmless("any place is as good")
	default:
		doc.Annotations = source.Put(doc.Annotations, name, v.Text())
		v.Kept("annotations." + name)
	}
}

// readPriority reads the name of a priority class.
func readPriority(doc *spec.Document, v *source.Value) {
	name := v.Text()
	p, ok := source.PriorityNamed(name)
	switch {
	case !ok && doc.Priority != 0:
		v.Lost("it is no priority here; another class says it")
	case !ok:
		v.Lost("it is no priority here; write priority: low, medium, high or a number")
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
