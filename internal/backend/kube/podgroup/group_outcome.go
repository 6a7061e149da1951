package podgroup

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/podowner"
)

// after does f under the lock and looks again, after a while.
func (x *Groups) after(d time.Duration, f func()) {
	time.AfterFunc(d, func() {
		if x.p.Context.Err() != nil {
			return
		}
		x.Mu.Lock()
		f()
		x.Mu.Unlock()
		ring(x.Wake)
	})
}

// lively reports whether some pod of a group has not ended, and as many are
// there as start together. The lock is held.
func (x *Groups) lively(g *group) bool {
	live, done := 0, 0
	for uid := range g.pods {
		if o := x.Pods[uid]; o != nil && o.live() {
			live++
		} else if o != nil && o.Pod.Status.Phase == corev1.PodSucceeded {
			done++
		}
	}
	return live > 0 && live+done >= g.Min
}

// assess finds out of a group that has no pods, or too few, whether its maker is
// there still, and what it wants by now. It is asked again while that may change.
func (x *Groups) assess(ctx context.Context, g *group) {
	x.Mu.Lock()
	chain, now, first := g.chain, x.p.Options.Clock(), g.since.IsZero()
	if first {
		g.since, g.pause = now, podowner.FirstRecheck
	}
	later := func() {
		g.next = now.Add(g.pause)
		x.after(g.pause, func() { x.Marked[g.key] = true })
		g.pause = min(2*g.pause, podowner.LongestRecheck)
	}
	if first && !x.none(g) { // the others are being made
		later()
		x.Mu.Unlock()
		return
	}
	x.Mu.Unlock()
	newer, err := x.Owners.Refresh(ctx, chain)
	if err == nil && len(chain) > 0 {
		chain = newer
	}
	x.Mu.Lock()
	defer x.Mu.Unlock()
	g.chain = chain
	if n, ok := minimumOf(chain); ok && g.Part == "" && g.Min > 1 {
		g.Min = n
	}
	x.stale[g.key] = true
	if x.lively(g) {
		return
	}
	if x.none(g) && err == nil {
		g.over = x.outcome(g, now)
	}
	if g.over == "" {
		later()
	}
}

// minimumOf is how many pods the makers start together by now.
func minimumOf(chain []*podowner.Owner) (int, bool) {
	for _, o := range chain {
		if n, ok := podowner.GangSize(o.Spec); ok {
			return n, true
		}
	}
	return 0, false
}

// none reports whether no pod of a group is live. The lock is held.
func (x *Groups) none(g *group) bool {
	for uid := range g.pods {
		if o := x.Pods[uid]; o != nil && o.live() {
			return false
		}
	}
	return true
}

// unknownFor is for how long a maker of which nothing can be learnt may be
// without pods before these are taken to be all.
const unknownFor = time.Minute

// outcome is how a group without live pods has ended; empty: its maker may make
// others. The lock is held.
func (x *Groups) outcome(g *group, now time.Time) backend.Outcome {
	as := backend.OutcomeGone
	switch {
	case g.bad:
		as = backend.OutcomeFailed
	case g.well:
		as = backend.OutcomeSucceeded
	}
	if len(g.chain) == 0 {
		return as
	}
	top := g.chain[len(g.chain)-1]
	for i := len(g.chain) - 1; i >= 0; i-- { // whichever of them says so first, from the top
		if done := g.chain[i].Done; done != "" {
			return backend.Outcome(done)
		}
	}
	switch {
	case top.Gone && len(g.pods) == 0:
		return backend.OutcomeGone
	case top.Gone:
		return as
	case top.Unread != nil && !top.Gone && now.Sub(g.since) >= unknownFor:
		return as
	default:
		return ""
	}
}

// asksAtOnce is how many questions about makers are under way at a time.
const asksAtOnce = 8

// firsts are the pods of each maker that come first.
func firsts(pods []*corev1.Pod) []*corev1.Pod {
	seen := map[types.UID]bool{}
	var out []*corev1.Pod
	for _, p := range pods {
		if ref := podowner.ControllerOf(p.OwnerReferences); ref == nil || !seen[ref.UID] {
			if ref != nil {
				seen[ref.UID] = true
			}
			out = append(out, p)
		}
	}
	return out
}

// others are all but those, which stand in the same order.
func others(all, without []*corev1.Pod) []*corev1.Pod {
	out := make([]*corev1.Pod, 0, len(all)-len(without))
	for _, p := range all {
		if len(without) > 0 && without[0] == p {
			without = without[1:]
			continue
		}
		out = append(out, p)
	}
	return out
}
