package schedule_test

// A world that lives: nodes, queues, and who arrives.

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/explain"
	"github.com/musterhq/muster/internal/core/schedule/fragmentation"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// vw is a world that lives: arrivals, ends, drained nodes, plans applied as control does.
type vw struct {
	*rand.Rand
	seed    uint64
	cfg     schedule.Config
	st      *state.State
	pools   []schedule.Pool
	nodes   []schedule.Node
	queues  []schedule.Queue
	jobs    map[core.WorkloadID]*vj
	now     int64
	grace   int64
	keep    bool // displaced jobs keep their age (as the server does)
	order   int64
	work    bool
	promise map[core.WorkloadID][2]int // rank, tasks
	moved   map[core.WorkloadID]bool
	found   []string
	stats   *vstats
	log     []string
	plan    *schedule.Plan
	record  func(*schedule.Plan) // is told every plan before it is put into effect
}

type vstats struct{ cycles, placements, evictions, promises, checksWC, checksVict, fresh int }

type vj struct {
	schedule.Job
	template []schedule.Group
	dur      int64
	ends     int64
	arrive   int64
	started  bool
	firstAt  int64
	leaveAt  int64
	done     bool
	remain   int64
}

func (w *vw) fault(kind, f string, a ...any) {
	w.found = append(w.found, kind+": "+fmt.Sprintf(f, a...))
}
func (w *vw) one(n int) bool { return w.IntN(n) == 0 }

func newWorld(seed uint64, stats *vstats) *vw {
	w := &vw{Rand: rand.New(rand.NewPCG(seed, 99)), seed: seed, jobs: map[core.WorkloadID]*vj{}, now: 1_000_000, promise: map[core.WorkloadID][2]int{}, moved: map[core.WorkloadID]bool{}, stats: stats}
	w.cfg = schedule.Config{MaxMoves: []int{0, 16, 16, -1}[w.IntN(4)], StaleGrace: []int64{0, 60_000}[w.IntN(2)], MoveRest: []int64{1000, 600_000}[w.IntN(2)]}
	if w.one(2) {
		w.cfg.Quantum = 3_600_000
	}
	w.grace = []int64{0, 0, 30_000}[w.IntN(3)]
	w.keep = w.one(2)
	np := 1 + w.IntN(2)
	names := []string{"default", "west"}[:np]
	for _, n := range names {
		s := []schedule.Strategy{schedule.BinPack, schedule.Fill, schedule.Fill, schedule.Spread}[w.IntN(4)]
		w.pools = append(w.pools, schedule.Pool{Name: n, GPU: s, CPU: s, MinRuntime: []int64{0, 0, 0, 600_000}[w.IntN(4)], Reserve: []int{0, 0, 4}[w.IntN(3)]})
		if s == schedule.Fill {
			w.work = true
		}
	}
	nn := 1 + w.IntN(7)
	uniform := w.one(2)
	ug := []int{2, 4, 8}[w.IntN(3)]
	for i := range nn {
		g := []int{0, 1, 2, 4, 4, 8, 8}[w.IntN(7)]
		if uniform {
			g = ug
		}
		n := schedule.Node{Node: core.Node{ID: core.NodeID(fmt.Sprintf("n%d", i)), Pool: names[w.IntN(np)], Ready: true, CPU: int64(1000 * (4 + w.IntN(28))), Memory: int64(16+w.IntN(100)) << 30,
			Labels: map[string]string{"block": fmt.Sprint(i / 4), "rack": fmt.Sprint(i / 2)}}}
		if uniform {
			n.CPU, n.Memory = 64000, 256<<30
		}
		for d := range g {
			n.Devices = append(n.Devices, core.Device{ID: fmt.Sprintf("g%d", d), Index: d, Product: "H100", Memory: 80 << 30, Healthy: true})
		}
		if w.one(10) {
			n.Taints = []core.Taint{{Key: "team", Value: "a", Effect: core.NoSchedule}}
		}
		if w.one(20) {
			n.Pods = 2 + w.IntN(5)
		}
		w.nodes = append(w.nodes, n)
	}
	// queues
	var parents []core.ProjectID
	amounts := func() schedule.Quota {
		q := schedule.Quota{Quota: quota.Amounts{int64(w.IntN(9)) * 1000, quota.Unlimited, quota.Unlimited}, Limit: quota.Amounts{quota.Unlimited, quota.Unlimited, quota.Unlimited}, Weight: [quota.Resources]int64{int64(w.IntN(4)) * 1000, 1000, 1000}}
		if w.one(3) {
			q.Limit[0] = q.Quota[0] + int64(w.IntN(8))*1000
		}
		if w.one(6) {
			q.Quota[1] = int64(w.IntN(20)) * 1000
		}
		if w.one(8) {
			q.Limit[1] = int64(4+w.IntN(20)) * 1000
		}
		return q
	}
	add := func(id string, parent core.ProjectID) {
		q := schedule.Queue{ID: core.ProjectID(id), Parent: parent, Priority: 100, Age: int64(len(w.queues)), Default: amounts(), PreemptMin: -1, ReclaimMin: -1}
		if w.one(6) {
			q.Priority = 110
		}
		if parent == "" && w.one(2) {
			q.Default = schedule.Unlimited()
		}
		if w.one(8) {
			q.ReclaimMin = 900_000
		}
		if w.one(8) {
			q.PreemptMin = 900_000
		}
		if w.one(10) {
			q.MaxJobs = 1 + w.IntN(4)
		}
		if w.one(10) {
			q.UserJobs = 1 + w.IntN(3)
		}
		if w.one(10) {
			q.UserGPU = int64(1+w.IntN(6)) * 1000
		}
		w.queues = append(w.queues, q)
	}
	deep := w.IntN(3)
	if deep > 0 {
		for i := range 1 + w.IntN(2) {
			id := fmt.Sprintf("d%d", i)
			add(id, "")
			parents = append(parents, core.ProjectID(id))
		}
	} else {
		parents = []core.ProjectID{""}
	}
	if deep > 1 {
		var p2 []core.ProjectID
		for i := range 1 + w.IntN(3) {
			id := fmt.Sprintf("e%d", i)
			add(id, parents[w.IntN(len(parents))])
			p2 = append(p2, core.ProjectID(id))
		}
		parents = p2
	}
	for i := range 1 + w.IntN(4) {
		add(fmt.Sprintf("q%d", i), parents[w.IntN(len(parents))])
	}
	w.st = w.fresh()
	return w
}

func (w *vw) fresh() *state.State {
	st := state.NewState(w.cfg)
	ps := slices.Clone(w.pools)
	st.SetPools(ps)
	qs := slices.Clone(w.queues)
	w2 := rand.New(rand.NewPCG(w.seed, uint64(w.now)))
	w2.Shuffle(len(qs), func(i, k int) { qs[i], qs[k] = qs[k], qs[i] })
	st.SetQueues(qs)
	ns := slices.Clone(w.nodes)
	w2.Shuffle(len(ns), func(i, k int) { ns[i], ns[k] = ns[k], ns[i] })
	for _, n := range ns {
		st.PutNode(n)
	}
	var ids []core.WorkloadID
	for id, j := range w.jobs {
		if !j.done {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	w2.Shuffle(len(ids), func(i, k int) { ids[i], ids[k] = ids[k], ids[i] })
	for _, id := range ids {
		data := w.jobs[id].Job
		data.Held = slices.Clone(data.Held)
		st.PutJob(data)
	}
	if w.work {
		st.SetWork(w.st0())
	}
	return st
}

// st0 is the usual work of this world: fixed, so that states can be compared.
func (w *vw) st0() []fragmentation.Shape { return usualWork }

func (w *vw) leaf() core.ProjectID {
	var l []core.ProjectID
	for _, q := range w.queues {
		if q.ID[0] == 'q' {
			l = append(l, q.ID)
		}
	}
	return l[w.IntN(len(l))]
}

func (w *vw) arrival() {
	w.order++
	id := core.WorkloadID(fmt.Sprintf("j%03d", w.order))
	need := schedule.Need{Devices: []int{0, 1, 1, 1, 2, 4, 8}[w.IntN(7)], Milli: 1000, CPU: int64(w.IntN(4)) * 1000, Memory: int64(w.IntN(4)) << 30}
	if need.Devices == 0 {
		need.Milli = 0
		need.CPU += 1000
	}
	if need.Devices == 1 && w.one(3) {
		need.Milli = []int{250, 500, 700}[w.IntN(3)]
	}
	if need.Devices == 1 && need.Milli == 1000 && w.one(8) {
		need.Milli, need.GPUMemory = 0, 20<<30
	}
	var rule *schedule.Rule
	if w.one(8) {
		rule = &schedule.Rule{Tolerates: []schedule.Toleration{{Key: "team"}}}
	}
	sets := []schedule.Set{{Parent: -1}}
	var groups []schedule.Group
	switch w.IntN(8) {
	case 0, 1: // gang
		n := 2 + w.IntN(4)
		groups = []schedule.Group{{Name: "tasks", Min: n, Runs: []schedule.Run{{Need: need, Rule: rule, Count: n}}}}
		if w.one(3) {
			t := &schedule.Topology{Levels: []string{"block", "rack"}}
			if w.one(2) {
				t.Required = []string{"block", "rack"}[w.IntN(2)]
			} else {
				t.Preferred = "rack"
			}
			sets[0].Topology = t
		}
	case 2: // elastic
		n := 1 + w.IntN(2)
		groups = []schedule.Group{{Name: "tasks", Min: n, Runs: []schedule.Run{{Need: need, Rule: rule, Count: n + 1 + w.IntN(3)}}}}
	case 3: // master and workers
		m := schedule.Need{CPU: 1000}
		n := 1 + w.IntN(3)
		groups = []schedule.Group{{Name: "master", Min: 1, Runs: []schedule.Run{{Need: m, Rule: rule, Count: 1}}}, {Name: "tasks", Min: n, Runs: []schedule.Run{{Need: need, Rule: rule, Count: n}}}}
	default:
		groups = []schedule.Group{{Name: "tasks", Min: 1, Runs: []schedule.Run{{Need: need, Rule: rule, Count: 1}}}}
	}
	j := &vj{template: groups, arrive: w.now, dur: int64(60_000 * (1 + w.IntN(200)))}
	j.Job = schedule.Job{ID: id, Queue: w.leaf(), User: []string{"ann", "bob", "eve"}[w.IntN(3)], Priority: []int{50, 50, 50, 75, 100}[w.IntN(5)], Order: w.order, Shape: schedule.NewShape(sets, groups)}
	j.Preemptible = j.Priority < 100 != w.one(10)
	if w.one(4) {
		j.Pools = []string{w.pools[w.IntN(len(w.pools))].Name}
	}
	if w.one(3) {
		j.MaxRun = j.dur + int64(w.IntN(3))*600_000
	}
	if w.one(10) {
		j.Patient = w.now + 600_000
	}
	j.Due = w.now + 12*3600_000
	if w.one(4) {
		j.Due = w.now + 600_000 // an impatient server
	}
	j.remain, j.Since = j.dur, w.now
	j.Unsaved = (w.seed+uint64(w.order))%4 == 0 // not drawn, so that seeds make the worlds that they made
	// never fits: not admitted
	if _, ok := explain.EverFits(w.nodes, j.Job); !ok {
		w.order--
		return
	}
	w.jobs[id] = j
	w.put(j)
}

func (w *vw) put(j *vj) {
	r := w.promise[j.ID]
	j.Promised, j.Rank, j.Owed, j.Moved = r[0] > 0, r[0], r[1], w.moved[j.ID]
	// shape: what waits
	groups := make([]schedule.Group, len(j.template))
	for g := range groups {
		groups[g] = j.template[g]
		have := 0
		for _, h := range j.Held {
			if h.Group == g && !h.Leaving {
				have++
			}
		}
		r := j.template[g].Runs[0]
		leaving := slices.ContainsFunc(j.Held, func(h schedule.Held) bool { return h.Leaving })
		all := len(j.Held) > 0 && !slices.ContainsFunc(j.Held, func(h schedule.Held) bool { return !h.Leaving })
		r.Count -= have
		groups[g].Runs = nil
		if r.Count > 0 && !(leaving && all) {
			groups[g].Runs = []schedule.Run{r}
		}
	}
	j.Shape = schedule.NewShape(j.Shape.Sets, groups)
	if len(j.Held) == 0 {
		j.Started, j.EndsBy = 0, 0
	}
	data := j.Job
	data.Held = slices.Clone(j.Held)
	w.st.PutJob(data)
}

// usualWork is what worlds whose pools are filled take for usual.
var usualWork = []fragmentation.Shape{{CPU: 1000, Devices: 1, Milli: 1000, Count: 40}, {CPU: 2000, Devices: 1, Milli: 500, Count: 15}, {CPU: 2000, Devices: 2, Milli: 1000, Count: 10}, {CPU: 1000, Devices: 4, Milli: 1000, Count: 10}, {CPU: 1000, Devices: 8, Milli: 1000, Count: 10}, {CPU: 2000, Count: 10}}
