package schedule

import "math"

// quiet remembers a cycle in which nothing was to be done: until something is
// put or dropped, or an instant comes that matters, nothing is to be done again.
type quiet struct {
	version uint64 // of the state
	since   int64
	until   int64 // first instant at which it may be different; 0: not worked out yet
	fill    *filler
	known   bool
	reach   map[*pool]int64 // the last time to start that somebody has in a pool
}

// changes notes that the next cycle has something to look at.
func (st *State) changes() { st.version, st.ends = st.version+1, nil }

// idle reports whether a cycle now would find nothing to do, as the last did.
func (st *State) idle(now int64) bool {
	q := &st.quiet
	if !q.known || q.version != st.version || q.fill != st.fill || now < q.since {
		return false
	}
	if q.until == 0 {
		q.until = st.horizon(q.since)
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
	for _, p := range st.pools {
		least = append(least, p.MinRuntime, st.cfg.MoveRest)
	}
	for i := range st.queues.list {
		least = append(least, st.queues.list[i].PreemptMin, st.queues.list[i].ReclaimMin)
	}
	least = lasting(append(least, st.cfg.Quantum))
	if len(st.win.list) > 0 {
		at(st.win.until)
	}
	for _, j := range st.jobs {
		at(j.Patient)
		at(j.Due)
		for _, t := range j.Turns() {
			at(t)
		}
		if len(j.Held) == 0 {
			at(j.Booked.At)
		} else if j.pool != nil && j.Likely <= st.quiet.reach[j.pool] {
			at(j.Likely) // then it is not known any more when it ends
		}
		if j.BelowSince > 0 {
			grace := st.cfg.StaleGrace
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
