// Package podnames gives the tasks of workloads the names by which pods of a cluster
// would reach them.
package podnames

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

// Give gives tasks names that their containers know.
func Give(doc *spec.Document, entries ...hosts.Entry) {
	doc.Annotations = maps.Clone(doc.Annotations) // groups share it
	doc.Annotations = source.Set(doc.Annotations, hosts.Annotation, hosts.Write(append(hosts.Parse(doc.Annotations[hosts.Annotation]), entries...)))
}

// Within puts the names of what was made of an object into its namespace, which is
// that of its project where the object names none.
func Within(doc *spec.Document, o *codec.Tree) {
	space := ""
	if m := source.Entry(o, "metadata"); m != nil {
		space = textOf(m, "namespace")
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

// Selected are the tasks of a document whose pods a Service would select.
func Selected(doc *spec.Document, selector *codec.Tree, e hosts.Entry) (hosts.Entry, bool) {
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

// Unlike says why a task is not where a Service that leads to it would be; "": it is.
func Unlike(doc *spec.Document, s *codec.Tree) string {
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
		from, to := textOf(&ports.Items[i], "port"), textOf(&ports.Items[i], "targetPort")
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

// Listen gives tasks that say nothing of ports those to which a Service leads by their
// numbers.
func Listen(doc *spec.Document, s *codec.Tree) {
	ports := source.Entry(s, "ports")
	if len(doc.Ports) > 0 || ports == nil {
		return
	}
	for i := range ports.Items {
		p := &ports.Items[i]
		to, name := textOf(p, "targetPort"), textOf(p, "name")
		if to == "" {
			to = textOf(p, "port")
		}
		n, err := strconv.Atoi(to)
		if protocol := textOf(p, "protocol"); err != nil || n < 1 || n > 65535 || protocol != "" && protocol != "TCP" {
			continue
		}
		if !slices.ContainsFunc(doc.Ports, func(has spec.Port) bool { return has.Port == n }) {
			doc.Ports = append(doc.Ports, spec.Port{Port: n, Name: name})
		}
	}
}

// textOf is the text of an entry of a map; empty: it has none.
func textOf(t *codec.Tree, name string) string {
	if e := source.Entry(t, name); e != nil {
		return e.Text
	}
	return ""
}
