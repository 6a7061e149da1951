package schedule

import (
	"cmp"
	"slices"

	"github.com/musterhq/muster/internal/core"
)

// redeem places those first for whom others were told to leave: at once where
// all of their room is free, else on the room that is about to be.
func (c *cycle) redeem() {
	st := c.st
	var promised []*job
	for _, l := range st.lanes {
		if l.jobs[0].Promised {
			promised = append(promised, l.jobs[0])
		}
	}
	slices.SortFunc(promised, func(a, b *job) int { return cmp.Or(cmp.Compare(b.Priority, a.Priority), older(a, b)) })
	for _, j := range promised {
		if st.gate(j) != nil {
			continue
		}
		for _, p := range st.poolsOf(j) {
			if c.allocate(p, j) != hopeless {
				break
			}
		}
	}
}

// Nodes are the nodes that are known, by name.
func (st *State) Nodes() []core.NodeID {
	ids := make([]core.NodeID, 0, len(st.sites))
	for id := range st.sites {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
