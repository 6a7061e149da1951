package schedule

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/musterhq/muster/internal/core"
)

var seed = flag.Uint64("schedule.seed", 0, "check this seed only")

// worlds checks a property of many random clusters; a failure names its seed.
func worlds(t *testing.T, check func(t *testing.T, s *Snapshot, cfg Config, r *rand.Rand)) {
	t.Helper()
	first, last := uint64(1), uint64(1500)
	if *seed != 0 {
		first, last = *seed, *seed
	}
	for n := first; n <= last && !t.Failed(); n++ {
		r := rand.New(rand.NewPCG(n, 0))
		cfg := Config{Placement: []Strategy{BinPack, Spread}[n%2]}
		check(t, random(r), cfg, r)
		if t.Failed() {
			t.Logf("repeat it with -schedule.seed=%d", n)
		}
	}
}

func TestPlansAreSound(t *testing.T) {
	t.Parallel()
	worlds(t, func(t *testing.T, s *Snapshot, cfg Config, _ *rand.Rand) {
		plan := Cycle(s, cfg)
		after := applied(s, plan)
		for i, n := range after.Nodes {
			touched := n.UsedCPU != s.Nodes[i].UsedCPU || n.UsedMemory != s.Nodes[i].UsedMemory || !slices.Equal(n.UsedMilli, s.Nodes[i].UsedMilli)
			if touched && (!n.Ready || n.Cordon || n.UsedCPU > n.CPU || n.UsedMemory > n.Memory) {
				t.Errorf("node %s: %d of %d CPU, %d of %d memory, ready %v, cordoned %v", n.ID, n.UsedCPU, n.CPU, n.UsedMemory, n.Memory, n.Ready, n.Cordon)
			}
			for d, used := range n.UsedMilli {
				if used != s.Nodes[i].UsedMilli[d] && (used > 1000 || !n.Devices[d].Healthy) {
					t.Errorf("device %s: %d/1000, healthy %v", n.Devices[d].ID, used, n.Devices[d].Healthy)
				}
			}
		}
		for _, pl := range plan.Placements {
			whole(t, s, pl)
		}
	})
}

// whole fails unless a placement has every minimum of its job, in one pool
// that it may use, and what each task needs.
func whole(t *testing.T, s *Snapshot, pl Placement) {
	ci, _ := find(s, pl.ID)
	c := s.Waiting[ci]
	if slices.ContainsFunc(s.Queues, func(q Queue) bool { return q.ID == c.Queue && q.Stopped }) {
		t.Errorf("%s was placed though its queue is stopped", pl.ID)
	}
	count := map[string]int{}
	pool := ""
	for _, p := range pl.Tasks {
		count[p.Group]++
		n := s.Nodes[slices.IndexFunc(s.Nodes, func(n Node) bool { return n.ID == p.Node })]
		if pool == "" {
			pool = n.Pool
		}
		if n.Pool != pool || !c.Shape.uses(n.Pool) {
			t.Errorf("%s spans pools, or uses one that it may not: %s and %s, may %v", pl.ID, pool, n.Pool, c.Shape.Pools)
		}
		g := c.Shape.Groups[slices.IndexFunc(c.Shape.Groups, func(g Group) bool { return g.Name == p.Group })]
		if p.CPU != g.Need.CPU || p.Memory != g.Need.Memory || len(p.Devices) != g.Need.Devices {
			t.Errorf("%s needs %+v and got %+v", pl.ID, g.Need, p)
		}
		distinct := map[string]bool{}
		for _, sh := range p.Devices {
			d := n.Devices[slices.IndexFunc(n.Devices, func(d core.Device) bool { return d.ID == sh.Device })]
			if sh.Milli != g.Need.Milli || !typed(d.Product, g.Need.Type) || distinct[d.ID] || sh.Index != d.Index {
				t.Errorf("%s needs %+v and got %+v of %+v", pl.ID, g.Need, sh, d)
			}
			distinct[d.ID] = true
		}
	}
	for _, g := range c.Shape.Groups {
		if n := count[g.Name]; n < g.Min || n > g.Count {
			t.Errorf("%s got %d tasks of %s; want %d to %d", pl.ID, n, g.Name, g.Min, g.Count)
		}
	}
}

func TestPlansAreMaximal(t *testing.T) {
	t.Parallel()
	worlds(t, func(t *testing.T, s *Snapshot, cfg Config, _ *rand.Rand) {
		first := Cycle(s, cfg)
		second := Cycle(applied(s, first), cfg)
		for _, pl := range second.Placements {
			// Of several pools a job's rest may be let into another; that is
			// this test's doing, which cannot say where it is.
			if !slices.ContainsFunc(first.Placements, func(f Placement) bool { return f.ID == pl.ID }) {
				t.Errorf("after %s a second cycle placed %s", where(first), where(second))
			}
		}
	})
}

func TestPlansAreRepeatable(t *testing.T) {
	t.Parallel()
	worlds(t, func(t *testing.T, s *Snapshot, cfg Config, r *rand.Rand) {
		want := Cycle(s, cfg)
		shuffled := *s
		shuffled.Nodes, shuffled.Queues, shuffled.Waiting = slices.Clone(s.Nodes), slices.Clone(s.Queues), slices.Clone(s.Waiting)
		r.Shuffle(len(s.Nodes), func(i, j int) { shuffled.Nodes[i], shuffled.Nodes[j] = shuffled.Nodes[j], shuffled.Nodes[i] })
		r.Shuffle(len(s.Queues), func(i, j int) { shuffled.Queues[i], shuffled.Queues[j] = shuffled.Queues[j], shuffled.Queues[i] })
		r.Shuffle(len(s.Waiting), func(i, j int) {
			shuffled.Waiting[i], shuffled.Waiting[j] = shuffled.Waiting[j], shuffled.Waiting[i]
		})
		if got := Cycle(&shuffled, cfg); !reflect.DeepEqual(got.Placements, want.Placements) {
			t.Errorf("%s\nshuffled: %s", where(want), where(got))
		}
		for i, c := range s.Waiting {
			for _, j := range c.Jobs {
				a, _ := Explain(s, want, cfg, j.ID)
				b, _ := Explain(&shuffled, Cycle(&shuffled, cfg), cfg, j.ID)
				if !reflect.DeepEqual(a, b) {
					t.Errorf("%s of class %d: %+v\nshuffled: %+v", j.ID, i, a, b)
				}
			}
		}
	})
}

// TestPlansLeaveTheirInputAlone: a snapshot may be shared and asked again.
func TestPlansLeaveTheirInputAlone(t *testing.T) {
	t.Parallel()
	worlds(t, func(t *testing.T, s *Snapshot, cfg Config, _ *rand.Rand) {
		before := fmt.Sprintf("%+v", *s)
		Cycle(s, cfg)
		if after := fmt.Sprintf("%+v", *s); after != before {
			t.Errorf("the snapshot was\n%s\nand is\n%s", before, after)
		}
	})
}

// TestRankingsFindWhatASearchFinds compares rankings that are kept with a look
// at every node, each time anew.
func TestRankingsFindWhatASearchFinds(t *testing.T) {
	t.Parallel()
	worlds(t, func(t *testing.T, s *Snapshot, cfg Config, r *rand.Rand) {
		b := newBoard(s.Nodes, cfg)
		var shapes []*Shape
		for range 3 {
			shapes = append(shapes, randomShape(r))
		}
		for range 60 {
			shape := shapes[r.IntN(len(shapes))]
			g := shape.Groups[r.IntN(len(shape.Groups))]
			pool := []string{"", "east", "west"}[r.IntN(3)]
			want := search(b, g.Need, pool)
			if got := b.find(g.Need, pool); got != want {
				t.Fatalf("%+v in %q: seat %d, a search finds %d", g.Need, pool, got, want)
			}
			b.put(g, pool)
			if r.IntN(10) == 0 && len(b.log) > 0 {
				b.undo(r.IntN(len(b.log)))
			}
		}
	})
}

// search looks at every seat.
func search(b *board, n Need, pool string) int {
	best := -1
	for i := range b.seats {
		s := &b.seats[i]
		if pool != "" && s.node.Pool != pool || !s.holds(n) {
			continue
		}
		if best < 0 {
			best = i
			continue
		}
		x, y := b.seats[i], b.seats[best]
		if n.Devices == 0 && (len(x.free) > 0) != (len(y.free) > 0) {
			if len(y.free) > 0 {
				best = i
			}
			continue
		}
		c := cmp.Or(cmp.Compare(x.sum, y.sum), cmp.Compare(x.cpu, y.cpu))
		if n.Devices == 0 {
			c = cmp.Or(cmp.Compare(x.cpu, y.cpu), cmp.Compare(x.sum, y.sum))
		}
		if !b.pack {
			c = -c
		}
		if c < 0 {
			best = i
		}
	}
	return best
}

func TestEveryoneLeftIsExplained(t *testing.T) {
	t.Parallel()
	worlds(t, func(t *testing.T, s *Snapshot, cfg Config, _ *rand.Rand) {
		plan := Cycle(s, cfg)
		b := newBoard(applied(s, plan).Nodes, cfg)
		placed := map[core.WorkloadID]bool{}
		for _, pl := range plan.Placements {
			placed[pl.ID] = true
		}
		for i, c := range s.Waiting {
			left := 0
			for _, j := range c.Jobs {
				if !placed[j.ID] && c.Shape.must() > 0 {
					left++
				}
			}
			v := plan.Verdicts[i]
			if c.Shape.must() > 0 && left != plan.Left[i] {
				t.Errorf("class %d: %d are left, the plan says %d", i, left, plan.Left[i])
			}
			if left == 0 {
				continue
			}
			if v == nil || len(v.Reasons) == 0 {
				t.Errorf("class %d: %d are left and nobody says why", i, left)
				continue
			}
			for _, reason := range v.Reasons {
				truth(t, s, b, c, reason)
			}
		}
	})
}

// truth checks the numbers of a reason against the board after the plan. A
// reason is given when its class was looked at: later placements have only
// taken more.
func truth(t *testing.T, s *Snapshot, b *board, c Class, r Reason) {
	t.Helper()
	var free, largest, total int64
	for i := range b.seats {
		st := &b.seats[i]
		if !c.Shape.uses(st.node.Pool) {
			continue
		}
		for _, g := range c.Shape.Groups {
			if g.Need.of(r.Resource) != r.Requested || r.Resource == "gpu" && g.Need.Type != r.Type {
				continue
			}
			f, all := st.amount(r.Resource, g.Need)
			if st.fit {
				free += f
				largest = max(largest, f)
			}
			total += all
			break
		}
	}
	switch r.Token {
	case QueueStopped:
		if !slices.ContainsFunc(s.Queues, func(q Queue) bool { return q.ID == c.Queue && q.Stopped }) {
			t.Errorf("%+v, but its queue is open", r)
		}
	case NeverFits:
		if _, ok := EverFits(s.Nodes, c.Shape); ok {
			t.Errorf("%+v, but it fits an empty cluster", r)
		}
		if r.Resource != "tasks" && r.Requested <= r.Largest {
			t.Errorf("%+v: that is no reason", r)
		}
	case WaitingForCapacity:
		if r.Note == "" && (r.Free < free || r.Largest < largest || r.Total != total) {
			t.Errorf("%+v; after the plan %d are free, at most %d on a node, of %d", r, free, largest, total)
		}
		if r.Free >= r.Needed && r.Nodes < r.OfNodes {
			t.Errorf("%+v: that is no reason", r)
		}
	case Fragmented:
		if r.Fitting >= r.Tasks {
			t.Errorf("%+v: that is no reason", r)
		}
	case NoNodes:
		if slices.ContainsFunc(s.Nodes, func(n Node) bool { return n.Ready && !n.Cordon }) {
			t.Errorf("%+v, but there is a fit node", r)
		}
	default:
		t.Errorf("%+v: not a reason of the scheduler", r)
	}
}
