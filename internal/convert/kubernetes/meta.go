package kubernetes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/convert/kubernetes/servedmodels"
	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// reader reads the objects of one file.
type reader struct {
	*source.Reader
	configs    map[string]map[string]string   // ConfigMaps of the file, by name
	claims     map[string]*volumeSource       // that each replica of the set which is read has of its own, by name
	secrets    map[string][]string            // keys of secrets that are used, by the name of the secret
	secretKeys map[string][]string            // keys of the Secrets of the file
	groupNames []string                       // of groups, in their order
	runtimes   map[string]*codec.Tree         // runtimes of the file, by name
	servings   servedmodels.Runtimes          // those of KServe
	work       bool                           // the file has a workload
	texts      []*codec.Tree                  // what its tasks read
	services   []*source.Map                  // that lead to pods by a name
	groups     map[string]*podGroup           // pods that start together
	computed   map[*spec.Document]*computed   // what a shell finds out for a document's tasks, until its command does
	schedule   *source.Schedule               // of the CronJob that is read; nil: it is another kind
	wrapped    map[*source.Map]*spec.Document // what an AppWrapper says of an object in it
	onlyPod    string                         // name of the only pod of the object that is read; empty: it has several, or nobody knows
	alone      []aloneNamed                   // pods that have a name of their own
	scaling    *scaler                        // of the Service of Knative that is read; nil: it is another kind
}

// queueLabels name the queue of a workload, and thereby its project.
var queueLabels = []string{"kueue.x-k8s.io/queue-name", "kai.scheduler/queue", "runai/queue", "project"}

var metaIgnored = source.Reasons{
	"creationTimestamp": "what the cluster wrote", "uid": "what the cluster wrote", "resourceVersion": "what the cluster wrote",
	"generation": "what the cluster wrote", "managedFields": "what the cluster wrote", "selfLink": "what the cluster wrote", "clusterName": "what the cluster wrote",
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
		case name == "kueue.x-k8s.io/priority-class" || name == "priorityClassName":
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
	case "kueue.x-k8s.io/job-min-parallelism":
		v.Ignored("tasks of an array start one by one, as there is room")
	case "kueue.x-k8s.io/podset-slice-required-topology", "kueue.x-k8s.io/podset-slice-size":
		v.Dropped("write topology.segment")
	case "kai.scheduler/batch-min-member":
		v.Dropped("a gang starts whole; write minWorkers")
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
