package affinity

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core/spec"
)

// Selector is where a volume can be used: where all terms of one of these hold; nil:
// everywhere.
type Selector [][]spec.NodeTerm

// SelectorOfVolume is that of a volume.
func SelectorOfVolume(pv *corev1.PersistentVolume) Selector {
	if pv.Spec.NodeAffinity == nil || pv.Spec.NodeAffinity.Required == nil {
		return nil
	}
	return SelectorOf(pv.Spec.NodeAffinity.Required)
}

// SelectorOf is what a node selector says, of which one term has to hold.
func SelectorOf(s *corev1.NodeSelector) Selector {
	r := Selector{}
	for _, t := range s.NodeSelectorTerms {
		if len(t.MatchExpressions)+len(t.MatchFields) > 0 { // an empty one fits no node
			r = append(r, nodeTerms(t))
		}
	}
	return r
}

// Matches reports whether a volume can be used on a node.
func (r Selector) Matches(n *corev1.Node) bool {
	return r == nil || slices.ContainsFunc(r, func(all []spec.NodeTerm) bool { return Fits(&backend.Where{Terms: all}, n) })
}

// String is a selector as messages have it.
func (r Selector) String() string {
	var out []string
	for _, all := range r {
		var terms []string
		for _, t := range all {
			terms = append(terms, strings.TrimSpace(t.Key+" "+t.Op+" "+strings.Join(t.Values, ",")))
		}
		out = append(out, strings.Join(terms, " and "))
	}
	return strings.Join(out, ", or ")
}

// mostChoices bounds the alternatives that several volumes make together.
const mostChoices = 64

// Confine adds to where a pod may go that it must reach its volumes.
func Confine(w *backend.Where, volumes []Selector) (bars string) {
	for _, r := range volumes {
		switch {
		case r == nil:
		case len(r) == 0:
			return "one of its volumes can be used on no node"
		case len(r) == 1:
			w.Terms = append(w.Terms, r[0]...)
		case len(w.Any) == 0:
			w.Any = r
		case len(w.Any)*len(r) > mostChoices:
			return "where its volumes and claims can be used, and it may go, is said in too many alternatives"
		default:
			var both [][]spec.NodeTerm
			for _, a := range w.Any {
				for _, b := range r {
					both = append(both, slices.Concat(a, b))
				}
			}
			w.Any = both
		}
	}
	return ""
}
