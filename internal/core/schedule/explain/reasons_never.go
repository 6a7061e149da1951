package explain

import (
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/place"
	"github.com/musterhq/muster/internal/core/schedule/queues"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// never says what is too much on a state on which nothing runs.
func never(st *state.State, j *ledger.Job, tries []ledger.Try) schedule.Reason {
	pools := st.PoolsOf(j)
	if len(pools) == 0 && len(j.Pools) > 0 {
		return schedule.Reason{Token: schedule.NeverFits, Resource: "pool", Note: fmt.Sprintf("no node is in pool %v", j.Pools)}
	}
	for _, x := range st.Wanted(j, tries) {
		if r, ok := nowhere(st, pools, x.Ask); ok {
			return r
		}
		if r, ok := tooLarge(st, pools, x.Ask, x.Count); ok {
			return r
		}
	}
	r := schedule.Reason{Token: schedule.NeverFits, Resource: "tasks", Tasks: int64(ledger.Total(tries))}
	for _, p := range pools {
		mark := len(st.Log)
		fitting := 0
		for _, part := range p.PartsFor(j) {
			fitting = 0
			for _, t := range tries {
				for range t.Count {
					if !place.PlaceGroup(st, j, ledger.Try{Group: t.Group, Count: 1}, part) {
						break
					}
					fitting++
				}
			}
			st.Undo(mark)
			r.Fitting = max(r.Fitting, int64(fitting))
		}
		r.OfNodes += len(p.Sites)
		for _, x := range st.Wanted(j, tries) {
			a := x.Ask
			for _, s := range p.Sites {
				if !st.Allowed(s, a) {
					exclude(&r, s, a)
				}
			}
		}
	}
	for _, p := range pools {
		if seg, ok := whySegments(st, p, j, tries); ok {
			seg.Token, seg.Resource, seg.OfNodes, seg.Excluded, seg.Whole = schedule.NeverFits, "tasks", r.OfNodes, r.Excluded, r.Whole
			return seg
		}
	}
	if t, _ := required(j); t != nil && r.Fitting == r.Tasks {
		r.Domain = t.Required
	}
	if r.Fitting < r.Tasks {
		if crowdedApart(st, pools, j, &r); r.Label != "" {
			return r
		}
	}
	r.Note = outgrown(st, pools, st.Wanted(j, tries))
	return r
}

// outgrown says of which resource tasks need more together than all nodes of
// any pool have; empty: of none, the nodes only do not divide so.
func outgrown(st *state.State, pools []*ledger.Pool, asked []ledger.Wanted) string {
	for res := range quota.Resources {
		var needed, most int64
		one := schedule.Reason{Resource: queues.ResourceNames[res]}
		for _, x := range asked {
			needed += amountOf(x.Ask, res) * int64(x.Count)
			if res == quota.GPU {
				one.Type = x.Ask.Need.Type
			}
		}
		for _, p := range pools {
			for _, x := range asked {
				r, _ := shortOf(p, st, x.Ask, x.Count, res, nil)
				most = max(most, r.Total)
			}
		}
		if needed > most {
			return fmt.Sprintf("they need %s, and there are %s", one.Amount(needed), one.Amount(most))
		}
	}
	return outgrownCounted(st, pools, asked)
}

// tooLarge is the first resource of which no node of any pool has what one task
// of a asks for. What is short in some pools only is not to blame by itself.
func tooLarge(st *state.State, pools []*ledger.Pool, a *ledger.Ask, n int) (schedule.Reason, bool) {
	var all []schedule.Reason // over the pools, and in how many of them
	in := map[string]int{}
	for _, p := range pools {
		short := shortCounted(p, st, a, n, nil)
		for res := range quota.Resources {
			r, _ := shortOf(p, st, a, n, res, nil)
			short = append(short, r)
		}
		for _, r := range short {
			if r.Requested == 0 || r.Largest >= r.Requested {
				continue
			}
			in[r.Resource]++
			i := slices.IndexFunc(all, func(x schedule.Reason) bool { return x.Resource == r.Resource })
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
			r.Token = schedule.NeverFits
			return r, true
		}
	}
	return schedule.Reason{}, false
}
