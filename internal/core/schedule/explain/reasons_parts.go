package explain

import (
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// countParts adds to a reason about GPUs what is free of each, where a part of
// one is asked for. What is enough in all but nowhere in one piece is scattered.
func countParts(st *state.State, p *ledger.Pool, a *ledger.Ask, r *schedule.Reason, among func(*ledger.Site) bool) {
	if a.Need.Milli >= 1000 && a.Need.GPUMemory == 0 {
		return
	}
	for _, s := range p.Sites {
		if !s.Fit || !st.Allowed(s, a) || among != nil && !among(s) {
			continue
		}
		r.Part = max(r.Part, int64(s.Milli(a)))
		for d := range s.Now.Dev {
			if s.Is(d, a.Need.Type) {
				free := int64(max(min(s.Now.Dev[d], s.Soon.Dev[d]), 0))
				r.FreeParts += free
				r.LargestPart = max(r.LargestPart, free)
			}
		}
	}
	if r.Part > 0 && r.Token == schedule.WaitingForCapacity && r.FreeParts >= r.Part*r.Needed {
		r.Token = schedule.Fragmented
	}
}
