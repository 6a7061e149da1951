package schedule

// countParts adds to a reason about GPUs what is free of each, where a part of
// one is asked for. What is enough in all but nowhere in one piece is scattered.
func (st *State) countParts(p *pool, a *ask, r *Reason, among func(*site) bool) {
	if a.need.Milli >= 1000 && a.need.Share == 0 {
		return
	}
	for _, s := range p.sites {
		if !s.fit || !st.allowed(s, a) || among != nil && !among(s) {
			continue
		}
		r.Part = max(r.Part, int64(s.milli(a)))
		for d := range s.now.dev {
			if s.is(d, a.need.Type) {
				free := int64(max(min(s.now.dev[d], s.soon.dev[d]), 0))
				r.FreeParts += free
				r.LargestPart = max(r.LargestPart, free)
			}
		}
	}
	if r.Part > 0 && r.Token == WaitingForCapacity && r.FreeParts >= r.Part*r.Needed {
		r.Token = Fragmented
	}
}
