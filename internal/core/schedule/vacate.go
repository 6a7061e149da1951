package schedule

import "slices"

// vacate tells those to leave who are on the nodes of a window that has begun
// and is not for them, and may be displaced. Of a gang all leave if too few
// would be left.
func (c *cycle) vacate() {
	st := c.st
	if len(st.win.list) == 0 {
		return
	}
	for i := range st.win.list {
		w := &st.win.list[i]
		if start, _, ok := w.At(st.now); !ok || st.now < start || w.Leave {
			continue
		}
		for _, id := range w.Nodes {
			s := st.sites[id]
			if s == nil {
				continue
			}
			for _, owner := range sortedIDs(st.tenants[id]) {
				if j := st.jobs[owner]; j.Preemptible && j.leaf >= 0 && !st.uses(&j.Job, w) {
					c.leave(j, s, w.Name)
				}
			}
		}
	}
}

// leave has j leave a site, or as a whole.
func (c *cycle) leave(j *job, s *site, window string) {
	st, told := c.st, false
	for _, h := range slices.Clone(j.holds) {
		if h.site == s && !h.leaving {
			st.evict(h)
			told = true
		}
	}
	if !told {
		return
	}
	c.cause[j] = verdictOf{cause: Reserve}
	if c.windows == nil {
		c.windows = map[*job]string{}
	}
	c.windows[j] = window
	if len(st.deficits(j, 0, 1)) == 0 {
		return
	}
	for _, h := range slices.Clone(j.holds) {
		if !h.leaving {
			st.evict(h)
		}
	}
}
