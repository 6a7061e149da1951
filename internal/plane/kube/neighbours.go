package kube

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	klabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/plane"
)

// neighbours are the pods of the cluster that have a node, for what pods of
// others ask of each other: to be near some, apart from some, or evenly spread
// (k8s.io/kubernetes/pkg/scheduler/framework/plugins: interpodaffinity,
// podtopologyspread). What follows for a pod becomes terms of node labels, as of
// now, and is looked at once more when it gets its place.
type neighbours struct {
	mu    sync.Mutex
	spots map[string]map[types.UID]*spot // by namespace
	apart map[types.UID]*spot            // those that keep others away, as far as we know
}

// spot is a pod with its node. One that we are about to bind is held, until it
// is seen there or the binding has failed.
type spot struct {
	pod  *corev1.Pod
	node string
	held bool
}

func newNeighbours() *neighbours {
	return &neighbours{spots: map[string]map[types.UID]*spot{}, apart: map[types.UID]*spot{}}
}

// seen takes over where a pod is, and reports whether that is news.
func (n *neighbours) seen(pod *corev1.Pod) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	was := n.spots[pod.Namespace][pod.UID]
	switch {
	case finished(pod):
		return n.drop(pod)
	case pod.Spec.NodeName == "":
		return false
	}
	n.put(&spot{pod: pod, node: pod.Spec.NodeName})
	return was == nil || was.held || was.node != pod.Spec.NodeName || (was.pod.DeletionTimestamp == nil) != (pod.DeletionTimestamp == nil) ||
		!klabels.Equals(was.pod.Labels, pod.Labels)
}

// restless reports whether some pod keeps others away.
func (n *neighbours) restless() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.apart) > 0
}

// gone takes over that a pod is not there any more.
func (n *neighbours) gone(pod *corev1.Pod) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.drop(pod)
}

// put counts a pod. The lock is held.
func (n *neighbours) put(s *spot) {
	if n.spots[s.pod.Namespace] == nil {
		n.spots[s.pod.Namespace] = map[types.UID]*spot{}
	}
	n.spots[s.pod.Namespace][s.pod.UID] = s
	if s.pod.Spec.Affinity != nil {
		if _, apart := required(s.pod.Spec.Affinity); len(apart) > 0 {
			n.apart[s.pod.UID] = s
		}
	}
}

// drop counts a pod no more. The lock is held.
func (n *neighbours) drop(pod *corev1.Pod) bool {
	_, there := n.spots[pod.Namespace][pod.UID]
	delete(n.spots[pod.Namespace], pod.UID)
	if len(n.spots[pod.Namespace]) == 0 {
		delete(n.spots, pod.Namespace)
	}
	delete(n.apart, pod.UID)
	return there
}

// take holds a node for a pod that is about to be bound; why it may not, where
// something has changed since it was placed.
func (n *neighbours) take(pod *corev1.Pod, node string, nodes map[string]*corev1.Node) (bars string) {
	var w plane.Where
	if w, bars = whereOf(pod); bars != "" {
		return bars
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	terms, bars := n.bounds(pod, &w, nodes)
	if bars != "" {
		return bars
	}
	for _, t := range terms {
		if at := nodes[node]; at == nil || !holds(t, at) {
			return fmt.Sprintf("pods that came or went meanwhile keep it off node %s: %s has to be %s %v", node, t.Key, t.Op, t.Values)
		}
	}
	n.put(&spot{pod: pod, node: node, held: true})
	return ""
}

// untake gives up what take has held.
func (n *neighbours) untake(pod *corev1.Pod) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s := n.spots[pod.Namespace][pod.UID]; s != nil && s.held {
		n.drop(pod)
	}
}

// confine adds to where a pod may go what follows from others.
func (n *neighbours) confine(pod *corev1.Pod, w *plane.Where, nodes func() map[string]*corev1.Node) (bars string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !social(pod) && len(n.apart) == 0 {
		return ""
	}
	terms, bars := n.bounds(pod, w, nodes())
	w.Terms = append(w.Terms, terms...)
	return bars
}

// social reports whether a pod asks something of others, or of its own kind.
func social(pod *corev1.Pod) bool {
	if slices.ContainsFunc(pod.Spec.TopologySpreadConstraints, hard) {
		return true
	}
	if pod.Spec.Affinity == nil {
		return false
	}
	near, apart := required(pod.Spec.Affinity)
	return len(near)+len(apart) > 0
}

func hard(c corev1.TopologySpreadConstraint) bool {
	return c.WhenUnsatisfiable == corev1.DoNotSchedule
}

// spreads reports whether a pod's place depends on how many of a kind are where,
// so that such pods have to be placed one after another.
func spreads(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.TopologySpreadConstraints, hard)
}

// bounds are the terms for a pod at present. The lock is held.
func (n *neighbours) bounds(pod *corev1.Pod, w *plane.Where, nodes map[string]*corev1.Node) (terms []spec.NodeTerm, bars string) {
	add := func(key, op string, values map[string]bool) {
		t := spec.NodeTerm{Key: key, Op: op}
		for v := range values {
			t.Values = append(t.Values, v)
		}
		slices.Sort(t.Values)
		terms = append(terms, t)
	}
	if a := pod.Spec.Affinity; a != nil {
		near, apart := required(a)
		for _, t := range near {
			values, self, bars := n.domains(pod, &t, nodes)
			switch {
			case bars != "":
				return nil, bars
			case len(values) > 0:
				add(t.TopologyKey, "In", values)
			case self: // the first of those who want to be near each other goes anywhere
				add(t.TopologyKey, "Exists", nil)
			default:
				return nil, fmt.Sprintf("no pod that it has to be near (podAffinity over %s, %s) has its place", t.TopologyKey, metav1.FormatLabelSelector(t.LabelSelector))
			}
		}
		for _, t := range apart {
			values, _, bars := n.domains(pod, &t, nodes)
			if bars != "" {
				return nil, bars
			}
			if len(values) > 0 {
				add(t.TopologyKey, "NotIn", values)
			}
		}
	}
	for _, s := range n.apart {
		if s.pod.UID == pod.UID {
			continue
		}
		_, apart := required(s.pod.Spec.Affinity)
		for _, t := range apart {
			value, ok := labelOf(nodes[s.node], t.TopologyKey)
			if match, bars := selects(s.pod, &t, pod); bars == "" && match && ok {
				add(t.TopologyKey, "NotIn", map[string]bool{value: true})
			}
		}
	}
	slices.SortFunc(terms, func(a, b spec.NodeTerm) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Op, b.Op), slices.Compare(a.Values, b.Values))
	})
	spread, bars := n.even(pod, w, nodes)
	return append(terms, spread...), bars
}

// domains are the values of a term's label where pods are that it is about; self:
// it is about such as pod, too. The lock is held.
func (n *neighbours) domains(pod *corev1.Pod, t *corev1.PodAffinityTerm, nodes map[string]*corev1.Node) (values map[string]bool, self bool, bars string) {
	values = map[string]bool{}
	if self, bars = selects(pod, t, pod); bars != "" {
		return nil, false, bars
	}
	for space, all := range n.spots {
		if !isAbout(pod, t, space) {
			continue
		}
		for uid, s := range all {
			if uid == pod.UID {
				continue
			}
			if match, _ := selects(pod, t, s.pod); match {
				if v, ok := labelOf(nodes[s.node], t.TopologyKey); ok {
					values[v] = true
				}
			}
		}
	}
	return values, self, ""
}

// isAbout reports whether a term of a pod is about pods of a namespace.
func isAbout(of *corev1.Pod, t *corev1.PodAffinityTerm, space string) bool {
	if t.NamespaceSelector != nil { // an empty one; see selects
		return true
	}
	return slices.Contains(t.Namespaces, space) || len(t.Namespaces) == 0 && space == of.Namespace
}

// selects reports whether a term of a pod is about another.
func selects(of *corev1.Pod, t *corev1.PodAffinityTerm, other *corev1.Pod) (match bool, bars string) {
	if s := t.NamespaceSelector; s != nil && len(s.MatchLabels)+len(s.MatchExpressions) > 0 {
		return false, fmt.Sprintf("its affinity over %s is about namespaces by their labels (namespaceSelector), which we cannot see to; name them", t.TopologyKey)
	}
	selector, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
	if err != nil {
		return false, fmt.Sprintf("its affinity over %s has a selector that cannot be read: %v", t.TopologyKey, err)
	}
	return isAbout(of, t, other.Namespace) && selector.Matches(klabels.Set(other.Labels)), ""
}

func labelOf(node *corev1.Node, key string) (string, bool) {
	if node == nil {
		return "", false
	}
	if key == labelNode {
		return node.Name, true
	}
	v, ok := node.Labels[key]
	return v, ok
}
