package schedule

import (
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/core/quota"
)

// never says what is too much on a state on which nothing runs.
func (st *State) never(j *job, tries []try) Reason {
	pools := st.poolsOf(j)
	if len(pools) == 0 && len(j.Pools) > 0 {
		return Reason{Token: NeverFits, Resource: "pool", Note: fmt.Sprintf("no node is in pool %v", j.Pools)}
	}
	for _, x := range st.wanted(j, tries) {
		if r, ok := st.nowhere(pools, x.ask); ok {
			return r
		}
		if r, ok := st.tooLarge(pools, x.ask, x.count); ok {
			return r
		}
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
	if r.Fitting < r.Tasks {
		if st.crowdedApart(pools, j, &r); r.Label != "" {
			return r
		}
	}
	r.Note = st.outgrown(pools, st.wanted(j, tries))
	return r
}

// outgrown says of which resource tasks need more together than all nodes of
// any pool have; empty: of none, the nodes only do not divide so.
func (st *State) outgrown(pools []*pool, asked []wanted) string {
	for res := range quota.Resources {
		var needed, most int64
		one := Reason{Resource: resourceNames[res]}
		for _, x := range asked {
			needed += x.ask.amountOf(res) * int64(x.count)
			if res == quota.GPU {
				one.Type = x.ask.need.Type
			}
		}
		for _, p := range pools {
			for _, x := range asked {
				r, _ := p.short(st, x.ask, x.count, res, nil)
				most = max(most, r.Total)
			}
		}
		if needed > most {
			return fmt.Sprintf("they need %s, and there are %s", one.amount(needed), one.amount(most))
		}
	}
	return st.outgrownCounted(pools, asked)
}

// tooLarge is the first resource of which no node of any pool has what one task
// of a asks for. What is short in some pools only is not to blame by itself.
func (st *State) tooLarge(pools []*pool, a *ask, n int) (Reason, bool) {
	var all []Reason // over the pools, and in how many of them
	in := map[string]int{}
	for _, p := range pools {
		short := p.shortCounted(st, a, n, nil)
		for res := range quota.Resources {
			r, _ := p.short(st, a, n, res, nil)
			short = append(short, r)
		}
		for _, r := range short {
			if r.Requested == 0 || r.Largest >= r.Requested {
				continue
			}
			in[r.Resource]++
			i := slices.IndexFunc(all, func(x Reason) bool { return x.Resource == r.Resource })
			if i < 0 {
				all = append(all, r)
				continue
			}
			sum := &all[i]
			sum.Largest = max(sum.Largest, r.Largest)
			sum.Free, sum.Total = sum.Free+r.Free, sum.Total+r.Total
			sum.Nodes, sum.OfNodes, sum.Excluded, sum.Whole, sum.Without = sum.Nodes+r.Nodes, sum.OfNodes+r.OfNodes, sum.Excluded+r.Excluded, sum.Whole+r.Whole, sum.Without+r.Without
		}
	}
	for _, r := range all {
		if in[r.Resource] == len(pools) {
			r.Token = NeverFits
			return r, true
		}
	}
	return Reason{}, false
}
