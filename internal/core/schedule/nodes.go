package schedule

import (
	"slices"
	"sort"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
)

// PutNode makes a node known, or replaces what is known of it.
func (st *State) PutNode(n Node) {
	old := st.sites[n.ID]
	if old != nil && old.node.Pool == n.Pool && sameNode(old.node, &n) {
		return
	}
	if old != nil {
		st.DropNode(n.ID)
	}
	p := st.poolOf(n.Pool)
	s := newSite(&n, p)
	s.windows = st.windowsOn(n.ID)
	st.sites[n.ID] = s
	i := sort.Search(len(p.sites), func(i int) bool { return p.sites[i].node.ID >= n.ID })
	p.sites = slices.Insert(p.sites, i, s)
	st.names, st.empty = nil, nil
	st.changes()
	p.dirty = true
	for _, id := range sortedIDs(st.tenants[n.ID]) {
		st.PutJob(st.jobs[id].Job)
	}
}

func sameNode(a, b *Node) bool {
	return a.Ready == b.Ready && a.Cordon == b.Cordon && a.CutOff == b.CutOff && a.CPU == b.CPU && a.Memory == b.Memory && a.Pods == b.Pods &&
		a.OtherCPU == b.OtherCPU && a.OtherMem == b.OtherMem && slices.Equal(a.OtherMilli, b.OtherMilli) && a.MIGStrategy == b.MIGStrategy && a.Whole == b.Whole &&
		slices.Equal(a.Devices, b.Devices) && a.Links == b.Links && equalMaps(a.Labels, b.Labels) && equalMaps(a.MIG, b.MIG) && equalMaps(a.OtherMIG, b.OtherMIG) && slices.Equal(a.Taints, b.Taints)
}

func equalMaps[V comparable](a, b map[string]V) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || w != v {
			return false
		}
	}
	return true
}

// DropNode forgets a node. To the scheduler nobody holds anything there any
// more, until it is known again.
func (st *State) DropNode(id core.NodeID) {
	s := st.sites[id]
	if s == nil {
		return
	}
	tenants := sortedIDs(st.tenants[id])
	jobs := make([]Job, len(tenants))
	for i, id := range tenants {
		jobs[i] = st.jobs[id].Job
	}
	for _, j := range jobs {
		st.DropJob(j.ID)
	}
	delete(st.sites, id)
	st.names, st.empty = nil, nil
	st.changes()
	s.pool.sites = slices.DeleteFunc(s.pool.sites, func(x *site) bool { return x == s })
	s.pool.dirty = true
	if len(s.pool.sites) == 0 { // who names it may still ask, and nobody looks at it before
		st.reshape(s.pool)
	}
	for _, j := range jobs {
		st.PutJob(j)
	}
}

func sortedIDs(m map[core.WorkloadID]*job) []core.WorkloadID {
	ids := make([]core.WorkloadID, 0, len(m))
	for id := range m {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// reshape brings up to date what depends on the set of sites of p.
func (st *State) reshape(p *pool) {
	if !p.dirty {
		return
	}
	p.reshaped()
	for _, a := range st.asks { // by the places of sites in the pool
		delete(a.ok, p)
	}
}

// reshaped forgets what depends on the set of sites.
func (p *pool) reshaped() {
	p.dirty = false
	p.shape++
	p.unfair = true
	was := p.memory
	p.total, p.memory, p.free = quota.Amounts{}, 0, quota.Amounts{}
	for i, s := range p.sites {
		s.at = int32(i)
		if !s.fit {
			continue
		}
		p.total[quota.GPU] += s.cap
		for m, name := range s.migs {
			p.total[quota.GPU] += s.slices[m] * int64(s.node.MIG[name])
		}
		p.free = p.free.Add(s.free())
		p.total[quota.CPU] += s.node.CPU
		p.total[quota.Memory] += s.node.Memory
		if s.memory > 0 && (p.memory == 0 || s.memory < p.memory) {
			p.memory = s.memory
		}
	}
	if p.memory != was {
		p.remade = true
	}
	clear(p.trees)
	p.whole.sites = p.sites
	p.whole.forget()
	p.forecasts = nil
	p.split()
}

// partitioned reports whether any of what is counted by name is a partition of a
// device.
func partitioned(counted string) bool {
	for part := range strings.SplitSeq(counted, ",") {
		if name, _, _ := strings.Cut(part, "="); core.SlicesOf(name) > 0 {
			return true
		}
	}
	return false
}
