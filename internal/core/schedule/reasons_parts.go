package schedule

import "fmt"

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

// parts says what is free where parts of GPUs are asked for.
func (r Reason) parts() string {
	kind := ""
	if r.Type != "" {
		kind = r.Type + " "
	}
	asks := fmt.Sprintf("%s of a %sGPU", milli(r.Part), kind)
	if r.Needed > 1 {
		asks = fmt.Sprintf("%s of %d %sGPUs each", milli(r.Part), r.Needed, kind)
	}
	if r.Token == Fragmented {
		return fmt.Sprintf("free %s %sGPU in all is enough for the %s that it needs, but in parts of at most %s", milli(r.FreeParts), kind, asks, milli(r.LargestPart))
	}
	out := fmt.Sprintf("waits for gpu: needs %s, free %s of %s", asks, milli(r.FreeParts), r.amount(r.Total))
	if r.LargestPart > 0 && r.LargestPart < r.FreeParts {
		out += ", in parts of at most " + milli(r.LargestPart)
	}
	return out
}
