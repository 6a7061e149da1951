package kube

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	klabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/podstatus"
	"github.com/musterhq/muster/internal/core/spec"
)

// neighbours are the pods of the cluster that have a node, for what pods of
// others ask of each other: to be near some, apart from some, or evenly spread
// (k8s.io/kubernetes/pkg/scheduler/framework/plugins: interpodaffinity,
// podtopologyspread). What follows for a pod becomes terms of node labels, as of
// now, and is looked at once more when it gets its place.
type neighbours struct {
	mu         sync.Mutex
	placements map[string]map[types.UID]*placement // by namespace
	apart      map[types.UID]*placement            // those that keep others away, as far as we know
	labels     func(space string) klabels.Set      // of a namespace
}

// placement is a pod with its node. One that we are about to bind is held, until it
// is seen there or the binding has failed.
type placement struct {
	pod  *corev1.Pod
	node string
	held bool
	away []relation // which pods may not be with it
}

func newNeighbours(labels func(space string) klabels.Set) *neighbours {
	return &neighbours{placements: map[string]map[types.UID]*placement{}, apart: map[types.UID]*placement{}, labels: labels}
}

// matter is for whom it matters that a pod has come, changed or gone.
type matter int

const (
	forNobody matter = iota
	forSocial        // pods that ask something of others
	forAll           // it keeps others away that ask for nothing
)

// seen takes over where a pod is, and says for whom that matters.
func (n *neighbours) seen(pod *corev1.Pod) matter {
	n.mu.Lock()
	defer n.mu.Unlock()
	was := n.placements[pod.Namespace][pod.UID]
	switch {
	case podstatus.Finished(pod):
		return n.drop(pod)
	case pod.Spec.NodeName == "":
		return forNobody
	}
	now := n.put(pod, pod.Spec.NodeName, false)
	if was != nil && !was.held && was.node == now.node && (was.pod.DeletionTimestamp == nil) == (pod.DeletionTimestamp == nil) &&
		klabels.Equals(was.pod.Labels, pod.Labels) {
		return forNobody
	}
	return now.matter()
}

func (s *placement) matter() matter {
	if len(s.away) > 0 {
		return forAll
	}
	return forSocial
}

// gone takes over that a pod is not there any more, and says for whom that
// matters.
func (n *neighbours) gone(pod *corev1.Pod) matter {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.drop(pod)
}

// put counts a pod. The lock is held.
func (n *neighbours) put(pod *corev1.Pod, node string, held bool) *placement {
	s := &placement{pod: pod, node: node, held: held}
	if n.placements[pod.Namespace] == nil {
		n.placements[pod.Namespace] = map[types.UID]*placement{}
	}
	n.placements[pod.Namespace][pod.UID] = s
	if pod.Spec.Affinity != nil {
		_, apart := required(pod.Spec.Affinity)
		if s.away, _ = relationsOf(pod, apart); len(s.away) > 0 {
			n.apart[pod.UID] = s
		}
	}
	return s
}

// drop counts a pod no more. The lock is held.
func (n *neighbours) drop(pod *corev1.Pod) matter {
	s := n.placements[pod.Namespace][pod.UID]
	if s == nil {
		return forNobody
	}
	delete(n.placements[pod.Namespace], pod.UID)
	if len(n.placements[pod.Namespace]) == 0 {
		delete(n.placements, pod.Namespace)
	}
	delete(n.apart, pod.UID)
	return s.matter()
}

// take holds a node for a pod that is about to be bound; why it may not, where
// something has changed since it was placed.
func (n *neighbours) take(pod *corev1.Pod, node string, nodes map[string]*corev1.Node) (bars string) {
	var w backend.Where
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
	n.put(pod, node, true)
	return ""
}

// untake gives up what take has held.
func (n *neighbours) untake(pod *corev1.Pod) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s := n.placements[pod.Namespace][pod.UID]; s != nil && s.held {
		n.drop(pod)
	}
}

// follows is what follows for a pod from others at present.
func (n *neighbours) follows(pod *corev1.Pod, nodes func() map[string]*corev1.Node) (terms []spec.NodeTerm, bars string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !social(pod) && len(n.apart) == 0 {
		return nil, ""
	}
	w, bars := whereOf(pod) // what it says itself: Kubernetes counts no more when it spreads pods
	if bars != "" {
		return nil, bars
	}
	return n.bounds(pod, &w, nodes())
}

// social reports whether a pod asks something of others, or of its own kind.
func social(pod *corev1.Pod) bool {
	if spreads(pod) {
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
func (n *neighbours) bounds(pod *corev1.Pod, w *backend.Where, nodes map[string]*corev1.Node) (terms []spec.NodeTerm, bars string) {
	away := n.awayFrom(pod, nodes)
	if a := pod.Spec.Affinity; a != nil {
		required, apart := required(a)
		near, bars := relationsOf(pod, required)
		for i, c := range near {
			values := n.domains(pod, &c, nodes)
			switch {
			case len(values) > 0:
				terms = append(terms, termOf(c.key, "In", values))
			case c.about.Matches(klabels.Set(pod.Labels)) && c.in(pod.Namespace, n.labels(pod.Namespace)): // the first of those who want to be near each other goes anywhere
				terms = append(terms, spec.NodeTerm{Key: c.key, Op: "Exists"})
			default:
				return nil, fmt.Sprintf("no pod that it has to be near (podAffinity over %s, %s) has its place", c.key, metav1.FormatLabelSelector(required[i].LabelSelector))
			}
		}
		if bars != "" {
			return nil, bars
		}
		keeps, bars := relationsOf(pod, apart)
		if bars != "" {
			return nil, bars
		}
		for _, c := range keeps {
			away.add(c.key, n.domains(pod, &c, nodes))
		}
	}
	for key, values := range away {
		terms = append(terms, termOf(key, "NotIn", values))
	}
	slices.SortFunc(terms, func(a, b spec.NodeTerm) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Op, b.Op), slices.Compare(a.Values, b.Values))
	})
	spread, bars := n.even(pod, w, nodes)
	return append(terms, spread...), bars
}

// barred are values of labels whose nodes a pod has to keep off, by label.
type barred map[string]map[string]bool

func (b barred) add(key string, values map[string]bool) {
	if len(values) > 0 && b[key] == nil {
		b[key] = map[string]bool{}
	}
	maps.Copy(b[key], values)
}

// awayFrom are the domains of the pods that keep a pod away. The lock is held.
func (n *neighbours) awayFrom(pod *corev1.Pod, nodes map[string]*corev1.Node) barred {
	out := barred{}
	labels, space := klabels.Set(pod.Labels), n.labels(pod.Namespace)
	for _, s := range n.apart {
		if s.pod.UID == pod.UID {
			continue
		}
		for _, c := range s.away {
			if value, ok := labelOf(nodes[s.node], c.key); ok && c.in(pod.Namespace, space) && c.about.Matches(labels) {
				out.add(c.key, map[string]bool{value: true})
			}
		}
	}
	return out
}

func termOf(key, op string, values map[string]bool) spec.NodeTerm {
	return spec.NodeTerm{Key: key, Op: op, Values: slices.Sorted(maps.Keys(values))}
}

// domains are the values of a term's label where pods are that it is about,
// without pod itself. The lock is held.
func (n *neighbours) domains(pod *corev1.Pod, c *relation, nodes map[string]*corev1.Node) map[string]bool {
	values := map[string]bool{}
	for space, all := range n.placements {
		if !c.in(space, n.labels(space)) {
			continue
		}
		for uid, s := range all {
			if uid == pod.UID || !c.about.Matches(klabels.Set(s.pod.Labels)) {
				continue
			}
			if v, ok := labelOf(nodes[s.node], c.key); ok {
				values[v] = true
			}
		}
	}
	return values
}

func labelOf(node *corev1.Node, key string) (string, bool) {
	if node == nil {
		return "", false
	}
	if key == naming.LabelNode {
		return node.Name, true
	}
	v, ok := node.Labels[key]
	return v, ok
}
