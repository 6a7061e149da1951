package schedule

import "slices"

// sweep forgets asks that nobody has any more, once they may be many.
func (st *State) sweep() {
	if len(st.asks) < 2*st.asked+1024 {
		return
	}
	used := map[*ask]bool{}
	mark := func(all [][]*ask) {
		for _, group := range all {
			for _, a := range group {
				used[a] = true
			}
		}
	}
	for _, l := range st.lanes {
		mark(l.asks)
	}
	for _, k := range st.classes {
		mark(k.asks)
	}
	for _, j := range st.jobs {
		mark(j.asks)
		for _, h := range j.holds {
			used[h.ask] = true
		}
	}
	for k, a := range st.asks {
		if !used[a] {
			delete(st.asks, k)
		}
	}
	st.asked = len(st.asks)
	for _, p := range st.pools {
		p.forecasts = nil
		p.whole.forget()
		for _, part := range p.parts {
			part.forget()
		}
	}
}

func total(tries []try) int {
	n := 0
	for _, t := range tries {
		n += t.count
	}
	return n
}

// wanted is a number of tasks of one ask.
type wanted struct {
	ask   *ask
	count int
}

// wanted is how many tasks of each ask are to be placed.
func (st *State) wanted(j *job, tries []try) []wanted {
	var out []wanted
	for _, t := range tries {
		for i := range int32(t.count) {
			a := st.nextRun(j, t.group, j.placed[t.group]+i)
			if a == nil {
				continue
			}
			k := slices.IndexFunc(out, func(w wanted) bool { return w.ask == a })
			if k < 0 {
				k = len(out)
				out = append(out, wanted{ask: a})
			}
			out[k].count++
		}
	}
	return out
}
