package kubernetes

import (
	"regexp"

	"github.com/musterhq/muster/internal/convert/source"
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
