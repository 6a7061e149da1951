package state

import "slices"

// Sweep forgets asks that nobody has any more, once they may be many.
func (st *State) Sweep() {
	if len(st.Asks) < 2*st.asked+1024 {
		return
	}
	used := map[*Ask]bool{}
	mark := func(all [][]*Ask) {
		for _, group := range all {
			for _, a := range group {
				used[a] = true
			}
		}
	}
	for _, l := range st.JobClasses {
		mark(l.asks)
	}
	for _, k := range st.ClassList {
		mark(k.asks)
	}
	for _, j := range st.Jobs {
		mark(j.Asks)
		for _, h := range j.Holds {
			used[h.Ask] = true
		}
	}
	for k, a := range st.Asks {
		if !used[a] {
			delete(st.Asks, k)
		}
	}
	st.asked = len(st.Asks)
	for _, p := range st.Pools {
		p.forecasts = nil
		p.Whole.forget()
		for _, part := range p.Parts {
			part.forget()
		}
	}
}

func Total(tries []Try) int {
	n := 0
	for _, t := range tries {
		n += t.Count
	}
	return n
}

// Wanted is a number of tasks of one ask.
type Wanted struct {
	Ask   *Ask
	Count int
}

// Wanted is how many tasks of each ask are to be placed.
func (st *State) Wanted(j *Job, tries []Try) []Wanted {
	var out []Wanted
	for _, t := range tries {
		for i := range int32(t.Count) {
			a := st.NextRun(j, t.Group, j.Placed[t.Group]+i)
			if a == nil {
				continue
			}
			k := slices.IndexFunc(out, func(w Wanted) bool { return w.Ask == a })
			if k < 0 {
				k = len(out)
				out = append(out, Wanted{Ask: a})
			}
			out[k].Count++
		}
	}
	return out
}
