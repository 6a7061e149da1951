package explain

import (
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// shortCounted is which partitions, and whatever else is counted by name, are
// shortOf for n tasks of a: of all together, or on every site. Where among is given
// only such sites count.
func shortCounted(p *ledger.Pool, st *state.State, a *ledger.Ask, n int, among func(*ledger.Site) bool) []schedule.Reason {
	var out []schedule.Reason
	for _, w := range a.Migs {
		one := int64(w.Count)
		r := schedule.Reason{Token: schedule.WaitingForCapacity, Resource: w.Name, Requested: one, Needed: one * int64(n), Tasks: int64(n), OfNodes: len(p.Sites)}
		for _, s := range p.Sites {
			if !st.Allowed(s, a) {
				exclude(&r, s, a)
				r.OfNodes--
				continue
			}
			if among != nil && !among(s) {
				r.OfNodes--
				continue
			}
			i := slices.Index(s.Migs, w.Name)
			free := int64(0)
			has := s.Node.MIG[w.Name] + s.Node.OtherMIG[w.Name]
			if r.Total += int64(has); has == 0 {
				r.Without++
			}
			if i >= 0 && s.Fit {
				free = max(int64(s.Now.Mig[i]), 0)
			}
			r.Free += free
			r.Largest = max(r.Largest, free)
			if free < one {
				r.Nodes++
			}
		}
		if r.Free < r.Needed || r.Nodes == r.OfNodes {
			out = append(out, r)
		}
	}
	return out
}

// outgrownCounted is outgrown of what is counted by name.
func outgrownCounted(st *state.State, pools []*ledger.Pool, asked []ledger.Wanted) string {
	needed := map[string]int64{}
	for _, x := range asked {
		for _, w := range x.Ask.Migs {
			needed[w.Name] += int64(w.Count) * int64(x.Count)
		}
	}
	for _, name := range ledger.SortedKeys(needed) {
		most := int64(0)
		for _, p := range pools {
			sum := int64(0)
			for _, s := range p.Sites {
				sum += int64(s.Node.MIG[name])
			}
			most = max(most, sum)
		}
		if needed[name] > most {
			return fmt.Sprintf("they need %d %s, and there are %d", needed[name], name, most)
		}
	}
	return ""
}
