package podowner

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
)

// Labels and annotations by which pods, and those who made them, say how they
// are to be treated; those of Kueue, KAI and Run:ai are understood beside ours.
const (
	MarkPriority    = "muster.dev/priority"
	MarkPreemptible = "muster.dev/preemptible"
	markPools       = "muster.dev/pools"

	KaiPreemptibility = "kai.scheduler/preemptibility"
)

// queueMarks name a queue in the words of others. What is none of the projects
// that a namespace may use is passed over.
var queueMarks = []string{"kueue.x-k8s.io/queue-name", "kai.scheduler/queue", "runai/queue", "runai.ai/project", "project"}

// priorityMarks name a priority in the words of others.
var priorityMarks = []string{"kueue.x-k8s.io/priority-class", "priorityClassName"}

// classes are the priority classes of KAI and Run:ai, and whether what has them
// may be displaced.
var classes = map[string]struct {
	priority    spec.Priority
	preemptible bool
}{
	"train": {50, true}, "interactive-preemptible": {75, true}, "interactivePreemptible": {75, true},
	"build": {100, false}, "interactive": {100, false}, "inference": {125, false},
}

// LabelOf is what a pod says under a name, as label or annotation, else those who
// made it, the nearest first; empty: nobody says anything.
func LabelOf(pod *corev1.Pod, chain []*Owner, name string) string {
	for _, m := range []map[string]string{pod.Labels, pod.Annotations} {
		if v := m[name]; v != "" {
			return v
		}
	}
	for _, x := range chain {
		for _, m := range []map[string]string{x.Labels, x.notes} {
			if v := m[name]; v != "" {
				return v
			}
		}
	}
	return ""
}

// Scheduling is how a pod wants to be treated.
type Scheduling struct {
	Project     core.ProjectID
	User        string
	Pools       []string
	Priority    *spec.Priority
	Preemptible bool
	Bars        string // why it may not be placed
}

// SchedulingOf reads how a pod wants to be treated. own is the project of its namespace,
// and more are those that the namespace may use beside it. Without a project it
// is none of ours to place, for the reason given.
func SchedulingOf(pod *corev1.Pod, chain []*Owner, own core.ProjectID, more []string) Scheduling {
	t := Scheduling{User: LabelOf(pod, chain, naming.LabelUser)}
	if t.User == "" {
		account := pod.Spec.ServiceAccountName
		if account == "" {
			account = "default"
		}
		t.User = "system:serviceaccount:" + pod.Namespace + ":" + account
	}
	t.Project, t.Bars = ProjectOf(pod, chain, own, more)
	for _, pool := range strings.Split(LabelOf(pod, chain, markPools), ",") {
		if pool = strings.TrimSpace(pool); pool != "" {
			t.Pools = append(t.Pools, pool)
		}
	}
	class := t.prioritize(pod, chain)
	t.displace(pod, chain, class)
	return t
}

// prioritize finds the priority, and the class of others that it comes from.
func (t *Scheduling) prioritize(pod *corev1.Pod, chain []*Owner) (class string) {
	if text := LabelOf(pod, chain, MarkPriority); text != "" {
		p, err := spec.ParsePriority(text)
		if err != nil {
			t.bar("%s: %v", MarkPriority, err)
			return ""
		}
		t.Priority = &p
		return ""
	}
	names := make([]string, 0, len(priorityMarks)+1)
	for _, mark := range priorityMarks {
		names = append(names, LabelOf(pod, chain, mark))
	}
	for _, name := range append(names, pod.Spec.PriorityClassName) {
		if c, ok := classes[name]; ok {
			t.Priority = &c.priority
			return name
		}
		if p, err := spec.ParsePriority(name); err == nil && slices.Contains(spec.PriorityNames(), name) {
			t.Priority = &p
			return ""
		}
	}
	return ""
}

// Kinds that serve: what they made is not displaced unless they say so.
var serving = map[string]bool{"Deployment": true, "StatefulSet": true, "ReplicaSet": true, "ReplicationController": true, "Service": true, "RayService": true, "LeaderWorkerSet": true, "InferenceService": true}

// displace finds whether others may have its place.
func (t *Scheduling) displace(pod *corev1.Pod, chain []*Owner, class string) {
	t.Preemptible = len(chain) > 0 && !serving[chain[len(chain)-1].Kind] // a bare pod would be lost
	if t.Priority != nil && *t.Priority >= spec.Interactive {
		t.Preemptible = false // unless it says otherwise
	}
	if c, ok := classes[class]; ok {
		t.Preemptible = c.preemptible
	}
	switch LabelOf(pod, chain, KaiPreemptibility) {
	case "preemptible":
		t.Preemptible = true
	case "non-preemptible":
		t.Preemptible = false
	}
	if text := LabelOf(pod, chain, MarkPreemptible); text != "" {
		yes, err := strconv.ParseBool(text)
		if err != nil {
			t.bar("%s is %q: write true or false", MarkPreemptible, text)
			return
		}
		t.Preemptible = yes
	}
}

func (t *Scheduling) bar(format string, args ...any) {
	if t.Bars == "" {
		t.Bars = fmt.Sprintf(format, args...)
	}
}

// ProjectOf is the project that a pod is of. Who may make pods in a namespace
// may use its project, and such others as the namespace names.
func ProjectOf(pod *corev1.Pod, chain []*Owner, own core.ProjectID, more []string) (core.ProjectID, string) {
	may := func(p string) bool {
		return p == string(own) || slices.Contains(more, p) || slices.Contains(more, "*")
	}
	if p := LabelOf(pod, chain, naming.LabelProject); p != "" {
		if !may(p) {
			return own, fmt.Sprintf("it names project %s, which namespace %s may not use: kubectl annotate namespace %s %s=%s allows it", p, pod.Namespace, pod.Namespace, naming.NoteProjects, p)
		}
		return core.ProjectID(p), ""
	}
	for _, mark := range queueMarks {
		if p := LabelOf(pod, chain, mark); p != "" && may(p) {
			return core.ProjectID(p), ""
		}
	}
	if own == "" {
		return "", fmt.Sprintf("namespace %s is no project's: kubectl label namespace %s %s=PROJECT makes it one's", pod.Namespace, pod.Namespace, naming.LabelProject)
	}
	return own, ""
}
