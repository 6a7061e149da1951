package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
)

// loners has some jobs of a world want their nodes to themselves, those that run
// too.
func loners(w *world) *world {
	c := w.clone()
	r := rand.New(rand.NewPCG(uint64(len(w.text())), 77))
	for i := range c.Snap.Jobs {
		j := &c.Snap.Jobs[i]
		if r.IntN(3) != 0 {
			continue
		}
		key := []string{ledger.AloneEach, string(j.ID), "user:" + j.User}[r.IntN(3)]
		with := func(old *schedule.Rule) *schedule.Rule {
			n := schedule.Rule{}
			if old != nil {
				n = *old
			}
			n.Alone = key
			return &n
		}
		groups := cloneGroups(j.Shape.Groups)
		for g := range groups {
			for k := range groups[g].Runs {
				groups[g].Runs[k].Rule = with(groups[g].Runs[k].Rule)
			}
		}
		for h := range j.Held {
			j.Held[h].Rule = with(j.Held[h].Rule)
		}
		j.Shape = schedule.NewShape(j.Shape.Sets, groups)
	}
	return c
}

func aloneOf(r *schedule.Rule) string {
	if r == nil {
		return ""
	}
	return r.Alone
}

// TestLonersAreAlone: nobody is placed beside one who wants the node to itself,
// nor one who does beside others, neither now nor once all have come who were
// promised something.
func TestLonersAreAlone(t *testing.T) {
	t.Parallel()
	search(t, 1500, func(w *world) string {
		c := loners(w)
		plan := cycle.Cycle(&c.Snap, c.Cfg)
		faults := judged(c, plan)
		g := &judge{w: c, plan: plan, before: newBook(&c.Snap), jobs: map[core.WorkloadID]*schedule.Job{}}
		for i := range c.Snap.Jobs {
			g.jobs[c.Snap.Jobs[i].ID] = &c.Snap.Jobs[i]
		}
		type guest struct {
			who, key string
			fresh    bool
			now      bool // there at once
			soon     bool // there in the end
		}
		on := map[string][]guest{}
		for _, j := range g.jobs {
			for _, h := range j.Held {
				gone := h.Leaving && !h.Stuck
				for _, e := range plan.Evictions {
					gone = gone || e.ID == j.ID && slices.Contains(e.Tasks, h.Task)
				}
				on[string(h.Place.Node)] = append(on[string(h.Place.Node)], guest{string(j.ID), aloneOf(h.Rule), false, true, !gone})
			}
		}
		for _, pl := range slices.Concat(plan.Placements, plan.Promises) {
			for _, task := range pl.Tasks {
				_, rule := g.needOf(g.jobs[pl.ID], &task)
				on[string(task.Place.Node)] = append(on[string(task.Place.Node)], guest{string(pl.ID), aloneOf(rule), true, !task.Later, true})
			}
		}
		for node, all := range on {
			for i, a := range all {
				for k, b := range all {
					if i == k || !a.fresh || a.key == b.key && a.key != ledger.AloneEach || !(a.now && b.now || a.soon && b.soon) {
						continue
					}
					faults = append(faults, fmt.Sprintf("%s (%q) comes to %s beside %s (%q)", a.who, a.key, node, b.who, b.key))
				}
			}
		}
		return strings.Join(faults, "; ")
	})
}

// lonely wants nodes to itself.
func lonely(id string, order int64, tasks int, key string) schedule.Job {
	n := gpu(1)
	return waiter(id, order, schedule.Flat(schedule.Group{Name: "tasks", Min: tasks, Runs: []schedule.Run{{Need: n, Rule: &schedule.Rule{Alone: key}, Count: tasks}}}))
}

func TestWhoWantsItsNodesToItself(t *testing.T) {
	t.Parallel()
	two := func(jobs ...schedule.Job) *schedule.Snapshot {
		return &schedule.Snapshot{Nodes: []schedule.Node{node("n1", 4, 16000, 64*gib, "H100"), node("n2", 4, 16000, 64*gib, "H100")}, Queues: []schedule.Queue{{ID: "q", Default: schedule.Unlimited()}}, Jobs: jobs}
	}
	for _, c := range []struct {
		name string
		jobs []schedule.Job
		want string
	}{
		{"its own tasks share a node", []schedule.Job{lonely("a", 1, 3, "a")}, "+a 0@n1 0@n1 0@n1"},
		{"each is alone", []schedule.Job{lonely("a", 1, 2, ledger.AloneEach)}, "+a 0@n1 0@n2"},
		{"others go elsewhere", []schedule.Job{lonely("a", 1, 1, "a"), waiter("b", 2, single(gpu(1))), waiter("c", 3, single(gpu(1)))}, "+a 0@n1; +b 0@n2; +c 0@n2"},
		{"those of one user share", []schedule.Job{lonely("a", 1, 1, "user:x"), lonely("b", 2, 1, "user:x"), lonely("c", 3, 1, "user:y")}, "+a 0@n1; +b 0@n1; +c 0@n2"},
		{"there is none free of others", []schedule.Job{waiter("a", 1, gang(5, gpu(1))), lonely("b", 2, 1, "b")}, "+a 0@n1 0@n1 0@n1 0@n1 0@n2"},
	} {
		if got := brief(cycle.Cycle(two(c.jobs...), schedule.Config{})); strings.TrimSuffix(strings.TrimSpace(got), ";") != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	s := two(waiter("a", 1, gang(5, gpu(1))), lonely("b", 2, 1, "b"))
	if got := texts(t, s, "b"); !strings.Contains(got, "waits for nodes: needs 1 node, free 0 nodes of 2 nodes (2 of 2 nodes lack it): it wants them to itself") {
		t.Errorf("b: %s", got)
	}
	s = two(lonely("a", 1, 2, ledger.AloneEach), waiter("b", 2, single(gpu(1))))
	if got := texts(t, s, "b"); !strings.Contains(got, "2 nodes are taken by work that wants them to itself") {
		t.Errorf("b: %s", got)
	}
}

// TestRoomIsMadeForWhoWantsItToItself: all who may be displaced leave the node.
func TestRoomIsMadeForWhoWantsItToItself(t *testing.T) {
	t.Parallel()
	s := &schedule.Snapshot{Now: clock, Nodes: []schedule.Node{node("n1", 4, 16000, 64*gib, "H100")}, Queues: []schedule.Queue{{ID: "q", Default: schedule.Unlimited()}}}
	for i := range 2 {
		j := runs(fmt.Sprint("r", i), int64(i+1), "n1", 0)
		j.Queue, j.Preemptible = "q", true
		j.Held[0].Place.Devices[0].Device = fmt.Sprint("n1-", i)
		s.Jobs = append(s.Jobs, j)
	}
	a := lonely("a", 9, 1, ledger.AloneEach)
	a.Priority = 100
	s.Jobs = append(s.Jobs, a)
	p := cycle.Cycle(s, schedule.Config{})
	if len(p.Evictions) != 2 || len(p.Promises) != 1 || p.Promises[0].ID != "a" {
		t.Fatal(brief(p))
	}
}
