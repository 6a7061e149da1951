package state

import "github.com/musterhq/muster/internal/core/schedule/ledger"

// Sweep forgets asks that nobody has any more, once they may be many.
func (st *State) Sweep() {
	if len(st.Asks.All) < 2*st.Swept+1024 {
		return
	}
	used := map[*ledger.Ask]bool{}
	mark := func(all [][]*ledger.Ask) {
		for _, group := range all {
			for _, a := range group {
				used[a] = true
			}
		}
	}
	for _, l := range st.JobClasses {
		mark(l.Asks)
	}
	for _, k := range st.ClassList {
		mark(k.Asks)
	}
	for _, j := range st.Jobs {
		mark(j.Asks)
		for _, h := range j.Holds {
			used[h.Ask] = true
		}
	}
	for k, a := range st.Asks.All {
		if !used[a] {
			delete(st.Asks.All, k)
		}
	}
	st.Swept = len(st.Asks.All)
	for _, p := range st.Pools {
		p.Forecasts = nil
		p.Whole.Forget()
		for _, part := range p.Parts {
			part.Forget()
		}
	}
}
