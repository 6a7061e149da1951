package podgroup

import (
	"fmt"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/affinity"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
)

// requeuePause is for how long changes of where pods are gather.
const requeuePause = 200 * time.Millisecond

// Requeue has it looked at whether pods that wait may go elsewhere now, as others,
// or nodes, have come or gone.
func (x *Groups) Requeue(m affinity.Affected) {
	if m == affinity.AffectsNone {
		return
	}
	x.Mu.Lock()
	defer x.Mu.Unlock()
	if x.everybody = x.everybody || m == affinity.AffectsAll; x.requeueing || !x.everybody && len(x.wary) == 0 {
		return
	}
	x.requeueing = true
	x.after(requeuePause, x.requeueNow)
}

// requeueNow marks the groups of pods for which something else follows now. The
// lock is held.
func (x *Groups) requeueNow() {
	all := x.everybody
	x.requeueing, x.everybody = false, false
	look := func(o *foreignPod) {
		g := x.Groups[o.group]
		if g == nil || !o.live() || o.task != (core.TaskID{}) {
			return
		}
		if m := o.member(x.Wishes); m.Barred == "" && boundsOf(x.p.Placed.Terms(o.Pod, x.p.NodeInfo.All)) != o.bounds {
			x.Marked[g.key] = true
		}
	}
	if all {
		for _, o := range x.Pods {
			look(o)
		}
		return
	}
	for uid := range x.wary {
		if o := x.Pods[uid]; o != nil {
			look(o)
		}
	}
}

// placeable is a pod as the control plane knows it, with what follows for it
// from others at present. Of pods that are to be spread evenly only one at a
// time may be placed: where the next may go is known when that has its place.
// The lock is held.
func (x *Groups) placeable(o *foreignPod, g *group, turn *string) backend.Member {
	m := o.member(x.Wishes)
	if delete(x.wary, o.Pod.UID); m.Barred != "" || m.Task != (core.TaskID{}) {
		o.bounds = ""
		return m
	}
	terms, bars := x.p.Placed.Terms(o.Pod, x.p.NodeInfo.All)
	m.Where.Terms, m.Barred = append(m.Where.Terms, terms...), bars
	if o.bounds = boundsOf(terms, bars); o.bounds != "" || affinity.Constrained(o.Pod) {
		x.wary[o.Pod.UID] = true
	}
	switch {
	case bars != "" || !affinity.Spreads(o.Pod):
	case g.Min > 1:
		m.Barred = "its topologySpreadConstraints must hold (DoNotSchedule), which cannot be seen to for pods that start together; ScheduleAnyway, or podAntiAffinity to its own kind, can be"
	case *turn != "":
		m.Barred = "its topologySpreadConstraints must hold (DoNotSchedule): its turn is after " + *turn
	default:
		*turn = m.Name
	}
	return m
}

// boundsOf names what follows for a pod from others; empty: nothing does.
func boundsOf(terms []spec.NodeTerm, bars string) string {
	if len(terms) == 0 && bars == "" {
		return ""
	}
	return fmt.Sprint(terms, bars)
}
