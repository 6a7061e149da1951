package schedule_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
)

var (
	seedFlag  = flag.Uint64("schedule.seed", 0, "check this seed only")
	casesFlag = flag.Uint64("schedule.cases", 0, "check so many seeds; 0: as each test says")
)

// property says what is wrong with the core in a world; empty: nothing.
type property func(w *world) string

// search looks for a world in which a property does not hold, and reports the
// smallest it can find. Worlds that were found once are in testdata and are
// looked at first.
func search(t *testing.T, cases uint64, holds property) {
	t.Helper()
	files, err := filepath.Glob("testdata/worlds/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		w, err := parse(data)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if fault := safely(holds, w); fault != "" {
			t.Errorf("%s: %s", name, fault)
		}
	}
	first := uint64(1)
	if *casesFlag > 0 {
		cases = *casesFlag
	}
	if testing.Short() {
		cases = min(cases, 20)
	}
	if *seedFlag > 0 {
		first, cases = *seedFlag, *seedFlag
	}
	for seed := first; seed <= cases && !t.Failed(); seed++ {
		w := drawn(seed)
		fault := safely(holds, w)
		if fault == "" {
			continue
		}
		small := shrunk(w, holds)
		t.Errorf("seed %d: %s\nshrunk: %s\nkeep it as testdata/worlds/NAME.json:\n%s", seed, fault, safely(holds, small), small.text())
	}
}

// safely is the fault of w; a panic is one.
func safely(holds property, w *world) (fault string) {
	defer func() {
		if r := recover(); r != nil {
			fault = fmt.Sprintf("panic: %v\n%s", r, frames())
		}
	}()
	return holds(w)
}

func (w *world) text() string {
	data, err := json.Marshal(w)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func parse(data []byte) (*world, error) {
	w := &world{}
	if err := json.Unmarshal(data, w); err != nil {
		return nil, err
	}
	for i := range w.Snap.Jobs {
		sh := w.Snap.Jobs[i].Shape
		w.Snap.Jobs[i].Shape = schedule.NewShape(sh.Sets, sh.Groups)
	}
	return w, nil
}

func (w *world) clone() *world {
	c, err := parse([]byte(w.text()))
	if err != nil {
		panic(err)
	}
	return c
}

// shrunk makes the world smaller, one step after another, as long as the
// property does not hold.
func shrunk(w *world, holds property) *world {
	for again := true; again; {
		again = false
		for _, step := range steps(w) {
			c := w.clone()
			if !step(c) {
				continue
			}
			for i := range c.Snap.Jobs {
				sh := c.Snap.Jobs[i].Shape
				c.Snap.Jobs[i].Shape = schedule.NewShape(sh.Sets, sh.Groups)
			}
			if fault := safely(holds, c); fault != "" && len(c.text()) < len(w.text()) {
				w, again = c, true
				break
			}
		}
	}
	return w
}

// steps are the ways to make a world smaller; each reports whether it applied.
func steps(w *world) []func(*world) bool {
	var out []func(*world) bool
	s := &w.Snap
	for i := range s.Jobs {
		out = append(out, func(c *world) bool { c.Snap.Jobs = slices.Delete(c.Snap.Jobs, i, i+1); return true })
	}
	for i := range s.Nodes {
		out = append(out, func(c *world) bool { return c.dropNode(i) })
	}
	for i := range s.Queues {
		out = append(out, func(c *world) bool { return c.dropQueue(i) })
	}
	out = append(out, func(c *world) bool { c.Snap.Pools = nil; return true })
	for i := range s.Jobs {
		out = append(out, jobSteps(&s.Jobs[i], i)...)
	}
	for i := range s.Queues {
		at := func(c *world) *schedule.Queue { return &c.Snap.Queues[i] }
		out = append(out,
			func(c *world) bool { at(c).Shares = nil; return true },
			func(c *world) bool { at(c).Default = schedule.Unlimited(); return true },
			func(c *world) bool { q := at(c); q.MaxJobs, q.UserJobs, q.UserGPU = 0, 0, 0; return true },
			func(c *world) bool {
				q := at(c)
				q.PreemptMin, q.ReclaimMin, q.Stopped, q.Age = 0, 0, false, 0
				return true
			},
			func(c *world) bool { q := at(c); q.Default.Quota = schedule.Unlimited().Quota; return true },
			func(c *world) bool { q := at(c); q.Default.Limit = schedule.Unlimited().Limit; return true },
		)
	}
	for i := range s.Nodes {
		at := func(c *world) *schedule.Node { return &c.Snap.Nodes[i] }
		out = append(out,
			func(c *world) bool { at(c).Labels = nil; return true },
			func(c *world) bool { at(c).Taints = nil; return true },
			func(c *world) bool { n := at(c); n.OtherCPU, n.OtherMem, n.Pods = 0, 0, 0; return true },
			func(c *world) bool { at(c).OtherMilli = nil; return true },
			func(c *world) bool { n := at(c); n.MIG, n.MIGStrategy, n.Whole = nil, "", false; return true },
			func(c *world) bool { return c.dropDevice(at(c)) },
		)
	}
	return out
}

// anyHeld reports whether some task that is held is as told.
func (w *world) anyHeld(is func(*schedule.Held) bool) bool {
	for k := range w.Snap.Jobs {
		for h := range w.Snap.Jobs[k].Held {
			if is(&w.Snap.Jobs[k].Held[h]) {
				return true
			}
		}
	}
	return false
}

func (w *world) dropNode(i int) bool {
	id := w.Snap.Nodes[i].ID
	if w.anyHeld(func(h *schedule.Held) bool { return h.Place.Node == id }) {
		return false
	}
	w.Snap.Nodes = slices.Delete(w.Snap.Nodes, i, i+1)
	return true
}

func (w *world) dropQueue(i int) bool {
	q := w.Snap.Queues[i]
	if slices.ContainsFunc(w.Snap.Jobs, func(j schedule.Job) bool { return j.Queue == q.ID }) {
		return false
	}
	for k := range w.Snap.Queues {
		if w.Snap.Queues[k].Parent == q.ID {
			w.Snap.Queues[k].Parent = q.Parent
		}
	}
	w.Snap.Queues = slices.Delete(w.Snap.Queues, i, i+1)
	return true
}

func (w *world) dropDevice(n *schedule.Node) bool {
	if len(n.Devices) == 0 {
		return false
	}
	last := n.Devices[len(n.Devices)-1].ID
	if w.anyHeld(func(h *schedule.Held) bool {
		return slices.ContainsFunc(h.Place.Devices, func(sh core.Share) bool { return sh.Device == last })
	}) {
		return false
	}
	n.Devices = n.Devices[:len(n.Devices)-1]
	n.OtherMilli = n.OtherMilli[:min(len(n.OtherMilli), len(n.Devices))]
	return true
}

func jobSteps(j *schedule.Job, i int) []func(*world) bool {
	var out []func(*world) bool
	at := func(c *world) *schedule.Job { return &c.Snap.Jobs[i] }
	for k := range j.Held {
		out = append(out, func(c *world) bool { x := at(c); x.Held = slices.Delete(x.Held, k, k+1); return true })
	}
	out = append(out,
		func(c *world) bool {
			x := at(c)
			x.Pools, x.Patient, x.BelowSince, x.EndsBy = nil, 0, 0, 0
			return true
		},
		func(c *world) bool { at(c).Shape.Sets[0].Topology = nil; return true },
		func(c *world) bool { at(c).Shape.Sets[0].MinGroups = 0; return true },
		func(c *world) bool {
			sh := at(c).Shape
			if len(sh.Sets) == 1 {
				return false
			}
			sh.Sets = sh.Sets[:1]
			for g := range sh.Groups {
				sh.Groups[g].Set = 0
			}
			return true
		},
		func(c *world) bool {
			x := at(c)
			last := len(x.Shape.Groups) - 1
			if last == 0 || slices.ContainsFunc(x.Held, func(h schedule.Held) bool { return h.Group == last }) {
				return false
			}
			x.Shape.Groups = x.Shape.Groups[:last]
			return true
		},
	)
	for g := range j.Shape.Groups {
		grp := func(c *world) *schedule.Group { return &at(c).Shape.Groups[g] }
		out = append(out,
			func(c *world) bool { grp(c).Topology = nil; return true },
			func(c *world) bool { grp(c).Runs = nil; return true },
			func(c *world) bool {
				x := grp(c)
				if len(x.Runs) == 0 || x.Runs[0].Count < 2 {
					return false
				}
				if x.Runs[0].Count--; x.Min > x.Runs[0].Count {
					x.Min = x.Runs[0].Count
				}
				return true
			},
			func(c *world) bool { return simpler(grp(c), func(n *schedule.Need) { n.CPU, n.Memory = 0, 0 }) },
			func(c *world) bool { return simpler(grp(c), func(n *schedule.Need) { n.Type = "" }) },
			func(c *world) bool {
				x := grp(c)
				for r := range x.Runs {
					x.Runs[r].Rule = nil
				}
				return len(x.Runs) > 0
			},
		)
	}
	return out
}

func simpler(g *schedule.Group, with func(*schedule.Need)) bool {
	for r := range g.Runs {
		with(&g.Runs[r].Need)
	}
	return len(g.Runs) > 0
}
