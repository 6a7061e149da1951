package schedule

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
