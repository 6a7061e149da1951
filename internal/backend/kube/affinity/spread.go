package affinity

import (
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	klabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core/spec"
)

// even are the terms that follow for a pod from its topology spread constraints
// that must hold (kubernetes.io, "Pod Topology Spread Constraints"). The lock is
// held.
func (n *Pods) even(pod *corev1.Pod, w *backend.Where, nodes map[string]*corev1.Node) (terms []spec.NodeTerm, bars string) {
	var keys []string
	for _, c := range pod.Spec.TopologySpreadConstraints {
		if hard(c) {
			keys = append(keys, c.TopologyKey)
		}
	}
	for _, c := range pod.Spec.TopologySpreadConstraints {
		if !hard(c) {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(c.LabelSelector)
		if err != nil {
			return nil, fmt.Sprintf("its topologySpreadConstraints over %s have a selector that cannot be read: %v", c.TopologyKey, err)
		}
		for _, key := range c.MatchLabelKeys {
			if v, ok := pod.Labels[key]; ok {
				more, _ := klabels.SelectorFromSet(klabels.Set{key: v}).Requirements()
				selector = selector.Add(more...)
			}
		}
		t, bars := n.level(pod, &c, selector, eligible(pod, &c, w, nodes, keys))
		if bars != "" {
			return nil, bars
		}
		terms = append(terms, t)
	}
	return terms, ""
}

// eligible are the nodes whose domains count for a constraint.
func eligible(pod *corev1.Pod, c *corev1.TopologySpreadConstraint, w *backend.Where, nodes map[string]*corev1.Node, keys []string) map[string]*corev1.Node {
	out := map[string]*corev1.Node{}
	for name, node := range nodes {
		if slices.ContainsFunc(keys, func(key string) bool { _, ok := labelOf(node, key); return !ok }) {
			continue
		}
		if p := c.NodeAffinityPolicy; (p == nil || *p == corev1.NodeInclusionPolicyHonor) && !Fits(w, node) {
			continue
		}
		if p := c.NodeTaintsPolicy; p != nil && *p == corev1.NodeInclusionPolicyHonor && !tolerates(pod, node) {
			continue
		}
		out[name] = node
	}
	return out
}

// level is the term of one constraint: the domains that one more pod leaves
// within maxSkew of the emptiest. The lock is held.
func (n *Pods) level(pod *corev1.Pod, c *corev1.TopologySpreadConstraint, selector klabels.Selector, nodes map[string]*corev1.Node) (t spec.NodeTerm, bars string) {
	count := map[string]int{}
	for _, node := range nodes {
		v, _ := labelOf(node, c.TopologyKey)
		count[v] += 0
	}
	for uid, s := range n.Placements[pod.Namespace] {
		if nodes[s.node] == nil || uid == pod.UID || s.pod.DeletionTimestamp != nil || !selector.Matches(klabels.Set(s.pod.Labels)) {
			continue
		}
		v, _ := labelOf(nodes[s.node], c.TopologyKey)
		count[v]++
	}
	least := math.MaxInt
	for _, k := range count {
		least = min(least, k)
	}
	if c.MinDomains != nil && len(count) < int(*c.MinDomains) {
		least = 0
	}
	self := 0
	if selector.Matches(klabels.Set(pod.Labels)) {
		self = 1
	}
	t = spec.NodeTerm{Key: c.TopologyKey, Op: "In"}
	for v, k := range count {
		if k+self-least <= int(c.MaxSkew) {
			t.Values = append(t.Values, v)
		}
	}
	if slices.Sort(t.Values); len(t.Values) == 0 {
		return t, fmt.Sprintf("its topologySpreadConstraints over %s (maxSkew %d) let it go nowhere at present", c.TopologyKey, c.MaxSkew)
	}
	return t, ""
}

// Fits reports whether a node is one of those that a pod chooses by labels.
func Fits(w *backend.Where, node *corev1.Node) bool {
	all := func(terms []spec.NodeTerm) bool {
		return !slices.ContainsFunc(terms, func(t spec.NodeTerm) bool { return !holds(t, node) })
	}
	return all(w.Terms) && (len(w.Any) == 0 || slices.ContainsFunc(w.Any, all))
}

// holds reports whether a node is as a term wants it.
func holds(t spec.NodeTerm, node *corev1.Node) bool {
	v, has := labelOf(node, t.Key)
	return t.Allows(v, has)
}

// tolerates reports whether no taint of a node keeps a pod from being placed.
func tolerates(pod *corev1.Pod, node *corev1.Node) bool {
	return !slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		return taint.Effect != corev1.TaintEffectPreferNoSchedule && !slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool {
			return t.ToleratesTaint(klog.Background(), &taint, false)
		})
	})
}
