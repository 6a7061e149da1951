package affinity

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	klabels "k8s.io/apimachinery/pkg/labels"
)

// relation is one required term of a pod's affinity, or anti-affinity, to other
// pods, ready to be matched against many of them.
type relation struct {
	key    string           // the label of nodes whose values are the domains
	about  klabels.Selector // which pods
	spaces []string         // in these namespaces,
	among  klabels.Selector // and in those with such labels
}

// relationsOf reads the terms of a pod.
func relationsOf(pod *corev1.Pod, terms []corev1.PodAffinityTerm) (out []relation, bars string) {
	for _, t := range terms {
		c := relation{key: t.TopologyKey, spaces: t.Namespaces}
		var err error
		if c.about, err = metav1.LabelSelectorAsSelector(t.LabelSelector); err != nil {
			return nil, fmt.Sprintf("its affinity over %s has a selector that cannot be read: %v", t.TopologyKey, err)
		}
		if c.among, err = metav1.LabelSelectorAsSelector(t.NamespaceSelector); err != nil {
			return nil, fmt.Sprintf("its affinity over %s has a namespaceSelector that cannot be read: %v", t.TopologyKey, err)
		}
		if len(t.Namespaces) == 0 && t.NamespaceSelector == nil {
			c.spaces = []string{pod.Namespace}
		}
		out = append(out, c)
	}
	return out, ""
}

// in reports whether a term is about pods of a namespace with these labels.
func (c *relation) in(space string, labels klabels.Set) bool {
	return slices.Contains(c.spaces, space) || c.among.Matches(labels)
}
