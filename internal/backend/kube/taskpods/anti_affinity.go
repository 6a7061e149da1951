package taskpods

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/affinity"
	"github.com/musterhq/muster/internal/backend/kube/apicall"
	"github.com/musterhq/muster/internal/backend/kube/cluster"
	"github.com/musterhq/muster/internal/backend/kube/podstatus"
	"github.com/musterhq/muster/internal/core"
)

// Pods of others may keep ours away (required podAntiAffinity): kube-scheduler
// would put none of ours beside them, and neither do we. The control plane does
// not know of labels of pods, so nodes say of which workloads they are no place,
// once one was to run there.

// antiAffinity are tasks that were kept off a node, one of each workload.
type antiAffinity struct {
	cluster *cluster.Cluster
	mu      sync.Mutex
	pods    map[string]*corev1.Pod // as far as it matters, by label of nodes
}

// check refuses what starts together where pods of others keep some of it away.
func (p *antiAffinity) check(space string, todo []backend.Assignment, labels func(*backend.Assignment) map[string]string) error {
	for i := range todo {
		a := &todo[i]
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: space, Labels: labels(a)}}
		terms, _ := p.cluster.Placed.Terms(pod, p.cluster.NodeInfo.All)
		n := p.cluster.NodeInfo.Find(p.cluster.NodeName(a.Node))
		if n == nil || len(terms) == 0 || affinity.Fits(&backend.Where{Terms: terms}, n) {
			continue
		}
		label := core.UnwelcomeLabel(a.ID.Workload)
		p.mu.Lock()
		if p.pods == nil {
			p.pods = map[string]*corev1.Pod{}
		}
		p.pods[label] = pod
		p.mu.Unlock()
		p.cluster.NodeInfo.Restrict(label, affinity.Selector{terms})
		return apicall.Refuse(podstatus.ReasonSystem, "pods of others keep it off node %s (podAntiAffinity over %s): it goes elsewhere", n.Name, terms[0].Key)
	}
	return nil
}

// moved lets nodes say anew of what they are no place.
func (p *antiAffinity) moved() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for label, pod := range p.pods {
		if !p.cluster.NodeInfo.Restricts(label) { // nobody has asked for long
			delete(p.pods, label)
			continue
		}
		var r affinity.Selector
		if terms, _ := p.cluster.Placed.Terms(pod, p.cluster.NodeInfo.All); len(terms) > 0 {
			r = affinity.Selector{terms}
		}
		p.cluster.NodeInfo.Restrict(label, r)
	}
}
