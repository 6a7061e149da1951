package schedule_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/amount"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/explain"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

const gib = 1 << 30

// node is a ready node of one pool, with whole devices of one product.
func node(id string, gpus int, cpu, memory int64, product string) schedule.Node {
	return schedule.Node{Node: core.Node{ID: core.NodeID(id), Pool: "default", Ready: true, CPU: cpu, Memory: memory, Devices: gpusOf(id, gpus, product)}}
}

func gpusOf(id string, n int, product string) []core.Device {
	out := gpus(n, product)
	for i := range out {
		out[i].ID = fmt.Sprintf("%s-%d", id, i)
	}
	return out
}

// occupied is n with so much of it held by others.
func occupied(n schedule.Node, gpus int, cpu, memory int64) schedule.Node {
	n.OtherMilli = make([]int, len(n.Devices))
	for i := range gpus {
		n.OtherMilli[i] = 1000
	}
	n.OtherCPU, n.OtherMem = cpu, memory
	return n
}

func gpu(count int) schedule.Need { return schedule.Need{Devices: count, Milli: 1000, CPU: 1000} }

func gang(size int, n schedule.Need) *schedule.Shape {
	return schedule.Flat(schedule.Group{Name: "tasks", Min: size, Runs: []schedule.Run{{Need: n, Count: size}}})
}

func single(n schedule.Need) *schedule.Shape { return gang(1, n) }

// waiter is a job of queue q that wants so much.
func waiter(id string, order int64, shape *schedule.Shape) schedule.Job {
	return schedule.Job{ID: core.WorkloadID(id), Queue: "q", Priority: 50, Preemptible: true, Order: order, Shape: shape}
}

// texts are the reasons for which job id waits once a plan has been applied,
// one to a line.
func texts(t *testing.T, s *schedule.Snapshot, id string) string {
	t.Helper()
	st := state.Load(s, schedule.Config{})
	if p := cycle.Run(st, 0); len(p.Promises)+len(p.Evictions) > 0 {
		t.Fatalf("the plan displaces: %s", brief(p))
	} else {
		applyAll(st, p)
	}
	ex, ok := explain.Explain(st, 0, core.WorkloadID(id))
	if !ok {
		return "placed"
	}
	var all []string
	for _, r := range ex.Reasons {
		all = append(all, r.String())
	}
	return strings.Join(all, "\n")
}

func TestExplanations(t *testing.T) {
	t.Parallel()
	h100 := func(id string, held int) schedule.Node {
		return occupied(node(id, 8, 64000, 512*gib, "NVIDIA H100"), held, int64(held)*1000, 0)
	}
	a100 := func(id string, held int) schedule.Node {
		return occupied(node(id, 4, 32000, 128*gib, "NVIDIA A100"), held, int64(held)*1000, 0)
	}
	down := func(n schedule.Node) schedule.Node { n.Ready = false; return n }
	cordoned := func(n schedule.Node) schedule.Node { n.Cordon = true; return n }
	whole := func(n schedule.Node) schedule.Node { n.Whole = true; return n }
	typed := func(count int, kind string) schedule.Need { n := gpu(count); n.Type = kind; return n }
	for _, c := range []struct {
		name  string
		nodes []schedule.Node
		shape *schedule.Shape
		want  string
	}{
		{"never, by GPU", []schedule.Node{h100("a", 0), a100("b", 0)}, single(gpu(16)),
			"never fits: each task asks for 16 GPUs, the largest of 2 nodes has 8 GPUs in all"},
		{"never, by CPU", []schedule.Node{h100("a", 0)}, single(schedule.Need{CPU: 96500}),
			"never fits: each task asks for 96.5 CPU, the only node has 64 CPU in all"},
		{"never, by memory", []schedule.Node{h100("a", 0)}, single(schedule.Need{CPU: 1000, Memory: 1 << 40}),
			"never fits: each task asks for 1 TiB memory, the only node has 512 GiB memory in all"},
		{"never, by type", []schedule.Node{h100("a", 0), a100("b", 0)}, single(typed(1, "b200")),
			"never fits: each task asks for 1 b200 GPU, the largest of 2 nodes has 0 b200 GPUs in all"},
		{"never, by type and number", []schedule.Node{h100("a", 0), a100("b", 0)}, single(typed(8, "a100")),
			"never fits: each task asks for 8 a100 GPUs, the largest of 2 nodes has 4 a100 GPUs in all"},
		{"never, the gang is too big", []schedule.Node{h100("a", 0), h100("b", 0)}, gang(5, gpu(4)),
			"never fits: its 5 tasks must start together, and all nodes together have room for 4 even when empty: they need 20 GPUs, and there are 16 GPUs"},
		{"never, each thing on another node", []schedule.Node{node("a", 8, 4000, gib, "x"), node("b", 0, 64000, 512*gib, "")}, single(schedule.Need{Devices: 1, Milli: 1000, CPU: 8000}),
			"never fits: none of 2 nodes has all at once that each task asks for, even when empty"},
		{"for GPUs", []schedule.Node{h100("a", 6), h100("b", 7)}, single(gpu(4)),
			"waits for gpu: needs 4 GPUs, free 3 GPUs of 16 GPUs (2 of 2 nodes lack it)"},
		{"for GPUs of a gang", []schedule.Node{h100("a", 6), h100("b", 0)}, gang(6, gpu(2)),
			"waits for gpu: needs 12 GPUs, free 10 GPUs of 16 GPUs (0 of 2 nodes lack it)"},
		{"for GPUs of a type", []schedule.Node{h100("a", 0), a100("b", 4)}, single(typed(1, "A100")),
			"waits for gpu: needs 1 A100 GPU, free 0 A100 GPUs of 4 A100 GPUs (2 of 2 nodes lack it)"},
		{"for CPU", []schedule.Node{occupied(node("a", 0, 8000, gib, ""), 0, 7500, 0)}, single(schedule.Need{CPU: 1000}),
			"waits for cpu: needs 1 CPU, free 0.5 CPU of 8 CPU"},
		{"for memory", []schedule.Node{occupied(node("a", 0, 8000, 16*gib, ""), 0, 0, 12*gib)}, single(schedule.Need{CPU: 1000, Memory: 6 * gib}),
			"waits for memory: needs 6 GiB memory, free 4 GiB memory of 16 GiB memory"},
		{"for two things", []schedule.Node{occupied(node("a", 2, 8000, 16*gib, "x"), 2, 7500, 0)}, single(gpu(1)),
			"waits for gpu: needs 1 GPU, free 0 GPUs of 2 GPUs\nwaits for cpu: needs 1 CPU, free 0.5 CPU of 8 CPU"},
		{"for CPU where the GPUs are", []schedule.Node{occupied(node("a", 2, 8000, 16*gib, "x"), 0, 8000, 0), node("b", 0, 8000, 16*gib, "")}, single(gpu(1)),
			"waits for cpu: needs 1 CPU, free 0 CPU of 8 CPU: on nodes with 1 GPU free"},
		{"fragmented", []schedule.Node{h100("a", 3), h100("b", 3)}, gang(3, gpu(3)),
			"free 10 GPUs in all is enough for the 9 GPUs it needs, but scattered: 2 of its 3 tasks would fit now, the largest free block is 5 GPUs"},
		{"of a part, where GPUs are given only whole", []schedule.Node{whole(h100("a", 0)), h100("b", 8)}, single(schedule.Need{Devices: 1, Milli: 500}),
			"waits for gpu: needs 0.5 of a GPU, free 0 of 8 GPUs; the labels, taints or kind of 1 more node do not suit (GPUs there are given only whole)"},
		{"of a whole one, where parts are not given", []schedule.Node{whole(h100("a", 0)), h100("b", 8)}, single(gpu(1)), "placed"},
		{"of a part, where all GPUs are given only whole", []schedule.Node{whole(h100("a", 0))}, single(schedule.Need{Devices: 1, Milli: 500}),
			"never fits: each task asks for 1 GPU, the largest of 0 nodes has 0 GPUs in all; 1 more node gives GPUs only whole, and it asks for a part"},
		{"no nodes", nil, single(gpu(1)), "no node is ready: the cluster has no nodes"},
		{"none ready", []schedule.Node{down(h100("a", 0)), cordoned(h100("b", 0))}, single(gpu(1)), "no node is ready: all are down or cordoned"},
		{"the free ones are cordoned", []schedule.Node{cordoned(h100("a", 0)), h100("b", 8)}, single(gpu(2)),
			"waits for gpu: needs 2 GPUs, free 0 GPUs of 16 GPUs (2 of 2 nodes lack it)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &schedule.Snapshot{Nodes: c.nodes, Queues: []schedule.Queue{plainQueue("q", 1, quota.Unlimited)}, Jobs: []schedule.Job{waiter("j", 1, c.shape)}}
			if got := texts(t, s, "j"); got != c.want {
				t.Errorf("got\n  %s\nwant\n  %s", got, c.want)
			}
		})
	}
}

// TestExplanationsOfQueues are those of what a queue may have.
func TestExplanationsOfQueues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		with func(*schedule.Queue, *schedule.Job)
		want string
	}{
		{"stopped", func(q *schedule.Queue, _ *schedule.Job) { q.Stopped = true }, "its queue is stopped: q"},
		{"unknown", func(_ *schedule.Queue, j *schedule.Job) { j.Queue = "elsewhere" }, "its project does not exist: elsewhere"},
		{"over its limit", func(q *schedule.Queue, _ *schedule.Job) { q.Default.Limit[quota.GPU] = 3000 },
			"over the limit of q: it holds 2 GPU of at most 3 GPU, and this asks for 2 GPU"},
		{"over its quota", func(q *schedule.Queue, j *schedule.Job) { q.Default.Quota[quota.GPU], j.Preemptible = 1500, false },
			"not preemptible, so it must be inside the quota of q: 0 GPU of 1.5 GPU are held by such work, and this asks for 2 GPU; a preemptible workload could go over the quota"},
		{"too many run", func(q *schedule.Queue, _ *schedule.Job) { q.MaxJobs = 1 },
			"over the limit of q: it holds 1 running workload of at most 1 running workload, and this asks for 1 running workload"},
		{"too many GPUs of one user", func(q *schedule.Queue, _ *schedule.Job) { q.UserGPU = 3000 },
			"over the limit of ann in q: it holds 2 GPU of at most 3 GPU, and this asks for 2 GPU"},
	} {
		t.Run(c.name, func(t *testing.T) {
			q, j := plainQueue("q", 1, quota.Unlimited), waiter("j", 2, single(gpu(2)))
			j.User = "ann"
			c.with(&q, &j)
			n := node("a", 8, 64000, 512*gib, "x")
			held := run(waiter("held", 1, single(gpu(2))), schedule.Place{Node: "a", CPU: 1000, Devices: []core.Share{{Device: "a-0", Milli: 1000}, {Device: "a-1", Index: 1, Milli: 1000}}})
			held.User = "ann"
			if got := texts(t, &schedule.Snapshot{Nodes: []schedule.Node{n}, Queues: []schedule.Queue{q}, Jobs: []schedule.Job{held, j}}, "j"); got != c.want {
				t.Errorf("got\n  %s\nwant\n  %s", got, c.want)
			}
		})
	}
}

func TestEverFits(t *testing.T) {
	t.Parallel()
	full := occupied(node("a", 4, 8000, 16*gib, "x"), 4, 8000, 16*gib)
	full.Ready, full.Devices[0].Healthy = false, false
	nodes := []schedule.Node{full}
	if r, ok := explain.EverFits(nodes, waiter("j", 1, gang(2, gpu(2)))); !ok {
		t.Errorf("what fits an empty, healthy cluster: %+v", r)
	}
	r, ok := explain.EverFits(nodes, waiter("j", 1, gang(3, gpu(2))))
	if ok || r.Resource != "tasks" || r.Fitting != 2 || r.Tasks != 3 {
		t.Errorf("a gang of 3 × 2 GPUs on 4: %+v, %v", r, ok)
	}
	if _, ok := explain.EverFits(nil, waiter("j", 1, single(schedule.Need{CPU: 1}))); ok {
		t.Error("it fits a cluster without nodes")
	}
	if nodes[0].Ready || nodes[0].Devices[0].Healthy || nodes[0].OtherCPU != 8000 {
		t.Error("EverFits changed its input")
	}
}

// Of several pools a task needs one: what one of them lacks is not to blame where
// another has it, and the most that any has is told.
func TestWhatNeverFitsIsToldOfAllPools(t *testing.T) {
	t.Parallel()
	in := func(pool string, n schedule.Node) schedule.Node { n.Pool = pool; return n }
	whole := func(n schedule.Node) schedule.Node { n.Whole = true; return n }
	for _, c := range []struct {
		nodes []schedule.Node
		need  schedule.Need
		want  string
	}{
		{[]schedule.Node{in("a", node("a", 2, 64000, 64*gib, "x")), in("b", node("b", 8, 64000, 64*gib, "x"))}, schedule.Need{Devices: 16, Milli: 1000}, "each task asks for 16 GPUs, the largest of 2 nodes has 8 GPUs in all"},
		{[]schedule.Node{in("a", node("a", 0, 64000, 64*gib, "")), in("b", node("b", 8, 8000, 64*gib, "x"))}, schedule.Need{Devices: 8, Milli: 1000, CPU: 96000}, "each task asks for 96 CPU, the largest of 2 nodes has 64 CPU in all"},
		{[]schedule.Node{in("a", node("a", 0, 64000, 64*gib, "")), in("b", node("b", 8, 8000, 64*gib, "x"))}, schedule.Need{Devices: 8, Milli: 1000, CPU: 16000}, "none of 2 nodes has all at once that each task asks for, even when empty"},
		{[]schedule.Node{in("a", whole(node("a", 8, 64000, 64*gib, "x"))), in("b", whole(node("b", 8, 64000, 64*gib, "x")))}, schedule.Need{Devices: 1, Milli: 500}, "each task asks for 1 GPU, the largest of 0 nodes has 0 GPUs in all; 2 more nodes give GPUs only whole, and it asks for a part"},
	} {
		r, ok := explain.EverFits(c.nodes, waiter("j", 1, single(c.need)))
		if ok || r.String() != "never fits: "+c.want {
			t.Errorf("%q, want %q", r.String(), c.want)
		}
	}
}

// A pool whose last node goes, or goes over to another pool, has nothing left
// for those who name it.
func TestAPoolThatHasLostItsLastNodeFitsNothing(t *testing.T) {
	t.Parallel()
	other := node("b", 4, 8000, 16*gib, "x")
	other.Pool = "other"
	j := waiter("j", 1, single(gpu(1)))
	j.Pools = []string{"other"}
	for name, leave := range map[string]func(*state.State){
		"gone":      func(st *state.State) { st.DropNode("b") },
		"gone over": func(st *state.State) { explain.PutBare(st, node("b", 4, 8000, 16*gib, "x")) },
	} {
		st := explain.Bare([]schedule.Node{node("a", 4, 8000, 16*gib, "x"), other})
		if r, ok := explain.Fits(st, j); !ok {
			t.Errorf("%s: before: %+v", name, r)
		}
		leave(st)
		if _, ok := explain.Fits(st, j); ok {
			t.Errorf("%s: it still fits", name)
		}
		explain.PutBare(st, other)
		if r, ok := explain.Fits(st, j); !ok {
			t.Errorf("%s: once it is back: %+v", name, r)
		}
	}
}

func TestPosition(t *testing.T) {
	t.Parallel()
	s := &schedule.Snapshot{Nodes: []schedule.Node{node("a", 0, 0, 0, "")}, Queues: []schedule.Queue{plainQueue("q", 1, quota.Unlimited), plainQueue("p", 2, quota.Unlimited)}}
	add := func(queue string, priority int, shape *schedule.Shape, orders ...int64) {
		for _, o := range orders {
			j := waiter(fmt.Sprintf("j%d", o), o, shape)
			j.Queue, j.Priority = core.ProjectID(queue), priority
			s.Jobs = append(s.Jobs, j)
		}
	}
	add("q", 1, single(gpu(1)), 10, 30, 50)
	add("q", 1, single(gpu(2)), 20, 40)
	add("q", 2, single(gpu(1)), 60)
	add("q", 0, single(gpu(1)), 5)
	add("p", 9, single(gpu(1)), 2)
	st := state.Load(s, schedule.Config{})
	for id, want := range map[string]string{
		"j60": "1/7 []",
		"j10": "2/7 [j60]",
		"j40": "5/7 [j60 j10 j20 j30]",
		"j5":  "7/7 [j60 j10 j20 j30 j40]",
		"j2":  "1/1 []",
	} {
		ex, ok := explain.Explain(st, 0, core.WorkloadID(id))
		if got := fmt.Sprintf("%d/%d %v", ex.Position, ex.Waiting, ex.Ahead); !ok || got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
	if _, ok := explain.Explain(st, 0, "nobody"); ok {
		t.Error("who does not wait has an explanation")
	}
}

func TestReasonsHaveWords(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 64 * gib: "64 GiB", 1 << 50: "1 PiB"} {
		if got := amount.Bytes(n); got != want {
			t.Errorf("%d bytes: %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 500: "0.5", 1000: "1", 1250: "1.25", 12345: "12.345"} {
		if got := amount.Thousandths(n); got != want {
			t.Errorf("%d thousandths: %q, want %q", n, got, want)
		}
	}
	for _, token := range schedule.Tokens() {
		if s := (schedule.Reason{Token: token, Note: "note"}).String(); s == "" {
			t.Errorf("%s has no line", token)
		}
	}
}

// TestEveryoneWhoWaitsIsToldWhy: whoever is left waiting for its minimum has a
// reason, and one that names more than that nothing is known.
func TestEveryoneWhoWaitsIsToldWhy(t *testing.T) {
	t.Parallel()
	search(t, 500, func(w *world) string {
		l, _ := filled(w)
		if l == nil {
			return ""
		}
		st := state.Load(&l.w.Snap, l.w.Cfg)
		g := &judge{w: l.w, plan: &schedule.Plan{}}
		for i := range l.w.Snap.Jobs {
			j := &l.w.Snap.Jobs[i]
			if g.wholeTree(j, g.tasksOf(j, false, true), 0) {
				continue
			}
			ex, ok := explain.Explain(st, clock, j.ID)
			if wants := wants(j.Shape); !ok && wants > 0 {
				return fmt.Sprintf("%s waits and has no explanation", j.ID)
			}
			for _, r := range ex.Reasons {
				if r.Token == schedule.Reserved || r.Token == schedule.NotYetEvaluated && r.Note == "" || r.String() == "" {
					return fmt.Sprintf("%s is told: %s", j.ID, r)
				}
			}
			if ok && len(ex.Reasons) == 0 {
				return fmt.Sprintf("%s is told nothing", j.ID)
			}
		}
		return ""
	})
}

func wants(sh *schedule.Shape) int {
	n := 0
	for i := range sh.Groups {
		n += sh.Groups[i].Wants()
	}
	return n
}
