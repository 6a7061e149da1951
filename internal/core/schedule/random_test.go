package schedule_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
)

// world is one case of a property: a snapshot under a configuration. It goes
// through JSON, so that what a search found can be kept.
type world struct {
	Snap  schedule.Snapshot
	Cfg   schedule.Config
	alike bool // most jobs want the same, each of one task
}

// clock is the time of every random world.
const clock = int64(1_000_000)

// maker draws the parts of a world.
type maker struct {
	*rand.Rand
	w     *world
	order int64
	book  *book
}

// drawn returns the world of a seed: small enough for an exhaustive search, with
// a little of everything that a snapshot can have.
func drawn(seed uint64) *world {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 7)), w: &world{Snap: schedule.Snapshot{Now: clock}}}
	m.w.Cfg = schedule.Config{MaxMoves: []int{0, -1, -1, 4}[m.IntN(4)], StaleGrace: []int64{0, -1, 500}[m.IntN(3)]}
	m.nodes()
	m.queues()
	m.book = newBook(&m.w.Snap)
	for range 1 + m.IntN(9) {
		m.job()
	}
	return m.w
}

func (m *maker) one(n int) bool { return m.IntN(n) == 0 }

func (m *maker) nodes() {
	pools := []string{"default", "default", "west"}
	products := []string{"NVIDIA H100", "NVIDIA A100"}
	for i := range 1 + m.IntN(5) {
		gpus := []int{0, 1, 2, 2, 4, 4}[m.IntN(6)]
		n := schedule.Node{Node: core.Node{
			ID: core.NodeID(fmt.Sprintf("n%d", i)), Pool: pools[m.IntN(3)], Ready: !m.one(12), Cordon: m.one(15),
			CPU: int64(1000 * (2 + m.IntN(7))), Memory: int64(4+m.IntN(13)) << 30,
			Labels: map[string]string{"block": fmt.Sprint(m.IntN(2)), "rack": fmt.Sprint(m.IntN(2)), "zone": []string{"x", "y"}[m.IntN(2)]},
		}}
		if m.one(6) {
			delete(n.Labels, []string{"block", "rack"}[m.IntN(2)])
		}
		product := products[m.IntN(2)]
		for d := range gpus {
			if m.one(10) {
				product = products[m.IntN(2)]
			}
			n.Devices = append(n.Devices, core.Device{ID: fmt.Sprintf("n%d-%d", i, d), Index: d, Product: product, Memory: 40 << 30, Healthy: !m.one(15)})
			if m.one(12) {
				n.OtherMilli = append(n.OtherMilli, []int{0, 500, 1000}[m.IntN(3)])
			}
		}
		switch {
		case m.one(6):
			n.Taints = []core.Taint{{Key: "team", Value: "a", Effect: core.NoSchedule}}
		case m.one(8):
			n.Taints = []core.Taint{{Key: "soft", Effect: core.PreferNoSchedule}}
		}
		if m.one(8) {
			n.Pods = 1 + m.IntN(4)
		}
		if m.one(8) {
			n.OtherCPU, n.OtherMem = int64(m.IntN(3))*1000, int64(m.IntN(3))<<30
		}
		if m.one(8) {
			n.Devices, n.OtherMilli, n.MIGStrategy = nil, nil, "mixed"
			n.MIG = map[string]int{"mig-1g.5gb": m.IntN(4), "mig-2g.10gb": m.IntN(3)}
		}
		n.Whole = i == 4 // which draws nothing, so that worlds stay what they were
		if i%2 == 1 {
			n.MIG = maps.Clone(n.MIG)
			if n.MIG == nil {
				n.MIG = map[string]int{}
			}
			n.MIG["rdma/hca-2"] = i
		}
		m.w.Snap.Nodes = append(m.w.Snap.Nodes, n)
	}
	strategies := []schedule.Strategy{schedule.BinPack, schedule.BinPack, schedule.Spread}
	for _, name := range []string{"default", "west"} {
		if m.one(2) {
			m.w.Snap.Pools = append(m.w.Snap.Pools, schedule.Pool{Name: name, GPU: strategies[m.IntN(3)], CPU: strategies[m.IntN(3)], Devices: strategies[m.IntN(3)], MinRuntime: int64(m.IntN(2) * m.IntN(2000))})
		}
	}
}

func (m *maker) amounts(unset int) quota.Amounts {
	out := quota.Amounts{quota.Unlimited, quota.Unlimited, quota.Unlimited}
	if !m.one(unset) {
		out[quota.GPU] = int64(m.IntN(9)) * 500
	}
	if m.one(4) {
		out[quota.CPU] = int64(m.IntN(12)) * 1000
	}
	if m.one(6) {
		out[quota.Memory] = int64(m.IntN(24)) << 30
	}
	return out
}

func (m *maker) quota() schedule.Quota {
	return schedule.Quota{Quota: m.amounts(4), Limit: m.amounts(2), Weight: [quota.Resources]int64{int64(m.IntN(3)), 1, 1}}
}

func (m *maker) queues() {
	var inner []core.ProjectID
	depth := 1 + m.IntN(3)
	add := func(id string, parent core.ProjectID) {
		q := schedule.Queue{ID: core.ProjectID(id), Parent: parent, Priority: 100 + 10*m.IntN(2), Age: int64(m.IntN(3)), Default: m.quota(), PreemptMin: -1, ReclaimMin: -1, Stopped: m.one(15)}
		if m.one(3) {
			q.Default = schedule.Unlimited()
		}
		if m.one(5) {
			q.Shares = map[string]schedule.Quota{"west": m.quota()}
		}
		if m.one(6) {
			q.PreemptMin, q.ReclaimMin = int64(m.IntN(2000)), int64(m.IntN(2000))
		}
		if m.one(8) {
			q.MaxJobs = 1 + m.IntN(3)
		}
		if m.one(8) {
			q.UserJobs = 1 + m.IntN(2)
		}
		if m.one(8) {
			q.UserGPU = int64(1+m.IntN(4)) * 1000
		}
		m.w.Snap.Queues = append(m.w.Snap.Queues, q)
	}
	parents := []core.ProjectID{""}
	for level := range depth - 1 {
		for i := range 1 + m.IntN(2) {
			id := fmt.Sprintf("d%d%d", level, i)
			add(id, parents[m.IntN(len(parents))])
			inner = append(inner, core.ProjectID(id))
		}
		parents = inner
	}
	for i := range 1 + m.IntN(3) {
		add(fmt.Sprintf("q%d", i), parents[m.IntN(len(parents))])
	}
}

// leaf draws a queue without children.
func (m *maker) leaf() core.ProjectID {
	var leafs []core.ProjectID
	for _, q := range m.w.Snap.Queues {
		if q.ID[0] == 'q' {
			leafs = append(leafs, q.ID)
		}
	}
	return leafs[m.IntN(len(leafs))]
}

func (m *maker) need() schedule.Need {
	n := schedule.Need{CPU: int64(m.IntN(5)) * 500, Memory: int64(m.IntN(5)) << 30}
	switch m.IntN(8) {
	case 0:
	case 1:
		n.Extended = []string{"mig-1g.5gb=1", "mig-2g.10gb=1", "mig-1g.5gb=1,mig-2g.10gb=1"}[m.IntN(3)]
	case 2:
		n.Devices, n.GPUMemory = 1+m.IntN(2), int64(5+5*m.IntN(6))<<30
	case 3, 4:
		n.Devices, n.Milli = 1+m.IntN(2), []int{250, 300, 500, 700}[m.IntN(4)]
	default:
		n.Devices, n.Milli = 1+m.IntN(3), 1000
	}
	if n.Devices > 0 && m.one(4) {
		n.Type = []string{"h100", "A100"}[m.IntN(2)]
	}
	if n.CPU == 1000 { // draws nothing, too
		n.Extended = strings.TrimPrefix(n.Extended+",rdma/hca-2=1", ",")
	}
	return n
}

func (m *maker) rule() *schedule.Rule {
	if !m.one(4) {
		return nil
	}
	r := &schedule.Rule{}
	switch m.IntN(6) {
	case 0:
		r.Terms = []schedule.Term{{Key: "zone", Op: []string{"In", "NotIn"}[m.IntN(2)], Values: []string{"x"}}}
	case 1:
		r.Terms = []schedule.Term{{Key: "kubernetes.io/hostname", Op: "In", Values: []string{"n0", "n1"}}}
	case 2:
		r.Away, r.Tags = []string{"zone", "kubernetes.io/hostname"}[m.IntN(2)], "app=a;"
	case 3:
		r.Near, r.Tags = "zone", "app=b;"
	default:
		r.Tolerates = []schedule.Toleration{{Key: "team"}}
	}
	return r
}

func (m *maker) topology() *schedule.Topology {
	if !m.one(4) {
		return nil
	}
	t := &schedule.Topology{Levels: []string{"block", "rack"}}
	switch m.IntN(4) {
	case 0:
		t.Required = "block"
	case 1:
		t.Required = "rack"
	case 2:
		t.Preferred = "rack"
	default:
		t.Required, t.Preferred = "block", "rack"
	}
	return t
}

// groups draws a job's tree. extra tells how many tasks each group has above
// its minimum.
func (m *maker) groups() ([]schedule.Set, []schedule.Group) {
	sets := []schedule.Set{{Parent: -1, Topology: m.topology()}}
	if m.one(6) {
		sets = append(sets, schedule.Set{Parent: 0, Topology: m.topology()})
		if m.one(2) {
			sets = append(sets, schedule.Set{Parent: 0})
		}
	}
	var groups []schedule.Group
	count := max(1, len(sets)-1)
	if m.one(4) {
		count += 1 + m.IntN(2)
	}
	need, rule := m.need(), m.rule()
	for i := range count {
		if m.one(2) {
			need = m.need()
		}
		g := schedule.Group{Name: fmt.Sprintf("g%d", i), Min: []int{1, 1, 1, 2, 2, 3}[m.IntN(6)]}
		if len(sets) > 1 {
			g.Set = 1 + i%(len(sets)-1)
		}
		if m.one(5) {
			g.Topology = m.topology()
		}
		n := g.Min
		if m.one(4) {
			n += 1 + m.IntN(2)
		}
		if m.one(12) {
			g.Min = 0
		}
		g.Runs = []schedule.Run{{Need: need, Rule: rule, Count: n}}
		groups = append(groups, g)
	}
	for s := range sets {
		members := 0
		for o := range sets {
			if o > 0 && sets[o].Parent == s {
				members++
			}
		}
		for _, g := range groups {
			if g.Set == s {
				members++
			}
		}
		if members > 1 && m.one(3) {
			sets[s].MinGroups = 1 + m.IntN(members)
		}
	}
	return sets, groups
}

func (m *maker) job() {
	m.order++
	sets, groups := m.groups()
	j := schedule.Job{
		ID: core.WorkloadID(fmt.Sprintf("j%02d", m.order)), Queue: m.leaf(), User: []string{"ann", "bob"}[m.IntN(2)],
		Priority: []int{50, 50, 75, 100}[m.IntN(4)], Order: m.order, Shape: schedule.NewShape(sets, groups),
	}
	j.Preemptible = j.Priority < 100 != m.one(10)
	switch m.IntN(6) {
	case 0:
		j.Pools = []string{"west"}
	case 1:
		j.Pools = []string{"west", "default"}
	}
	if m.one(12) {
		j.Patient = clock + int64(m.IntN(2000)) - 1000
	}
	if m.one(2) {
		m.start(&j)
	}
	m.w.Snap.Jobs = append(m.w.Snap.Jobs, j)
	if !m.one(3) { // and another like it
		m.order++
		twin := j
		twin.ID, twin.Order, twin.Held = core.WorkloadID(fmt.Sprintf("j%02d", m.order)), m.order, nil
		twin.Shape, twin.Started, twin.BelowSince = schedule.NewShape(sets, groups), 0, 0
		if len(j.Held) > 0 {
			return
		}
		m.w.Snap.Jobs = append(m.w.Snap.Jobs, twin)
	}
}

// start gives the job places at random where it has any, as if it had run for
// a while; some of it may be on its way out.
func (m *maker) start(j *schedule.Job) {
	x := &finder{book: m.book, job: j, budget: 2000, shuffle: m.Rand}
	found := x.whole(nil)
	if found == nil {
		return
	}
	j.Started, j.EndsBy = clock-int64(m.IntN(4000)), clock+int64(m.IntN(3))*1000
	groups := make([]schedule.Group, len(j.Shape.Groups))
	copy(groups, j.Shape.Groups)
	for g := range groups {
		groups[g].Runs = append([]schedule.Run(nil), groups[g].Runs...)
	}
	leaving, stuck := m.one(8), m.one(3)
	for i, s := range found {
		run := &groups[s.group].Runs[0]
		h := schedule.Held{Group: s.group, Task: i, Need: run.Need, Rule: run.Rule, Place: s.place, Leaving: leaving, Stuck: leaving && stuck}
		run.Count--
		if !leaving && m.one(20) { // a task was lost: the gang may be below its minimum
			j.BelowSince = clock - int64(m.IntN(1000))
			m.book.give(j, &h)
			continue
		}
		j.Held = append(j.Held, h)
	}
	for g := range groups {
		if groups[g].Runs[0].Count == 0 || leaving || m.one(3) {
			groups[g].Runs = nil
		}
	}
	j.Shape = schedule.NewShape(j.Shape.Sets, groups)
	if len(j.Held) == 0 {
		j.Started, j.BelowSince = 0, 0
	}
}
