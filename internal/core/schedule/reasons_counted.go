package schedule

import (
	"fmt"
	"slices"
)

// shortCounted is which partitions, and whatever else is counted by name, are
// short for n tasks of a: of all together, or on every site. Where among is given
// only such sites count.
func (p *pool) shortCounted(st *State, a *ask, n int, among func(*site) bool) []Reason {
	var out []Reason
	for _, w := range a.migs {
		one := int64(w.count)
		r := Reason{Token: WaitingForCapacity, Resource: w.name, Requested: one, Needed: one * int64(n), Tasks: int64(n), OfNodes: len(p.sites)}
		for _, s := range p.sites {
			if !st.allowed(s, a) {
				r.exclude(s, a)
				r.OfNodes--
				continue
			}
			if among != nil && !among(s) {
				r.OfNodes--
				continue
			}
			i := slices.Index(s.migs, w.name)
			free := int64(0)
			has := s.node.MIG[w.name] + s.node.OtherMIG[w.name]
			if r.Total += int64(has); has == 0 {
				r.Without++
			}
			if i >= 0 && s.fit {
				free = max(int64(s.now.mig[i]), 0)
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
func (st *State) outgrownCounted(pools []*pool, asked []wanted) string {
	needed := map[string]int64{}
	for _, x := range asked {
		for _, w := range x.ask.migs {
			needed[w.name] += int64(w.count) * int64(x.count)
		}
	}
	for _, name := range sortedKeys(needed) {
		most := int64(0)
		for _, p := range pools {
			sum := int64(0)
			for _, s := range p.sites {
				sum += int64(s.node.MIG[name])
			}
			most = max(most, sum)
		}
		if needed[name] > most {
			return fmt.Sprintf("they need %d %s, and there are %d", needed[name], name, most)
		}
	}
	return ""
}
