package schedule

import (
	"cmp"
	"slices"

	"github.com/musterhq/muster/internal/core/schedule/fragmentation"
)

// Copy is a state as values that nobody changes any more. It can be asked
// elsewhere while the state goes on.
type Copy struct {
	Snapshot
	Config Config
	work   []fragmentation.Shape
}

// Copy returns the state as it is, with the work that SetWork was last told of.
func (st *State) Copy(now int64, work []fragmentation.Shape) *Copy {
	c := &Copy{Snapshot: Snapshot{Now: now, Licenses: st.Licenses()}, Config: st.cfg, work: work}
	for _, p := range st.pools {
		c.Pools = append(c.Pools, p.Pool)
	}
	for i := range st.queues.list {
		q := st.queues.list[i].Queue
		q.Shares = make(map[string]Quota, len(st.pools))
		for name, p := range st.pools {
			q.Shares[name] = p.q[i].Quota // with what it has used of late
		}
		c.Queues = append(c.Queues, q)
	}
	c.Windows = slices.Clone(st.win.list)
	c.Nodes = make([]Node, 0, len(st.sites))
	for _, s := range st.sites {
		c.Nodes = append(c.Nodes, *s.node)
	}
	c.Jobs = make([]Job, 0, len(st.jobs))
	for _, j := range st.jobs {
		c.Jobs = append(c.Jobs, j.Job)
	}
	return c
}

// State returns a state of its own for whoever asks.
func (c *Copy) State() *State {
	s := c.Snapshot
	s.Nodes, s.Jobs, s.Pools = slices.Clone(c.Nodes), slices.Clone(c.Jobs), slices.Clone(c.Pools)
	slices.SortFunc(s.Nodes, func(a, b Node) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(s.Jobs, func(a, b Job) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(s.Pools, func(a, b Pool) int { return cmp.Compare(a.Name, b.Name) })
	st := Load(&s, c.Config)
	st.now = c.Now
	if c.work != nil {
		st.SetWork(c.work)
	}
	return st
}

// Record is c as it can be kept.
func (c *Copy) Record() Record {
	r := Record{Snapshot: c.Snapshot, Config: c.Config, Work: c.work}
	r.Nodes, r.Jobs, r.Pools = slices.Clone(c.Nodes), slices.Clone(c.Jobs), slices.Clone(c.Pools)
	slices.SortFunc(r.Nodes, func(a, b Node) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(r.Jobs, func(a, b Job) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(r.Pools, func(a, b Pool) int { return cmp.Compare(a.Name, b.Name) })
	return r
}
