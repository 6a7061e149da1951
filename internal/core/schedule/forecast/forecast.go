// Package forecast says when a job starts if nobody comes and nothing breaks. It
// is given a copy of a state and what is known of the ends of others, and runs
// cycles from one known end to the next.
package forecast

import (
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/explain"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// Span is when something ends: in one case of ten it is over by Early, in half
// of them by Likely, in nine of ten by Late. Of a job that runs they are
// instants (unix ms), of one that waits lengths after its start (ms). 0: unknown.
type Span struct{ Early, Likely, Late int64 }

// Forecast is when a job starts if nobody comes and nothing breaks.
type Forecast struct {
	// Span's parts are the starts (unix ms) if all goes quickly, as usual or
	// slowly; 0: what is known of ends does not suffice for one.
	Span
	// Starts are the likely starts of others, as far as they come before it.
	Starts map[core.WorkloadID]int64
	// Frees are those whose end makes its room, in the order of their ends, with
	// the likely ones.
	Frees []Freed
	// Places are where its tasks are when it starts, as things usually go.
	Places []schedule.Placed
	// Until is the instant up to which was looked, where that ended the search;
	// 0: it came to its end.
	Until int64
	// Relieved says that no known end makes its room, but that others have to
	// once it has waited for too long: it starts at the latest at Late.
	Relieved bool
	// Simple says that there is too much for a simulation: Likely is the first
	// known end after which there is room, and nothing else is told.
	Simple bool
}

// Freed is a job whose end makes room.
type Freed struct {
	ID core.WorkloadID
	At int64
}

// Bounds of a forecast, so that a question costs a few seconds at the worst:
// jobs that are known, instants at which something ends, and jobs that are
// looked at in all cycles together.
const (
	forecastJobs   = 20_000
	forecastEvents = 2_000
	forecastLooks  = 150_000
	steadyRounds   = 40
)

// Who would be displaced is worked out at the first fullSteps ends, and then at
// every fullEvery-th only: it costs many times what placing does, and decides
// little about a start that is far off.
const fullSteps, fullEvery = 64, 16

// wholeLooks is how many looks at a job displacing costs, beside placing.
const wholeLooks = 8

// LeaveTime is how long, in ms, those are given who were told to leave and of
// whom nothing else is known.
const LeaveTime = 30_000

// TooMany reports whether so many jobs are more than can be simulated: then nothing is
// told of when they start, but of one that is asked for by itself.
func TooMany(jobs int) bool { return jobs > forecastJobs }

// Of simulates what is to come until job id has started: cycle by cycle,
// from one known end to the next.
func Of(c *state.Copy, id core.WorkloadID, spans map[core.WorkloadID]Span) Forecast {
	if TooMany(len(c.Jobs)) {
		return Forecast{Span: Span{Likely: explain.EarliestStart(c.State(), id)}, Simple: true}
	}
	var out Forecast
	var starts [3]int64
	for i, pick := range []func(Span) int64{
		func(s Span) int64 { return s.Likely },
		func(s Span) int64 { return s.Early },
		func(s Span) int64 { return s.Late },
	} {
		f := newFuture(c, id, spans, pick)
		starts[i] = f.run()
		switch i {
		case 1:
			out.Relieved = f.owed && f.due > 0 && starts[i] >= f.due
		case 2:
			if f.owed && starts[i] > 0 { // who is told to leave takes his time
				starts[i] += LeaveTime
			}
		}
		if i == 0 {
			out.Starts, out.Frees = f.starts, f.freed
			out.Until = f.until
		}
		if out.Places == nil {
			out.Places = f.places
		}
	}
	if out.Relieved {
		out.Span, out.Frees = Span{Late: starts[2]}, nil
		return out
	}
	// A job that ends sooner may let another one in that is in the way longer, so
	// that the three need not be in order by themselves.
	known := slices.DeleteFunc([]int64{starts[1], starts[0], starts[2]}, func(t int64) bool { return t == 0 })
	slices.Sort(known)
	switch len(known) {
	case 3:
		out.Span = Span{known[0], known[1], known[2]}
	case 2:
		out.Span = Span{Early: known[0], Likely: known[1]}
	case 1:
		out.Span = Span{Early: known[0]}
	}
	return out
}
