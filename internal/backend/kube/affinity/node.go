package affinity

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	klabels "k8s.io/apimachinery/pkg/labels"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/core/spec"
)

// WhereOf is where a pod may go.
func WhereOf(pod *corev1.Pod) (w backend.Where, bars string) {
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
