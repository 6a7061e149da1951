package kubernetes

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/hosts"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// name gives tasks names that their containers know.
func name(doc *spec.Document, entries ...hosts.Entry) {
	doc.Annotations = maps.Clone(doc.Annotations) // groups share it
	doc.Annotations = source.Set(doc.Annotations, hosts.Annotation, hosts.Write(append(hosts.Parse(doc.Annotations[hosts.Annotation]), entries...)))
}

// namespaced puts the names of what was made of an object into its namespace, which is
// that of its project where the object names none.
func namespaced(doc *spec.Document, o *codec.Tree) {
	space := ""
	if m := source.Entry(o, "metadata"); m != nil {
		space = entryText(m, "namespace")
	}
	if doc == nil || space == "" || doc.Annotations[hosts.Annotation] == "" {
		return
	}
	entries := hosts.Parse(doc.Annotations[hosts.Annotation])
	for i := range entries {
		entries[i].Space = space
	}
	doc.Annotations[hosts.Annotation] = hosts.Write(entries)
}

// Labels that controllers give to pods: of those the value is the name of what the pod
// belongs to, of these a value that the first pod has.
var (
	ownerLabels = []string{"job-name", "batch.kubernetes.io/job-name", "jobset.sigs.k8s.io/jobset-name", "leaderworkerset.sigs.k8s.io/name", "ray.io/cluster", "training.kubeflow.org/job-name", "volcano.sh/job-name"}
	firstLabels = map[string]string{"batch.kubernetes.io/job-completion-index": "0", "leaderworkerset.sigs.k8s.io/worker-index": "0", "ray.io/node-type": "head", "training.kubeflow.org/job-role": "master", "apps.kubernetes.io/pod-index": "0"}
)

// selected are the tasks of a document whose pods a Service would select.
func selected(doc *spec.Document, selector *codec.Tree, e hosts.Entry) (hosts.Entry, bool) {
	e.Last = -1
	for i, label := range selector.Names {
		value := selector.Items[i].Text
		switch {
		case slices.Contains(ownerLabels, label) && value == doc.Name, doc.Labels[label] == value:
		case firstLabels[label] == value && value != "":
			e.Last = 0
		default:
			return e, false
		}
	}
	return e, len(selector.Names) > 0
}

// nameServices gives the tasks that Services of the file lead to their names, and tells
// those of the other workloads of the file.
func nameServices(k *reader) {
	for _, o := range k.services {
		n := source.Note{Line: o.Tree.Line, Last: source.LastLine(o.Tree), Field: "Service", Fate: source.Ignored, Reason: "tasks and replicas are reached without one"}
		used := usesHost(k.texts, nameOf(o), o.Tree.Line)
		var own *spec.Document
		s, e := source.Entry(o.Tree, "spec"), hosts.Entry{Host: nameOf(o)}
		if m := source.Entry(o.Tree, "metadata"); m != nil {
			e.Space = entryText(m, "namespace")
		}
		if s != nil && source.Entry(s, "selector") != nil {
			for _, doc := range k.Documents {
				if mine, is := selected(doc, source.Entry(s, "selector"), e); is && own == nil {
					own = doc
					name(doc, mine)
				}
			}
		}
		switch lacking := unlike(own, s); {
		case own == nil && used > 0:
			n.Reason, n.Lossy = fmt.Sprintf("line %d reaches it by its name, which is not known here; write an address", used), true
		case own == nil:
		case used > 0 && lacking != "":
			n.Fate, n.Reason, n.Lossy = source.Approximated, fmt.Sprintf("line %d reaches it by its name, which containers know, but %s", used, lacking), true
		default:
			n.Fate, n.To, n.Reason = source.Translated, "annotations."+hosts.Annotation, "containers on machines of Muster's own know its name, which leads to the tasks themselves, at the ports where they listen; tasks in a cluster and commands without an image do not: they have MASTER_ADDR and MUSTER_TASK_ADDRESSES"
		}
		if own != nil && own.Name != "" {
			e.Of = own.Name
			for _, doc := range k.Documents {
				if doc != own && doc.Project == own.Project {
					name(doc, e)
				}
			}
		}
		k.Note(n)
	}
}

// unlike says why a task is not where a Service that leads to it would be; "": it is.
func unlike(doc *spec.Document, s *codec.Tree) string {
	if doc == nil {
		return ""
	}
	u := doc.Update.MaxSurge
	if doc.Replicas != nil && (*doc.Replicas > 1 || u == nil || *u > 0) || doc.Autoscale != nil {
		return "replicas on one machine share its ports, and each listens at its $PORT; write replicas: 1 and strategy: {type: Recreate}, or a Pod"
	}
	ports := source.Entry(s, "ports")
	if ports == nil {
		return ""
	}
	for i := range ports.Items {
		from, to := entryText(&ports.Items[i], "port"), entryText(&ports.Items[i], "targetPort")
		at := slices.IndexFunc(doc.Ports, func(p spec.Port) bool { return p.Name == to && to != "" })
		if at >= 0 {
			to = strconv.Itoa(doc.Ports[at].Port)
		}
		if to != "" && from != to {
			return fmt.Sprintf("its port %s is %s of the task; write that", source.Shorten(from), source.Shorten(to))
		}
	}
	return ""
}
