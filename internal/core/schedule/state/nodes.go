package state

import (
	"slices"
	"sort"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
)

// PutNode makes a node known, or replaces what is known of it.
func (st *State) PutNode(n schedule.Node) {
	old := st.Sites[n.ID]
	if old != nil && old.Node.Pool == n.Pool && sameNode(old.Node, &n) {
		return
	}
	if old != nil {
		st.DropNode(n.ID)
	}
	p := st.poolOf(n.Pool)
	s := NewSite(&n, p)
	s.windows = st.windowsOn(n.ID)
	st.Sites[n.ID] = s
	i := sort.Search(len(p.Sites), func(i int) bool { return p.Sites[i].Node.ID >= n.ID })
	p.Sites = slices.Insert(p.Sites, i, s)
	st.names, st.Empty = nil, nil
	st.Changes()
	p.dirty = true
	for _, id := range SortedIDs(st.Tenants[n.ID]) {
		st.PutJob(st.Jobs[id].Job)
	}
}

func sameNode(a, b *schedule.Node) bool {
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
	s := st.Sites[id]
	if s == nil {
		return
	}
	tenants := SortedIDs(st.Tenants[id])
	jobs := make([]schedule.Job, len(tenants))
	for i, id := range tenants {
		jobs[i] = st.Jobs[id].Job
	}
	for _, j := range jobs {
		st.DropJob(j.ID)
	}
	delete(st.Sites, id)
	st.names, st.Empty = nil, nil
	st.Changes()
	s.Pool.Sites = slices.DeleteFunc(s.Pool.Sites, func(x *Site) bool { return x == s })
	s.Pool.dirty = true
	if len(s.Pool.Sites) == 0 { // who names it may still ask, and nobody looks at it before
		st.reshape(s.Pool)
	}
	for _, j := range jobs {
		st.PutJob(j)
	}
}

func SortedIDs(m map[core.WorkloadID]*Job) []core.WorkloadID {
	ids := make([]core.WorkloadID, 0, len(m))
	for id := range m {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// reshape brings up to date what depends on the set of sites of p.
func (st *State) reshape(p *Pool) {
	if !p.dirty {
		return
	}
	p.reshaped()
	for _, a := range st.Asks { // by the places of sites in the pool
		delete(a.ok, p)
	}
}

// reshaped forgets what depends on the set of sites.
func (p *Pool) reshaped() {
	p.dirty = false
	p.Shape++
	p.unfair = true
	was := p.memory
	p.Total, p.memory, p.Free = quota.Amounts{}, 0, quota.Amounts{}
	for i, s := range p.Sites {
		s.At = int32(i)
		if !s.Fit {
			continue
		}
		p.Total[quota.GPU] += s.cap
		for m, name := range s.Migs {
			p.Total[quota.GPU] += s.slices[m] * int64(s.Node.MIG[name])
		}
		p.Free = p.Free.Add(s.free())
		p.Total[quota.CPU] += s.Node.CPU
		p.Total[quota.Memory] += s.Node.Memory
		if s.memory > 0 && (p.memory == 0 || s.memory < p.memory) {
			p.memory = s.memory
		}
	}
	if p.memory != was {
		p.remade = true
	}
	clear(p.Trees)
	p.Whole.Sites = p.Sites
	p.Whole.forget()
	p.forecasts = nil
	p.split()
}

// Partitioned reports whether any of what is counted by name is a partition of a
// device.
func Partitioned(counted string) bool {
	for part := range strings.SplitSeq(counted, ",") {
		if name, _, _ := strings.Cut(part, "="); core.SlicesOf(name) > 0 {
			return true
		}
	}
	return false
}
