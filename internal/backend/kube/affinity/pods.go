// Package affinity says on which nodes a pod may be: by its own node selector,
// affinity and tolerations, by where its volumes can be used, and by where other
// pods are (pod affinity, pod anti-affinity, topology spread). It is given pods and
// nodes and gives terms of node labels; it asks nobody.
package affinity

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

// Pods are the pods of the cluster that have a node, for what pods of
// others ask of each other: to be near some, apart from some, or evenly spread
// (k8s.io/kubernetes/pkg/scheduler/framework/plugins: interpodaffinity,
// podtopologyspread). What follows for a pod becomes terms of node labels, as of
// now, and is looked at once more when it gets its place.
type Pods struct {
	mu         sync.Mutex
	Placements map[string]map[types.UID]*placement // by namespace
	Apart      map[types.UID]*placement            // those that keep others away, as far as we know
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

// NewPods knows no pods yet. labels are those of a namespace.
func NewPods(labels func(space string) klabels.Set) *Pods {
	return &Pods{Placements: map[string]map[types.UID]*placement{}, Apart: map[types.UID]*placement{}, labels: labels}
}

// Affected is for whom it matters that a pod has come, changed or gone.
type Affected int

const (
	AffectsNone        Affected = iota
	AffectsConstrained          // pods that ask something of others
	AffectsAll                  // it keeps others away that ask for nothing
)

// Seen takes over where a pod is, and says for whom that matters.
func (n *Pods) Seen(pod *corev1.Pod) Affected {
	n.mu.Lock()
	defer n.mu.Unlock()
	was := n.Placements[pod.Namespace][pod.UID]
	switch {
	case podstatus.Finished(pod):
		return n.drop(pod)
	case pod.Spec.NodeName == "":
		return AffectsNone
	}
	now := n.put(pod, pod.Spec.NodeName, false)
	if was != nil && !was.held && was.node == now.node && (was.pod.DeletionTimestamp == nil) == (pod.DeletionTimestamp == nil) &&
		klabels.Equals(was.pod.Labels, pod.Labels) {
		return AffectsNone
	}
	return now.matter()
}

func (s *placement) matter() Affected {
	if len(s.away) > 0 {
		return AffectsAll
	}
	return AffectsConstrained
}

// Gone takes over that a pod is not there any more, and says for whom that
// matters.
func (n *Pods) Gone(pod *corev1.Pod) Affected {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.drop(pod)
}

// put counts a pod. The lock is held.
func (n *Pods) put(pod *corev1.Pod, node string, held bool) *placement {
	s := &placement{pod: pod, node: node, held: held}
	if n.Placements[pod.Namespace] == nil {
		n.Placements[pod.Namespace] = map[types.UID]*placement{}
	}
	n.Placements[pod.Namespace][pod.UID] = s
	if pod.Spec.Affinity != nil {
		_, apart := required(pod.Spec.Affinity)
		if s.away, _ = relationsOf(pod, apart); len(s.away) > 0 {
			n.Apart[pod.UID] = s
		}
	}
	return s
}

// drop counts a pod no more. The lock is held.
func (n *Pods) drop(pod *corev1.Pod) Affected {
	s := n.Placements[pod.Namespace][pod.UID]
	if s == nil {
		return AffectsNone
	}
	delete(n.Placements[pod.Namespace], pod.UID)
	if len(n.Placements[pod.Namespace]) == 0 {
		delete(n.Placements, pod.Namespace)
	}
	delete(n.Apart, pod.UID)
	return s.matter()
}

// Hold holds a node for a pod that is about to be bound; why it may not, where
// something has changed since it was placed.
func (n *Pods) Hold(pod *corev1.Pod, node string, nodes map[string]*corev1.Node) (bars string) {
	var w backend.Where
	if w, bars = WhereOf(pod); bars != "" {
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

// Release gives up what take has held.
func (n *Pods) Release(pod *corev1.Pod) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s := n.Placements[pod.Namespace][pod.UID]; s != nil && s.held {
		n.drop(pod)
	}
}

// Terms is what follows for a pod from others at present.
func (n *Pods) Terms(pod *corev1.Pod, nodes func() map[string]*corev1.Node) (terms []spec.NodeTerm, bars string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !Constrained(pod) && len(n.Apart) == 0 {
		return nil, ""
	}
	w, bars := WhereOf(pod) // what it says itself: Kubernetes counts no more when it spreads pods
	if bars != "" {
		return nil, bars
	}
	return n.bounds(pod, &w, nodes())
}

// Constrained reports whether a pod asks something of others, or of its own kind.
func Constrained(pod *corev1.Pod) bool {
	if Spreads(pod) {
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

// Spreads reports whether a pod's place depends on how many of a kind are where,
// so that such pods have to be placed one after another.
func Spreads(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.TopologySpreadConstraints, hard)
}

// bounds are the terms for a pod at present. The lock is held.
func (n *Pods) bounds(pod *corev1.Pod, w *backend.Where, nodes map[string]*corev1.Node) (terms []spec.NodeTerm, bars string) {
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
func (n *Pods) awayFrom(pod *corev1.Pod, nodes map[string]*corev1.Node) barred {
	out := barred{}
	labels, space := klabels.Set(pod.Labels), n.labels(pod.Namespace)
	for _, s := range n.Apart {
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
func (n *Pods) domains(pod *corev1.Pod, c *relation, nodes map[string]*corev1.Node) map[string]bool {
	values := map[string]bool{}
	for space, all := range n.Placements {
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
