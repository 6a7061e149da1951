package cycle

import (
	"slices"

	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/displace"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// vacate tells those to leave who are on the nodes of a window that has begun
// and is not for them, and may be displaced. Of a gang all leave if too few
// would be left.
func (c *Pass) vacate() {
	st := c.St
	if len(st.Win.List) == 0 {
		return
	}
	for i := range st.Win.List {
		w := &st.Win.List[i]
		if start, _, ok := w.At(st.Now); !ok || st.Now < start || w.Leave {
			continue
		}
		for _, id := range w.Nodes {
			s := st.Sites[id]
			if s == nil {
				continue
			}
			for _, owner := range ledger.SortedIDs(st.Tenants[id]) {
				if j := st.Jobs[owner]; j.Preemptible && j.Leaf >= 0 && !state.Uses(st.Queues, &j.Job, w) {
					c.leave(j, s, w.Name)
				}
			}
		}
	}
}

// leave has j leave a site, or as a whole.
func (c *Pass) leave(j *ledger.Job, s *ledger.Site, window string) {
	st, evicted := c.St, false
	for _, h := range slices.Clone(j.Holds) {
		if h.Site == s && !h.Leaving {
			st.Evict(h)
			evicted = true
		}
	}
	if !evicted {
		return
	}
	c.Cause[j] = displace.Verdict{Cause: schedule.Reserve}
	if c.windows == nil {
		c.windows = map[*ledger.Job]string{}
	}
	c.windows[j] = window
	if len(j.Deficits(0, 1)) == 0 {
		return
	}
	for _, h := range slices.Clone(j.Holds) {
		if !h.Leaving {
			st.Evict(h)
		}
	}
}
