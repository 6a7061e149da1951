package schedule

import "slices"

// shortCounted is which partitions, and whatever else is counted by name, are
// short for n tasks of a: of all together, or on every site.
func (p *pool) shortCounted(st *State, a *ask, n int) []Reason {
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
			i := slices.Index(s.migs, w.name)
			free := int64(0)
			if i >= 0 {
				r.Total += int64(s.node.MIG[w.name])
				if s.fit {
					free = max(int64(s.now.mig[i]), 0)
				}
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
