package schedule

// whyAlone says that a wants nodes to itself, and how many have nothing on them.
func (p *pool) whyAlone(st *State, a *ask, n int) []Reason {
	if a.alone() == "" {
		return nil
	}
	r := Reason{Token: WaitingForCapacity, Resource: "nodes", Requested: 1, Needed: int64(n), Tasks: int64(n), Note: "it wants them to itself"}
	if a.alone() != AloneEach {
		r.Needed = 1
	}
	for _, s := range p.sites {
		if !st.allowed(s, a) {
			r.exclude(s, a)
			continue
		}
		r.OfNodes++
		if r.Total++; s.now.guests.admits(a.alone()) && s.soon.guests.admits(a.alone()) && !s.foreign() {
			r.Free++
		} else {
			r.Nodes++
		}
	}
	if r.Free >= r.Needed {
		return nil
	}
	return []Reason{r}
}
