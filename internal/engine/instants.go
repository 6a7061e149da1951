package engine

import (
	"container/heap"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// instants are times at which a plan may come out differently though nothing
// has happened: someone's patience ends, or someone has run for long enough to
// be displaced. Each is kept once, in whole seconds of unix time.
type instants struct {
	heap  seconds
	known map[int64]struct{}
	past  int64 // up to which all have come
}

type seconds []int64

func (s seconds) Len() int           { return len(s) }
func (s seconds) Less(i, j int) bool { return s[i] < s[j] }
func (s seconds) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }

// Push and Pop serve container/heap.
func (s *seconds) Push(x any) { *s = append(*s, x.(int64)) }

// Pop serves container/heap.
func (s *seconds) Pop() any {
	old := *s
	last := old[len(old)-1]
	*s = old[:len(old)-1]
	return last
}

// add keeps the second in which ms, in unix time, will have come, unless it has
// already; 0 is never.
func (i *instants) add(ms int64) {
	at := (ms + 999) / 1000
	if _, twice := i.known[at]; twice || ms <= 0 || at <= i.past {
		return
	}
	if i.known == nil {
		i.known = map[int64]struct{}{}
	}
	i.known[at] = struct{}{}
	heap.Push(&i.heap, at)
}

// passed forgets all that have come, and reports whether there were any.
func (i *instants) passed(now time.Time) bool {
	any := false
	i.past = now.Unix()
	for len(i.heap) > 0 && !time.Unix(i.heap[0], 0).After(now) {
		delete(i.known, heap.Pop(&i.heap).(int64))
		any = true
	}
	return any
}

func (i *instants) next() time.Time {
	if len(i.heap) == 0 {
		return time.Time{}
	}
	return time.Unix(i.heap[0], 0).UTC()
}

// expect notes when a plan may look at j in another way.
func (e *Engine) expect(j *schedule.Job) {
	if len(j.Held) == 0 {
		e.instants.add(j.Patient)
		e.instants.add(j.Due)
		e.instants.add(j.Booked.At)
		for _, t := range state.Turns(j) {
			e.instants.add(t)
		}
		return
	}
	if j.Started == 0 || !j.Preemptible {
		return
	}
	e.instants.add(j.Started + e.D.Policy.Quantum)
	if e.D.Policy.MaxMoves != 0 {
		e.instants.add(j.Started + e.D.Policy.MoveRest)
	}
	for _, d := range e.sheltered(j) {
		e.instants.add(j.Started + d.Milliseconds())
	}
}

// sheltered are the times after its start up to which someone may not displace
// j, each at least once: by its pool, and for every level of its queue.
func (e *Engine) sheltered(j *schedule.Job) []time.Duration {
	var out []time.Duration
	if p, ok := e.pools[e.nodes[j.Held[0].Place.Node].Pool]; ok && p.MinRuntime > 0 {
		out = append(out, p.MinRuntime)
	}
	id := j.Queue
	for range maxDepth {
		p, ok := e.tree(id)
		if !ok {
			break
		}
		for _, d := range []*time.Duration{p.PreemptMinRuntime, p.ReclaimMinRuntime} {
			if d != nil && *d > 0 {
				out = append(out, *d)
			}
		}
		if id = p.Parent; id == "" {
			break
		}
	}
	return out
}

// maxDepth bounds the walk up a tree of departments.
const maxDepth = 64

// course is what has become of w so far, in the scheduler's words.
func course(w *core.Workload) schedule.Course {
	last := len(w.Attempts) - 1
	c := schedule.Course{Submitted: w.CreatedAt.UnixMilli()}
	for i := range last {
		if a := &w.Attempts[i]; !a.StartedAt.IsZero() && a.EndedAt.After(a.StartedAt) {
			c.Attained += a.EndedAt.Sub(a.StartedAt).Milliseconds()
		}
	}
	c.Unsaved = unsaved(w)
	c.Displaced = last > 0 && displaced(w.Attempts[last-1].Event)
	if at := w.Attempts[last].QueuedAt; !at.IsZero() {
		c.Queued = at.UnixMilli()
	}
	return c
}

// unsaved reports whether w would begin anew if it had to leave, as far as is
// known: it is work that is to be done, and has told of no checkpoint. Of an array
// only single tasks leave.
func unsaved(w *core.Workload) bool {
	return (w.Kind == lifecycle.Training && w.Spec.Array == nil || w.Kind == lifecycle.Distributed) && w.Checkpoint == nil
}
