package kube

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/affinity"
	"github.com/musterhq/muster/internal/backend/kube/apicall"
	"github.com/musterhq/muster/internal/backend/kube/podstatus"
	"github.com/musterhq/muster/internal/core"
)

// Pods of others may keep ours away (required podAntiAffinity): kube-scheduler
// would put none of ours beside them, and neither do we. The control plane does
// not know of labels of pods, so nodes say of which workloads they are no place,
// once one was to run there.

// antiAffinity are tasks that were kept off a node, one of each workload.
type antiAffinity struct {
	mu   sync.Mutex
	pods map[string]*corev1.Pod // as far as it matters, by label of nodes
}

// checkAntiAffinity refuses what starts together where pods of others keep some of it away.
func (p *Backend) checkAntiAffinity(space string, todo []backend.Assignment) error {
	for i := range todo {
		a := &todo[i]
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: space, Labels: p.labels(a)}}
		terms, _ := p.placed.Terms(pod, p.nodes.All)
		n := p.nodes.Find(p.nodeName(a.Node))
		if n == nil || len(terms) == 0 || affinity.Fits(&backend.Where{Terms: terms}, n) {
			continue
		}
		label := core.UnwelcomeLabel(a.ID.Workload)
		p.antiAffinity.mu.Lock()
		if p.antiAffinity.pods == nil {
			p.antiAffinity.pods = map[string]*corev1.Pod{}
		}
		p.antiAffinity.pods[label] = pod
		p.antiAffinity.mu.Unlock()
		p.nodes.Restrict(label, affinity.Selector{terms})
		return apicall.Refuse(podstatus.ReasonSystem, "pods of others keep it off node %s (podAntiAffinity over %s): it goes elsewhere", n.Name, terms[0].Key)
	}
	return nil
}

// moved lets those know for whom it matters that a pod has come, changed or gone.
func (p *Backend) moved(m affinity.Affected) {
	p.groups.requeue(m)
	if m != affinity.AffectsAll {
		return
	}
	p.antiAffinity.mu.Lock()
	defer p.antiAffinity.mu.Unlock()
	for label, pod := range p.antiAffinity.pods {
		if !p.nodes.Restricts(label) { // nobody has asked for long
			delete(p.antiAffinity.pods, label)
			continue
		}
		var r affinity.Selector
		if terms, _ := p.placed.Terms(pod, p.nodes.All); len(terms) > 0 {
			r = affinity.Selector{terms}
		}
		p.nodes.Restrict(label, r)
	}
}
