package state

import (
	"cmp"
	"maps"
	"slices"

	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/fragmentation"
)

// Copy is a state as values that nobody changes any more. It can be asked
// elsewhere while the state goes on.
type Copy struct {
	schedule.Snapshot
	Config schedule.Config
	work   []fragmentation.Shape
}

// Copy returns the state as it is, with the work that SetWork was last told of.
func (st *State) Copy(now int64, work []fragmentation.Shape) *Copy {
	c := &Copy{Snapshot: schedule.Snapshot{Now: now, Licenses: st.Lic.All()}, Config: st.Cfg, work: work}
	for _, p := range st.Pools {
		c.Pools = append(c.Pools, p.Pool)
	}
	for i := range st.Queues.List {
		q := st.Queues.List[i].Queue
		q.Shares = make(map[string]schedule.Quota, len(st.Pools))
		for name, p := range st.Pools {
			q.Shares[name] = p.Q[i].Quota // with what it has used of late
		}
		c.Queues = append(c.Queues, q)
	}
	for _, user := range slices.Sorted(maps.Keys(st.Bounds)) {
		c.Users = append(c.Users, st.Bounds[user])
	}
	c.Windows = slices.Clone(st.Win.List)
	c.Nodes = make([]schedule.Node, 0, len(st.Sites))
	for _, s := range st.Sites {
		c.Nodes = append(c.Nodes, *s.Node)
	}
	c.Jobs = make([]schedule.Job, 0, len(st.Jobs))
	for _, j := range st.Jobs {
		c.Jobs = append(c.Jobs, j.Job)
	}
	return c
}

// State returns a state of its own for whoever asks.
func (c *Copy) State() *State {
	s := c.Snapshot
	s.Nodes, s.Jobs, s.Pools = slices.Clone(c.Nodes), slices.Clone(c.Jobs), slices.Clone(c.Pools)
	slices.SortFunc(s.Nodes, func(a, b schedule.Node) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(s.Jobs, func(a, b schedule.Job) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(s.Pools, func(a, b schedule.Pool) int { return cmp.Compare(a.Name, b.Name) })
	st := Load(&s, c.Config)
	st.Now = c.Now
	if c.work != nil {
		st.SetWork(c.work)
	}
	return st
}

// Record is c as it can be kept.
func (c *Copy) Record() schedule.Record {
	r := schedule.Record{Snapshot: c.Snapshot, Config: c.Config, Work: c.work}
	r.Nodes, r.Jobs, r.Pools = slices.Clone(c.Nodes), slices.Clone(c.Jobs), slices.Clone(c.Pools)
	slices.SortFunc(r.Nodes, func(a, b schedule.Node) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(r.Jobs, func(a, b schedule.Job) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(r.Pools, func(a, b schedule.Pool) int { return cmp.Compare(a.Name, b.Name) })
	return r
}
