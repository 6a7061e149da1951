package kubernetes

import (
	"fmt"
	"regexp"

	"github.com/musterhq/muster/internal/convert/kubernetes/podnames"
	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/hosts"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// companions are kinds that stand beside workloads in a file, and why nothing
// is made of them.
var companions = source.Reasons{
	"Namespace":              "projects are made by muster apply",
	"ServiceAccount":         "tasks have no account in the cluster",
	"Role":                   "tasks have no account in the cluster",
	"RoleBinding":            "tasks have no account in the cluster",
	"ClusterRole":            "tasks have no account in the cluster",
	"ClusterRoleBinding":     "tasks have no account in the cluster",
	"PersistentVolumeClaim":  "a claim must be there; make it with kubectl",
	"PersistentVolume":       "a volume must be there; make it with kubectl",
	"StorageClass":           "a claim must be there; make it with kubectl",
	"PodDisruptionBudget":    "the scheduler keeps gangs whole by itself",
	"PriorityClass":          "priorities are numbers here",
	"WorkloadPriorityClass":  "priorities are numbers here",
	"LocalQueue":             "queues are projects here; muster apply makes them",
	"ClusterQueue":           "queues are projects here; muster apply makes them",
	"Queue":                  "queues are projects here; muster apply makes them",
	"Cohort":                 "queues are projects here; muster apply makes them",
	"ResourceFlavor":         "flavors are node pools here; muster apply makes them",
	"Topology":               "the labels of nodes say it",
	"PodGroup":               "gangs start together by themselves",
	"PodMonitor":             "the server has metrics of tasks",
	"ServiceMonitor":         "the server has metrics of tasks",
	"LimitRange":             "projects have quotas",
	"ResourceQuota":          "projects have quotas",
	"ClusterTrainingRuntime": "a TrainJob takes what it says",
	"TrainingRuntime":        "a TrainJob takes what it says",
	"ClusterServingRuntime":  "an InferenceService takes what it says",
	"ServingRuntime":         "an InferenceService takes what it says",
}

// missed are such kinds without which something is missing.
var missed = source.Reasons{
	"Ingress":                 "replicas are reached through the server",
	"HorizontalPodAutoscaler": "replicas follow requests under way, not load; write autoscale",
	"NetworkPolicy":           "there are no network rules",
	"ResourceClaimTemplate":   "GPUs are asked for by resources.gpu",
	"ResourceClaim":           "GPUs are asked for by resources.gpu",
	"ComputeDomain":           "write topology",
}

// beside passes over an object that is no workload, and reports whether it is
// none: of a kind that is known, or of any where the file has workloads.
func (k *reader) beside(o *source.Map, kind string) bool {
	n := source.Note{Line: o.Tree.Line, Last: source.LastLine(o.Tree), Field: kind, Fate: source.Ignored}
	if n.Field == "" {
		return false
	}
	why, known := companions[kind]
	without, lossy := missed[kind]
	_, refused := alternatives[kind]
	switch {
	case kind == "Service":
		k.services = append(k.services, o)
		return true
	case known:
		n.Reason = why
	case lossy:
		n.Reason, n.Lossy = without, true
	case refused || !k.work:
		return false
	default:
		n.Reason, n.Lossy = "it is of a kind that is not read; what it does is missing", true
	}
	k.Note(n)
	return true
}

// usesHost is a line of a text that names a host; 0: there is none.
func usesHost(texts []*codec.Tree, host string, not int) int {
	if host == "" {
		return 0
	}
	name := regexp.MustCompile(`(?:^|[/@= "',])` + regexp.QuoteMeta(host) + `(?::\d+|\.[a-z0-9-]+(?:\.svc[a-z.]*)?(?:[:/ "']|$)|/|$)`)
	for _, t := range texts {
		if name.MatchString(t.Text) {
			return t.Line
		}
	}
	return 0
}

// textsRead are the texts of a workload that its tasks read: its commands, arguments
// and the values of its variables.
func textsRead(t *codec.Tree, in bool) (texts []*codec.Tree) {
	for i := range t.Items {
		item, name := &t.Items[i], ""
		if i < len(t.Names) {
			name = t.Names[i]
		}
		reads := name == "command" || name == "args" || name == "value" || name == "entrypoint" || in && name == ""
		switch {
		case item.Kind == codec.TreeText && reads:
			texts = append(texts, item)
		case item.Kind != codec.TreeText:
			texts = append(texts, textsRead(item, reads)...)
		}
	}
	return texts
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
				if mine, is := podnames.Selected(doc, source.Entry(s, "selector"), e); is && own == nil {
					own = doc
					podnames.Give(doc, mine)
				}
			}
		}
		if own != nil && own.Kind.Replicated() {
			podnames.Listen(own, s)
		}
		switch lacking := podnames.Unlike(own, s); {
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
					podnames.Give(doc, e)
				}
			}
		}
		k.Note(n)
	}
}
