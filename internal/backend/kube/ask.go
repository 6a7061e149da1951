package kube

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	klabels "k8s.io/apimachinery/pkg/labels"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/resources"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
)

// fractionMarks ask for a part of a GPU (KAI, Run:ai).
var fractionMarks = []string{"gpu-fraction", "gpu-memory", "gpu-fraction-limit"}

// asks is what a pod that others made needs, and where it may go; bars is why we
// cannot place it, empty where we can.
func asks(pod *corev1.Pod) (n backend.Needs, w backend.Where, bars string) {
	u := resources.UsageOf(pod)
	n = backend.Needs{CPU: u.Cpu, Memory: u.Memory}
	for name, k := range u.Extra {
		if n.Counted == nil {
			n.Counted = map[string]int{}
		}
		n.Counted[name] = int(k)
	}
	switch {
	case len(u.Mig) > 0:
		var parts []string
		for profile, k := range u.Mig {
			parts = append(parts, profile+"="+strconv.Itoa(k))
		}
		slices.Sort(parts)
		mig, err := spec.ParseMIG(strings.Join(parts, ","))
		if err != nil {
			return n, w, err.Error()
		}
		if n.GPU.MIG = mig; u.Gpus > 0 {
			return n, w, "it asks for whole GPUs and for parts of them at once"
		}
	case strings.Contains(u.Vendor, " "):
		return n, w, "it asks for GPUs of " + u.Vendor + ": no node has both"
	case u.Gpus > 0:
		n.GPU.Count = u.Gpus
	}
	for _, mark := range fractionMarks {
		if v := said(pod, nil, mark); v != "" {
			return n, w, fmt.Sprintf("its annotation %s asks for a part of a GPU: a pod that was made elsewhere cannot be told which one. Submit it with muster, or let it ask for whole ones", mark)
		}
	}
	w, bars = whereOf(pod)
	if u.Gpus > 0 {
		w.Terms = append(w.Terms, spec.NodeTerm{Key: naming.LabelVendor, Op: "In", Values: []string{u.Vendor}})
	}
	return n, w, bars
}

// whereOf is where a pod may go.
func whereOf(pod *corev1.Pod) (w backend.Where, bars string) {
	s := &pod.Spec
	if len(s.SchedulingGates) > 0 {
		return w, fmt.Sprintf("it has the scheduling gate %s, which whoever put it there takes away", s.SchedulingGates[0].Name)
	}
	for key, value := range s.NodeSelector {
		w.Terms = append(w.Terms, spec.NodeTerm{Key: key, Op: "In", Values: []string{value}})
	}
	if s.OS != nil && s.OS.Name != corev1.Linux { // a node need not say that it is
		w.Terms = append(w.Terms, spec.NodeTerm{Key: corev1.LabelOSStable, Op: "In", Values: []string{string(s.OS.Name)}})
	}
	slices.SortFunc(w.Terms, func(a, b spec.NodeTerm) int { return strings.Compare(a.Key, b.Key) })
	for _, t := range s.Tolerations {
		if t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable {
			continue // a node that does not report takes nothing new
		}
		w.Tolerations = append(w.Tolerations, spec.Toleration{Key: t.Key, Value: t.Value, Effect: string(t.Effect)})
	}
	if a := s.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		terms := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
		for _, t := range terms {
			if len(t.MatchExpressions)+len(t.MatchFields) > 0 { // an empty one fits no node
				w.Any = append(w.Any, nodeTerms(t))
			}
		}
		if len(w.Any) == 0 {
			return w, "none of its required node affinity's terms says anything, so that no node fits"
		}
		if len(w.Any) == 1 {
			w.Terms, w.Any = append(w.Terms, w.Any[0]...), nil
		}
	}
	aboutOS := func(t spec.NodeTerm) bool { return t.Key == corev1.LabelOSStable }
	if slices.ContainsFunc(slices.Concat(slices.Concat(w.Any, [][]spec.NodeTerm{w.Terms})...), aboutOS) { // nodes of another system have a mark against who does not say
		w.Tolerations = append(w.Tolerations, spec.Toleration{Key: corev1.LabelOSStable})
	}
	if s.Affinity == nil {
		return w, ""
	}
	return w, companions(pod, &w)
}

func nodeTerms(t corev1.NodeSelectorTerm) []spec.NodeTerm {
	var out []spec.NodeTerm
	for _, e := range t.MatchExpressions {
		out = append(out, spec.NodeTerm{Key: e.Key, Op: string(e.Operator), Values: e.Values})
	}
	for _, e := range t.MatchFields { // metadata.name is the only one there is
		out = append(out, spec.NodeTerm{Key: naming.LabelNode, Op: string(e.Operator), Values: e.Values})
	}
	return out
}

// companions adds which of its own kind a pod wants near and which not, for
// those that are placed at the same time. What is there already neighbours see.
func companions(pod *corev1.Pod, w *backend.Where) (bars string) {
	near, apart := required(pod.Spec.Affinity)
	take := func(what string, t corev1.PodAffinityTerm, to *string) string {
		tag, own := ownKind(pod, t)
		switch {
		case !own:
			return "" // where these are decides; see neighbours
		case *to != "" || w.Tag != "" && w.Tag != tag:
			return fmt.Sprintf("its required %s has several terms, of which we can see to one", what)
		}
		*to, w.Tag = t.TopologyKey, tag
		return ""
	}
	for _, t := range near {
		if bars := take("podAffinity", t, &w.Near); bars != "" {
			return bars
		}
	}
	for _, t := range apart {
		if bars := take("podAntiAffinity", t, &w.Apart); bars != "" {
			return bars
		}
	}
	return ""
}

func required(a *corev1.Affinity) (near, apart []corev1.PodAffinityTerm) {
	if a.PodAffinity != nil {
		near = a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	if a.PodAntiAffinity != nil {
		apart = a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return near, apart
}

// ownKind reports whether a term is about pods like pod itself, and names their
// kind.
func ownKind(pod *corev1.Pod, t corev1.PodAffinityTerm) (string, bool) {
	if len(t.Namespaces) > 0 && !slices.Equal(t.Namespaces, []string{pod.Namespace}) || t.NamespaceSelector != nil || len(t.MatchLabelKeys)+len(t.MismatchLabelKeys) > 0 {
		return "", false
	}
	selector, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
	if err != nil || selector.Empty() || !selector.Matches(klabels.Set(pod.Labels)) {
		return "", false
	}
	return selector.String(), true
}

// member is a pod as the control plane knows it.
func (o *outsider) member(w *wishes) backend.Member {
	m := backend.Member{Key: string(o.pod.UID), Name: o.pod.Namespace + "/" + o.pod.Name, Task: o.task}
	m.Role, m.Rank = roleOf(o.pod)
	if m.Needs, m.Where, m.Barred = asks(o.pod); m.Barred == "" {
		m.Barred = confine(&m.Where, o.volumes)
	}
	if m.Barred == "" {
		m.Barred = w.want(o.pod, &m.Needs, &m.Where)
	}
	if o.refused != "" {
		m.Barred = o.refused
	}
	if o.task != (core.TaskID{}) {
		m.Barred = "" // it has its place
	}
	return m
}
