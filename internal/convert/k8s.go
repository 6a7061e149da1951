package convert

import (
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// k8sKind is how one kind of Kubernetes objects is read.
type k8sKind struct {
	group string // of apiVersion, with every version
	read  func(k *k8sReader, o *object, doc *spec.Document) *spec.Document
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
var k8sBeside = nothing{
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
	*reader
	configs map[string]map[string]string // ConfigMaps of the file, by name
	scaling *scaler                      // of the Service of Knative that is read; nil: it is another kind
}

func (r *reader) kubernetes(trees []spec.Tree) {
	k := &k8sReader{reader: r, configs: map[string]map[string]string{}}
	var objects []*object
	var open func(o *object, depth int)
	open = func(o *object, depth int) {
		if o == nil {
			return
		}
		kind := o.kind()
		if kind != "List" && !strings.HasSuffix(kind, "List") || !o.has("items") {
			objects = append(objects, o)
			return
		}
		if depth > 2 {
			r.refuse(o.t.Line, below(o.path, "items"), "", "lists lie in each other", "write one list of objects")
			return
		}
		for _, name := range []string{"apiVersion", "kind"} {
			o.take(name).translated("", "says what the file is")
		}
		for _, item := range o.take("items").list() {
			open(item.object(), depth+1)
		}
		o.done(nothing{"metadata": "it is of the list"}, nil, false)
	}
	for i := range trees {
		open(r.object(&trees[i], ""), 0)
	}
	for _, o := range objects { // workloads may come before what they refer to
		if o.kind() == "ConfigMap" {
			k.config(o)
		}
	}
	for _, o := range objects {
		k.readObject(o)
	}
}

// kind is the kind of an object, which stays untaken.
func (o *object) kind() string {
	for i, name := range o.t.Names {
		if name == "kind" {
			return o.t.Items[i].Text
		}
	}
	return ""
}

func (k *k8sReader) config(o *object) {
	name := ""
	for i, n := range o.t.Names {
		if n != "metadata" {
			continue
		}
		for j, m := range o.t.Items[i].Names {
			if m == "name" {
				name = o.t.Items[i].Items[j].Text
			}
		}
	}
	files := map[string]string{}
	if v := o.take("data"); v != nil {
		names, values := v.pairs()
		for i, n := range names {
			files[n] = values[i].text()
		}
		v.translated("volumes", "the files of a volume")
	}
	k.configs[name] = files
	for _, n := range []string{"apiVersion", "kind", "metadata"} {
		o.take(n).harmless("its files are in the document of whoever mounts it")
	}
	o.done(nothing{"immutable": "documents keep their files"}, nothing{"binaryData": "files of documents are text"}, false)
}

// readObject reads one object of a file.
func (k *k8sReader) readObject(o *object) {
	kind := o.kind()
	if kind == "ConfigMap" {
		return
	}
	serves := kind == "Service" && strings.HasPrefix(entryText(o.t, "apiVersion"), knativeGroup+"/")
	if why, beside := k8sBeside[kind]; beside && !serves {
		k.note(Note{Line: o.t.Line, Last: lastLine(o.t), Field: kind, Fate: Ignored, Reason: why, Lossy: kind != "Service" && kind != "Namespace"})
		return
	}
	v, version := o.take("kind"), o.take("apiVersion")
	if v == nil || version == nil {
		k.refuse(o.t.Line, o.path, "", "has no kind and apiVersion of Kubernetes", "write both, such as apiVersion: batch/v1 and kind: Job")
		return
	}
	is, known := k8sKinds[kind]
	if serves {
		is, known = k8sKind{knativeGroup, (*k8sReader).knative}, true
	}
	if !known {
		v.elsewhere(kind)
		return
	}
	group, _, grouped := strings.Cut(version.text(), "/")
	if !grouped {
		group = ""
	}
	if group != is.group {
		version.refuse(fmt.Sprintf("a %s is not of %q", kind, shorten(version.t.Text)), "its group is "+is.group)
		return
	}
	v.translated("kind", "")
	version.translated("", "says what the file is")
	doc := &spec.Document{Kind: lifecycle.Training}
	k.meta(o.object("metadata"), doc, true)
	doc = is.read(k, o, doc)
	o.done(nothing{"status": "what the cluster wrote"}, nil, false)
	k.overlaid(doc)
	k.add(doc)
}

// queueLabels name the queue of a workload, and thereby its project.
var queueLabels = []string{"kueue.x-k8s.io/queue-name", "kai.scheduler/queue", "runai/queue", "project"}

var metaHarmless = nothing{
	"creationTimestamp": "what the cluster wrote", "uid": "what the cluster wrote", "resourceVersion": "what the cluster wrote",
	"generation": "what the cluster wrote", "managedFields": "what the cluster wrote", "selfLink": "what the cluster wrote",
}

// meta reads metadata: of the object itself, or of its pods' template.
func (k *k8sReader) meta(o *object, doc *spec.Document, own bool) {
	if o == nil {
		return
	}
	if own {
		k.names(o, doc)
	} else {
		o.take("name").harmless("pods are named after their workload")
		o.take("namespace").harmless("pods are where their workload is")
	}
	queue := k.labels(o, doc)
	if v := o.take("namespace"); v != nil {
		switch name := v.text(); {
		case queue:
			v.harmless("its queue says the project, which has a namespace of its own")
		case name == "default":
			v.kept("project")
		default:
			doc.Project = name
			v.translated("project", "namespaces are projects here")
		}
	}
	names, values := o.take("annotations").pairs()
	for i, name := range names {
		k.annotation(doc, name, values[i])
	}
	o.done(metaHarmless, nothing{"finalizers": "nothing here waits for them", "ownerReferences": "workloads have no owners"}, false)
}

func (k *k8sReader) names(o *object, doc *spec.Document) {
	if v := o.take("name"); v != nil {
		doc.Name = v.name("name")
	}
	if v := o.take("generateName"); v != nil {
		if doc.Name != "" {
			v.harmless("it has a name")
			return
		}
		doc.NamePrefix = strings.TrimRight(v.text(), "-")
		v.translated("namePrefix", "")
	}
}

// labels reads labels and reports whether they name a queue.
func (k *k8sReader) labels(o *object, doc *spec.Document) (queue bool) {
	names, values := o.take("labels").pairs()
	for i, name := range names {
		v := values[i]
		switch {
		case slices.Contains(queueLabels, name):
			if doc.Project != "" && doc.Project != v.text() {
				v.refuse(fmt.Sprintf("names the queue %q, and another label %q", shorten(v.t.Text), shorten(doc.Project)), "keep one of them")
			}
			doc.Project, queue = v.text(), true
			v.translated("project", "queues are projects here")
		case name == "kueue.x-k8s.io/priority-class":
			k.priority(doc, v)
		case name == "kueue.x-k8s.io/max-exec-time-seconds":
			if s := v.whole(1); s > 0 {
				doc.MaxDuration = shorter(doc.MaxDuration, seconds(s))
				v.translated("maxDuration", "")
			}
		default:
			if doc.Labels == nil {
				doc.Labels = map[string]string{}
			}
			doc.Labels[name] = v.text()
			v.kept("labels." + name)
		}
	}
	return queue
}

func (k *k8sReader) annotation(doc *spec.Document, name string, v *value) {
	if of, is := strings.CutPrefix(name, "autoscaling.knative.dev/"); is && k.scaling != nil {
		k.scale(k.scaling, of, v)
		return
	}
	switch name {
	case "kubectl.kubernetes.io/last-applied-configuration", "deployment.kubernetes.io/revision":
		v.harmless("what kubectl wrote")
	case overlayName:
		doc.Annotations = put(doc.Annotations, overlayName, v.text())
		v.translated("", "what the format has no words for")
	case "gpu-fraction":
		if s, err := spec.ParseShare(v.text()); err == nil {
			doc.Resources.GPU.Share = s
			v.translated("resources.gpu.share", "")
		} else {
			v.refuse(problemOf(err), hintOf(err))
		}
	case "gpu-memory":
		if n := v.whole(1); n > 0 {
			doc.Resources.GPU.Memory = spec.Quantity(n) * 1000 << 20
			v.translated("resources.gpu.memory", "it is in MiB")
		}
	case "gpu-fraction-num-devices":
		doc.Resources.GPU.Count = v.whole(1)
		v.translated("resources.gpu.count", "")
	case "kueue.x-k8s.io/podset-required-topology":
		doc.Topology.Required = v.text()
		v.translated("topology.required", "")
	case "kueue.x-k8s.io/podset-preferred-topology":
		doc.Topology.Preferred = v.text()
		v.translated("topology.preferred", "")
	case "kueue.x-k8s.io/podset-unconstrained-topology":
		v.harmless("any place is as good")
	default:
		doc.Annotations = put(doc.Annotations, name, v.text())
		v.kept("annotations." + name)
	}
}

// priority reads the name of a priority class.
func (k *k8sReader) priority(doc *spec.Document, v *value) {
	name := v.text()
	p, ok := priorityNamed(name)
	switch {
	case !ok && doc.Priority != 0:
		v.lost("it is no priority here; another class says it")
	case !ok:
		v.lost("it is no priority here; write priority: low, medium, high or a number")
	default:
		doc.Priority = p
		if p.String() == name {
			v.kept("priority")
		} else {
			v.translated("priority", "")
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
