package schedule

import (
	"fmt"

	"github.com/musterhq/muster/internal/core/quota"
)

// never says what is too much on a state on which nothing runs.
func (st *State) never(j *job, tries []try) Reason {
	pools := st.poolsOf(j)
	if len(pools) == 0 && len(j.Pools) > 0 {
		return Reason{Token: NeverFits, Resource: "pool", Note: fmt.Sprintf("no node is in pool %v", j.Pools)}
	}
	var worst Reason
	for _, p := range pools {
		for _, x := range st.wanted(j, tries) {
			a, n := x.ask, x.count
			for res := range quota.Resources {
				r, _ := p.short(st, a, n, res, nil)
				if r.Requested > 0 && r.Largest < r.Requested && (worst.Token == "" || r.Largest > worst.Largest) {
					r.Token = NeverFits
					worst = r
				}
			}
			for _, r := range p.shortCounted(st, a, n) {
				if r.Largest < r.Requested && worst.Token == "" {
					r.Token = NeverFits
					worst = r
				}
			}
		}
	}
	if worst.Token != "" {
		return worst
	}
	r := Reason{Token: NeverFits, Resource: "tasks", Tasks: int64(total(tries))}
	for _, p := range pools {
		mark := len(st.log)
		fitting := 0
		for _, part := range p.partsFor(j) {
			fitting = 0
			for _, t := range tries {
				for range t.count {
					if !st.placeGroup(j, try{t.group, 1}, part) {
						break
					}
					fitting++
				}
			}
			st.undo(mark)
			r.Fitting = max(r.Fitting, int64(fitting))
		}
		r.OfNodes += len(p.sites)
		for _, x := range st.wanted(j, tries) {
			a := x.ask
			for _, s := range p.sites {
				if !st.allowed(s, a) {
					r.exclude(s, a)
				}
			}
		}
	}
	for _, p := range pools {
		if seg, ok := st.whySegments(p, j, tries); ok {
			seg.Token, seg.Resource, seg.OfNodes, seg.Excluded, seg.Whole = NeverFits, "tasks", r.OfNodes, r.Excluded, r.Whole
			return seg
		}
	}
	if t, _ := j.required(); t != nil && r.Fitting == r.Tasks {
		r.Domain = t.Required
	}
	return r
}
