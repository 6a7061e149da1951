package kube

import (
	"fmt"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/plane"
)

// stirPause is for how long changes of where pods are gather.
const stirPause = 200 * time.Millisecond

// stir has it looked at whether pods that wait may go elsewhere now, as others
// have come or gone.
func (x *external) stir() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.stirring && (len(x.wary) > 0 || x.p.near.restless()) {
		x.stirring = true
		x.after(stirPause, x.stirred)
	}
}

// stirred marks the groups of pods for which something else follows now. The
// lock is held.
func (x *external) stirred() {
	x.stirring = false
	for _, o := range x.pods {
		g := x.groups[o.group]
		if g == nil || !o.live() || o.task != (core.TaskID{}) {
			continue
		}
		if m := o.member(); m.Barred == "" {
			if m.Barred = x.p.near.confine(o.pod, &m.Where, x.p.cluster.machines); boundsOf(o, &m) != o.bounds {
				x.marked[g.key] = true
			}
		}
	}
}

// placeable is a pod as the control plane knows it, with what follows for it
// from others at present. Of pods that are to be spread evenly only one at a
// time may be placed: where the next may go is known when that has its place.
// The lock is held.
func (x *external) placeable(o *outsider, g *group, turn *string) plane.Member {
	m := o.member()
	if delete(x.wary, o.pod.UID); m.Barred != "" || m.Task != (core.TaskID{}) {
		o.bounds = ""
		return m
	}
	bars := x.p.near.confine(o.pod, &m.Where, x.p.cluster.machines)
	m.Barred = bars
	if o.bounds = boundsOf(o, &m); o.bounds != "" || social(o.pod) {
		x.wary[o.pod.UID] = true
	}
	switch {
	case bars != "" || !spreads(o.pod):
	case g.min > 1:
		m.Barred = "its topologySpreadConstraints must hold (DoNotSchedule), which cannot be seen to for pods that start together; ScheduleAnyway, or podAntiAffinity to its own kind, can be"
	case *turn != "":
		m.Barred = "its topologySpreadConstraints must hold (DoNotSchedule): its turn is after " + *turn
	default:
		*turn = m.Name
	}
	return m
}

// boundsOf names what follows for a pod from others; empty: nothing does.
func boundsOf(o *outsider, m *plane.Member) string {
	w, _ := whereOf(o.pod)
	more := slices.DeleteFunc(slices.Clone(m.Where.Terms), func(t spec.NodeTerm) bool {
		return slices.ContainsFunc(w.Terms, func(own spec.NodeTerm) bool {
			return own.Key == t.Key && own.Op == t.Op && slices.Equal(own.Values, t.Values)
		})
	})
	if len(more) == 0 && m.Barred == "" {
		return ""
	}
	return fmt.Sprint(more, m.Barred)
}
