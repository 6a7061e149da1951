package schedule

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core"
)

// lines are the reasons of the first class of s, one to a line.
func lines(s *Snapshot) string {
	plan := Cycle(s, Config{})
	v := plan.Verdicts[0]
	if v == nil {
		return "placed: " + where(plan)
	}
	var all []string
	for _, r := range v.Reasons {
		all = append(all, r.String())
	}
	return strings.Join(all, "\n")
}

func TestExplanations(t *testing.T) {
	t.Parallel()
	h100 := func(id string, held int) Node {
		return occupied(node(id, 8, 64000, 512*gib, "NVIDIA H100"), held, int64(held)*1000, 0)
	}
	a100 := func(id string, held int) Node {
		return occupied(node(id, 4, 32000, 128*gib, "NVIDIA A100"), held, int64(held)*1000, 0)
	}
	down := func(n Node) Node { n.Ready = false; return n }
	cordoned := func(n Node) Node { n.Cordon = true; return n }
	typed := func(count int, kind string) Need { n := gpu(count); n.Type = kind; return n }
	for _, c := range []struct {
		name  string
		nodes []Node
		shape *Shape
		want  string
	}{
		{"never, by GPU", []Node{h100("a", 0), a100("b", 0)}, single(gpu(16)),
			"never fits: each task asks for 16 GPUs, the largest of 2 nodes has 8 GPUs in all"},
		{"never, by CPU", []Node{h100("a", 0)}, single(Need{CPU: 96500}),
			"never fits: each task asks for 96.5 CPU, the only node has 64 CPU in all"},
		{"never, by memory", []Node{h100("a", 0)}, single(Need{CPU: 1000, Memory: 1 << 40}),
			"never fits: each task asks for 1 TiB memory, the only node has 512 GiB memory in all"},
		{"never, by type", []Node{h100("a", 0), a100("b", 0)}, single(typed(1, "b200")),
			"never fits: each task asks for 1 b200 GPU, the largest of 2 nodes has 0 b200 GPUs in all"},
		{"never, by type and number", []Node{h100("a", 0), a100("b", 0)}, single(typed(8, "a100")),
			"never fits: each task asks for 8 a100 GPUs, the largest of 2 nodes has 4 a100 GPUs in all"},
		{"never, the gang is too big", []Node{h100("a", 0), h100("b", 0)}, gang(5, gpu(4)),
			"never fits: its 5 tasks must start together, and all nodes together have room for 4 even when empty"},
		{"never, each thing on another node", []Node{node("a", 8, 4000, gib, "x"), node("b", 0, 64000, 512*gib, "")}, single(Need{Devices: 1, Milli: 1000, CPU: 8000}),
			"never fits: none of 2 nodes has all at once that each task asks for, even when empty"},
		{"for GPUs", []Node{h100("a", 6), h100("b", 7)}, single(gpu(4)),
			"waits for gpu: needs 4 GPUs, free 3 GPUs of 16 GPUs (2 of 2 nodes lack it)"},
		{"for GPUs of a gang", []Node{h100("a", 6), h100("b", 0)}, gang(6, gpu(2)),
			"waits for gpu: needs 12 GPUs, free 10 GPUs of 16 GPUs (0 of 2 nodes lack it)"},
		{"for GPUs of a type", []Node{h100("a", 0), a100("b", 4)}, single(typed(1, "A100")),
			"waits for gpu: needs 1 A100 GPU, free 0 A100 GPUs of 4 A100 GPUs (2 of 2 nodes lack it)"},
		{"for CPU", []Node{occupied(node("a", 0, 8000, gib, ""), 0, 7500, 0)}, single(Need{CPU: 1000}),
			"waits for cpu: needs 1 CPU, free 0.5 CPU of 8 CPU"},
		{"for memory", []Node{occupied(node("a", 0, 8000, 16*gib, ""), 0, 0, 12*gib)}, single(Need{CPU: 1000, Memory: 6 * gib}),
			"waits for memory: needs 6 GiB memory, free 4 GiB memory of 16 GiB memory"},
		{"for two things", []Node{occupied(node("a", 2, 8000, 16*gib, "x"), 2, 7500, 0)}, single(gpu(1)),
			"waits for gpu: needs 1 GPU, free 0 GPUs of 2 GPUs\nwaits for cpu: needs 1 CPU, free 0.5 CPU of 8 CPU"},
		{"for CPU where the GPUs are", []Node{occupied(node("a", 2, 8000, 16*gib, "x"), 0, 8000, 0), node("b", 0, 8000, 16*gib, "")}, single(gpu(1)),
			"waits for cpu: needs 1 CPU, free 0 CPU of 8 CPU: on nodes with 1 GPU free"},
		{"fragmented", []Node{h100("a", 3), h100("b", 3)}, gang(3, gpu(3)),
			"free 10 GPUs in all is enough for the 9 GPUs it needs, but scattered: 2 of its 3 tasks would fit now, the largest free block is 5 GPUs"},
		{"fragmented over pools", []Node{h100("a", 4), pool(h100("b", 4), "west")}, gang(6, gpu(1)),
			"free 8 GPUs in all is enough for the 6 GPUs it needs, but scattered: 4 of its 6 tasks would fit now, the largest free block is 4 GPUs"},
		{"no nodes", nil, single(gpu(1)), "no node is ready: the cluster has no nodes"},
		{"none ready", []Node{down(h100("a", 0)), cordoned(h100("b", 0))}, single(gpu(1)), "no node is ready: all are down or cordoned"},
		{"the free ones are cordoned", []Node{cordoned(h100("a", 0)), h100("b", 8)}, single(gpu(2)),
			"waits for gpu: needs 2 GPUs, free 0 GPUs of 16 GPUs (2 of 2 nodes lack it)"},
		{"another pool does not count", []Node{pool(h100("a", 0), "west"), h100("b", 8)}, NewShape(single(gpu(1)).Groups, []string{"default"}),
			"waits for gpu: needs 1 GPU, free 0 GPUs of 8 GPUs"},
		{"never in its pool", []Node{pool(h100("a", 0), "west"), a100("b", 0)}, NewShape(single(gpu(8)).Groups, []string{"default"}),
			"never fits: each task asks for 8 GPUs, the only node has 4 GPUs in all"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &Snapshot{Nodes: c.nodes, Waiting: []Class{class("q", 0, c.shape, 1)}}
			if got := lines(s); got != c.want {
				t.Errorf("got\n  %s\nwant\n  %s", got, c.want)
			}
		})
	}
}

func pool(n Node, name string) Node { n.Pool = name; return n }

func TestStoppedQueueIsToldFirst(t *testing.T) {
	t.Parallel()
	s := &Snapshot{Nodes: []Node{node("a", 1, 1000, gib, "x")}, Queues: []Queue{{ID: "q", Stopped: true}}, Waiting: []Class{class("q", 0, single(gpu(1)), 1), class("p", 0, single(gpu(1)), 2)}}
	if got, want := lines(s), "its queue is stopped: q"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := where(Cycle(s, Config{})); got != "j2:a" {
		t.Errorf("placed %q, want j2 of the open queue", got)
	}
}

func TestEverFits(t *testing.T) {
	t.Parallel()
	full := occupied(node("a", 4, 8000, 16*gib, "x"), 4, 8000, 16*gib)
	full.Ready, full.Devices[0].Healthy = false, false
	nodes := []Node{full}
	if r, ok := EverFits(nodes, gang(2, gpu(2))); !ok {
		t.Errorf("what fits an empty, healthy cluster: %+v", r)
	}
	r, ok := EverFits(nodes, gang(3, gpu(2)))
	if ok || r.Resource != "tasks" || r.Fitting != 2 || r.Tasks != 3 {
		t.Errorf("a gang of 3 × 2 GPUs on 4: %+v, %v", r, ok)
	}
	if _, ok := EverFits(nil, single(Need{CPU: 1})); ok {
		t.Error("it fits a cluster without nodes")
	}
	if nodes[0].Ready || nodes[0].Devices[0].Healthy || nodes[0].UsedCPU != 8000 {
		t.Error("EverFits changed its input")
	}
}

func TestPosition(t *testing.T) {
	t.Parallel()
	s := &Snapshot{Nodes: []Node{node("a", 0, 0, 0, "")}, Waiting: []Class{
		class("q", 1, single(gpu(1)), 10, 30, 50),
		class("q", 1, single(gpu(2)), 20, 40),
		class("q", 2, single(gpu(1)), 60),
		class("q", 0, single(gpu(1)), 5),
		class("q", 1, array(4, 0, gpu(1)), 1), // it runs already and would like more
		class("p", 9, single(gpu(1)), 2),
	}}
	plan := Cycle(s, Config{})
	for id, want := range map[string]string{
		"j60": "1/7 []",
		"j10": "2/7 [j60]",
		"j40": "5/7 [j60 j10 j20 j30]",
		"j5":  "7/7 [j60 j10 j20 j30 j40]",
		"j2":  "1/1 []",
	} {
		ex, ok := Explain(s, plan, Config{}, core.WorkloadID(id))
		if got := fmt.Sprintf("%d/%d %v", ex.Position, ex.Waiting, ex.Ahead); !ok || got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
	if _, ok := Explain(s, plan, Config{}, "nobody"); ok {
		t.Error("who does not wait has an explanation")
	}
}

func TestEarliestStart(t *testing.T) {
	t.Parallel()
	n := occupied(node("a", 4, 64000, 0, "x"), 4, 4000, 0)
	held := func(id string, ends int64, devices ...int) Job {
		j := Job{ID: core.WorkloadID(id), EndsBy: ends}
		for _, d := range devices {
			j.Places = append(j.Places, Place{Node: "a", CPU: 1000, Devices: []core.Share{{Device: n.Devices[d].ID, Index: d, Milli: 1000}}})
		}
		return j
	}
	s := &Snapshot{Now: 1000, Nodes: []Node{n}, Running: []Job{held("late", 9000, 0), held("unknown", 0, 1), held("overdue", 500, 2), held("soon", 2000, 3)}}
	for devices, want := range map[int]int64{1: 1000, 2: 2000, 3: 9000, 4: 0} {
		s.Waiting = []Class{class("q", 0, single(gpu(devices)), 1)}
		ex, _ := Explain(s, Cycle(s, Config{}), Config{}, "j1")
		if ex.EarliestStart != want {
			t.Errorf("%d GPUs: %d, want %d", devices, ex.EarliestStart, want)
		}
	}
	// What the plan has just placed is not free then.
	s.Running = append(s.Running, held("now", 3000))
	s.Nodes[0] = occupied(node("a", 4, 64000, 0, "x"), 3, 3000, 0)
	s.Running = slices.DeleteFunc(s.Running, func(j Job) bool { return j.ID == "soon" })
	s.Waiting = []Class{class("q", 0, single(gpu(1)), 1, 2)}
	plan := Cycle(s, Config{})
	ex, _ := Explain(s, plan, Config{}, "j2")
	if where(plan) != "j1:a" || ex.EarliestStart != 1000 {
		t.Errorf("%s; j2 starts at %d, want when the overdue one ends", where(plan), ex.EarliestStart)
	}
}

func TestReasonsHaveWords(t *testing.T) {
	t.Parallel()
	for _, token := range Tokens() {
		if s := (Reason{Token: token, Note: "note"}).String(); s == "" || s == string(token) {
			t.Errorf("%s has no English line: %q", token, s)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 64 * gib: "64 GiB", 1 << 50: "1 PiB"} {
		if got := bytes(n); got != want {
			t.Errorf("%d bytes: %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 500: "0.5", 1000: "1", 1250: "1.25", 12345: "12.345"} {
		if got := milli(n); got != want {
			t.Errorf("%d thousandths: %q, want %q", n, got, want)
		}
	}
}
