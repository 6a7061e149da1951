package state

import (
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"math"
)

// Quiet remembers a cycle in which nothing was to be done: until something is
// put or dropped, or an instant comes that matters, nothing is to be done again.
type Quiet struct {
	Version uint64 // of the state
	Since   int64
	until   int64 // first instant at which it may be different; 0: not worked out yet
	Fill    *ledger.Filler
	Known   bool
	Reach   map[*ledger.Pool]int64 // the last time to start that somebody has in a pool
}

// Changes notes that the next cycle has something to look at.
func (st *State) Changes() { st.Version, st.Ends = st.Version+1, nil }

// Idle reports whether a cycle now would find nothing to do, as the last did.
func (st *State) Idle(now int64) bool {
	q := &st.Quiet
	if !q.Known || q.Version != st.Version || q.Fill != st.Fill || now < q.Since {
		return false
	}
	if q.until == 0 {
		q.until = st.horizon(q.Since)
	}
	return now < q.until
}

// horizon is the first instant after now at which a plan may differ for no
// other reason than the time.
func (st *State) horizon(now int64) int64 {
	first := int64(math.MaxInt64)
	at := func(t int64) {
		if t > now {
			first = min(first, t)
		}
	}
	var least []int64 // for which who runs may be left alone
	for _, p := range st.Pools {
		least = append(least, p.MinRuntime, st.Cfg.MoveRest)
	}
	for i := range st.Queues.List {
		least = append(least, st.Queues.List[i].PreemptMin, st.Queues.List[i].ReclaimMin)
	}
	least = lasting(append(least, st.Cfg.Quantum))
	if len(st.Win.List) > 0 {
		at(st.Win.until)
	}
	at(st.NextLook(now))
	for _, j := range st.Jobs {
		if len(j.Held) > 0 {
			long, short := Shield(&j.Job)
			at(long)
			at(short)
		}
		at(j.Patient)
		at(j.Due)
		at(j.Starved)
		for _, t := range Turns(&j.Job) {
			at(t)
		}
		if len(j.Held) == 0 {
			at(j.Booked.At)
		} else if j.Pool != nil && j.Likely <= st.Quiet.Reach[j.Pool] {
			at(j.Likely) // then it is not known any more when it ends
		}
		if j.BelowSince > 0 {
			grace := st.Cfg.StaleGrace
			if j.StaleGrace != nil {
				grace = *j.StaleGrace
			}
			if grace >= 0 {
				at(j.BelowSince + grace)
			}
		}
		if j.Started > 0 {
			for _, l := range least {
				at(j.Started + l)
			}
		}
	}
	return first
}

// lasting are the times that are not zero, each once.
func lasting(all []int64) []int64 {
	var out []int64
	seen := map[int64]bool{}
	for _, l := range all {
		if l > 0 && !seen[l] {
			seen[l] = true
			out = append(out, l)
		}
	}
	return out
}
