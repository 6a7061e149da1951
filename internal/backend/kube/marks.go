package kube

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
	markPriority    = "muster.dev/priority"
	markPreemptible = "muster.dev/preemptible"
	markPools       = "muster.dev/pools"

	// noteProjects, on a namespace, are the projects that its pods may name
	// beside its own, with commas; "*": any.
	noteProjects = "muster.dev/projects"

	kaiPreemptibility = "kai.scheduler/preemptibility"
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

// said is what a pod says under a name, as label or annotation, else those who
// made it, the nearest first; empty: nobody says anything.
func said(pod *corev1.Pod, chain []*owner, name string) string {
	for _, m := range []map[string]string{pod.Labels, pod.Annotations} {
		if v := m[name]; v != "" {
			return v
		}
	}
	for _, x := range chain {
		for _, m := range []map[string]string{x.labels, x.notes} {
			if v := m[name]; v != "" {
				return v
			}
		}
	}
	return ""
}

// treatment is how a pod wants to be treated.
type treatment struct {
	project     core.ProjectID
	user        string
	pools       []string
	priority    *spec.Priority
	preemptible bool
	bars        string // why it may not be placed
}

// treat reads how a pod wants to be treated. Without a project it is none of
// ours to place, for the reason given.
func (n *namespaces) treat(pod *corev1.Pod, chain []*owner) treatment {
	t := treatment{user: said(pod, chain, naming.LabelUser)}
	if t.user == "" {
		account := pod.Spec.ServiceAccountName
		if account == "" {
			account = "default"
		}
		t.user = "system:serviceaccount:" + pod.Namespace + ":" + account
	}
	t.project, t.bars = n.projectOf(pod, chain)
	for _, pool := range strings.Split(said(pod, chain, markPools), ",") {
		if pool = strings.TrimSpace(pool); pool != "" {
			t.pools = append(t.pools, pool)
		}
	}
	class := t.prioritize(pod, chain)
	t.displace(pod, chain, class)
	return t
}

// prioritize finds the priority, and the class of others that it comes from.
func (t *treatment) prioritize(pod *corev1.Pod, chain []*owner) (class string) {
	if text := said(pod, chain, markPriority); text != "" {
		p, err := spec.ParsePriority(text)
		if err != nil {
			t.bar("%s: %v", markPriority, err)
			return ""
		}
		t.priority = &p
		return ""
	}
	names := make([]string, 0, len(priorityMarks)+1)
	for _, mark := range priorityMarks {
		names = append(names, said(pod, chain, mark))
	}
	for _, name := range append(names, pod.Spec.PriorityClassName) {
		if c, ok := classes[name]; ok {
			t.priority = &c.priority
			return name
		}
		if p, err := spec.ParsePriority(name); err == nil && slices.Contains(spec.PriorityNames(), name) {
			t.priority = &p
			return ""
		}
	}
	return ""
}

// Kinds that serve: what they made is not displaced unless they say so.
var serving = map[string]bool{"Deployment": true, "StatefulSet": true, "ReplicaSet": true, "ReplicationController": true, "Service": true, "RayService": true, "LeaderWorkerSet": true, "InferenceService": true}

// displace finds whether others may have its place.
func (t *treatment) displace(pod *corev1.Pod, chain []*owner, class string) {
	t.preemptible = len(chain) > 0 && !serving[chain[len(chain)-1].kind] // a bare pod would be lost
	if t.priority != nil && *t.priority >= spec.Interactive {
		t.preemptible = false // unless it says otherwise
	}
	if c, ok := classes[class]; ok {
		t.preemptible = c.preemptible
	}
	switch said(pod, chain, kaiPreemptibility) {
	case "preemptible":
		t.preemptible = true
	case "non-preemptible":
		t.preemptible = false
	}
	if text := said(pod, chain, markPreemptible); text != "" {
		yes, err := strconv.ParseBool(text)
		if err != nil {
			t.bar("%s is %q: write true or false", markPreemptible, text)
			return
		}
		t.preemptible = yes
	}
}

func (t *treatment) bar(format string, args ...any) {
	if t.bars == "" {
		t.bars = fmt.Sprintf(format, args...)
	}
}

// projectOf is the project that a pod is of. Who may make pods in a namespace
// may use its project, and such others as the namespace names.
func (n *namespaces) projectOf(pod *corev1.Pod, chain []*owner) (core.ProjectID, string) {
	n.mu.Lock()
	own, more := n.named(pod.Namespace), n.further[pod.Namespace]
	n.mu.Unlock()
	may := func(p string) bool {
		return p == string(own) || slices.Contains(more, p) || slices.Contains(more, "*")
	}
	if p := said(pod, chain, naming.LabelProject); p != "" {
		if !may(p) {
			return own, fmt.Sprintf("it names project %s, which namespace %s may not use: kubectl annotate namespace %s %s=%s allows it", p, pod.Namespace, pod.Namespace, noteProjects, p)
		}
		return core.ProjectID(p), ""
	}
	for _, mark := range queueMarks {
		if p := said(pod, chain, mark); p != "" && may(p) {
			return core.ProjectID(p), ""
		}
	}
	if own == "" {
		return "", fmt.Sprintf("namespace %s is no project's: kubectl label namespace %s %s=PROJECT makes it one's", pod.Namespace, pod.Namespace, naming.LabelProject)
	}
	return own, ""
}
