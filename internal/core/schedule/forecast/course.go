package forecast

import (
	"cmp"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// Hold is a part of a device that a task of a job has for a while.
type Hold struct {
	ID     core.WorkloadID
	Node   core.NodeID
	Share  core.Share
	From   int64 // unix ms; 0: since before the forecast
	To     int64 // unix ms; 0: no end of it is known
	number int   // of the task
}

// Course is who holds what from now on, in the one course in which all goes as it
// usually does.
type Course struct {
	Holds []Hold // by From, then node and device
	// Until is up to when it tells (unix ms), where it was not looked as far as asked.
	Until int64
	// Simple says that there is too much for a simulation: nothing is told.
	Simple bool
}

// CourseOf is the course up to an instant (unix ms).
func CourseOf(c *state.Copy, spans map[core.WorkloadID]Span, until int64) Course {
	if TooMany(len(c.Jobs)) {
		return Course{Simple: true}
	}
	f := newFuture(c, "", spans, func(s Span) int64 { return s.Likely })
	t := &track{open: map[core.WorkloadID][]Hold{}}
	for i := range c.Jobs {
		t.follow(&c.Jobs[i], 0)
	}
	f.track, f.last = t, until
	f.run()
	t.end()
	out := Course{Holds: t.past}
	if f.until > 0 && f.until < until {
		out.Until = f.until
	}
	slices.SortFunc(out.Holds, func(a, b Hold) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Share.Index, b.Share.Index), cmp.Compare(a.Share.Device, b.Share.Device), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// track follows who holds what while a future is simulated.
type track struct {
	open map[core.WorkloadID][]Hold
	past []Hold
}

// follow notes what a job holds at an instant: what it had and has no more has ended.
func (t *track) follow(j *schedule.Job, now int64) {
	if t == nil {
		return
	}
	var open []Hold
	had := t.open[j.ID]
	for i := range j.Held {
		h := &j.Held[i]
		for _, d := range h.Place.Devices {
			x := Hold{ID: j.ID, Node: h.Place.Node, Share: d, From: now, number: h.Task}
			if k := slices.IndexFunc(had, x.same); k >= 0 {
				x.From = had[k].From
				had = slices.Delete(had, k, k+1)
			}
			open = append(open, x)
		}
	}
	for _, x := range had {
		if x.To = now; x.To > x.From {
			t.past = append(t.past, x)
		}
	}
	if t.open[j.ID] = open; len(open) == 0 {
		delete(t.open, j.ID)
	}
}

func (x *Hold) same(y Hold) bool {
	return x.number == y.number && x.Node == y.Node && x.Share == y.Share
}

// left notes that a job has gone.
func (t *track) left(id core.WorkloadID, now int64) {
	t.follow(&schedule.Job{ID: id}, now)
}

// end keeps what is held still.
func (t *track) end() {
	for _, all := range t.open {
		t.past = append(t.past, all...)
	}
	t.open = nil
}
