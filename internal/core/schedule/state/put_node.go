package state

import (
	"slices"
	"sort"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
)

// PutNode makes a node known, or replaces what is known of it.
func (st *State) PutNode(n schedule.Node) {
	old := st.Sites[n.ID]
	if old != nil && old.Node.Pool == n.Pool && ledger.SameNode(old.Node, &n) {
		return
	}
	if old != nil {
		st.DropNode(n.ID)
	}
	p := st.poolOf(n.Pool)
	s := ledger.NewSite(&n, p)
	s.Windows = st.Win.on(n.ID)
	st.Sites[n.ID] = s
	i := sort.Search(len(p.Sites), func(i int) bool { return p.Sites[i].Node.ID >= n.ID })
	p.Sites = slices.Insert(p.Sites, i, s)
	st.Names, st.tour, st.Empty = nil, nil, nil
	st.Changes()
	p.Dirty = true
	for _, id := range ledger.SortedIDs(st.Tenants[n.ID]) {
		st.PutJob(st.Jobs[id].Job)
	}
}

// DropNode forgets a node. To the scheduler nobody holds anything there any
// more, until it is known again.
func (st *State) DropNode(id core.NodeID) {
	s := st.Sites[id]
	if s == nil {
		return
	}
	tenants := ledger.SortedIDs(st.Tenants[id])
	jobs := make([]schedule.Job, len(tenants))
	for i, id := range tenants {
		jobs[i] = st.Jobs[id].Job
	}
	for _, j := range jobs {
		st.DropJob(j.ID)
	}
	delete(st.Sites, id)
	st.Names, st.tour, st.Empty = nil, nil, nil
	st.Changes()
	s.Pool.Sites = slices.DeleteFunc(s.Pool.Sites, func(x *ledger.Site) bool { return x == s })
	s.Pool.Dirty = true
	if len(s.Pool.Sites) == 0 { // who names it may still ask, and nobody looks at it before
		st.reshape(s.Pool)
	}
	for _, j := range jobs {
		st.PutJob(j)
	}
}

// reshape brings up to date what depends on the set of sites of p.
func (st *State) reshape(p *ledger.Pool) {
	if !p.Dirty {
		return
	}
	p.Reshaped()
	for _, a := range st.Asks.All { // by the places of sites in the pool
		delete(a.Ok, p)
	}
}

func (st *State) poolOf(name string) *ledger.Pool {
	p := st.Pools[name]
	if p == nil {
		p = &ledger.Pool{Pool: schedule.Pool{Name: name}, Q: make([]ledger.Account, len(st.Queues.List)), Trees: map[string]*ledger.Domains{}}
		p.Whole = &ledger.Subset{Pool: p, Ranks: map[*ledger.Ask]*ledger.Ranking{}}
		st.Pools[name] = p
		st.SetEntitlements(p)
	}
	return p
}
