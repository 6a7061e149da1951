package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/explain"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/place"
	"github.com/musterhq/muster/internal/core/schedule/queues"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// said is all that a state knows, in words: two that say the same are the same.
func said(st *state.State) string {
	var b strings.Builder
	fmt.Fprintf(&b, "journal %d scopes %d running %v\n", len(st.Log), len(st.Scopes), st.Running)
	for _, name := range ledger.SortedKeys(st.Pools) {
		p := st.Pools[name]
		if len(p.Sites) == 0 {
			continue
		}
		fmt.Fprintf(&b, "pool %s total %v free %v moving %d\n", name, p.Total, p.Free, p.Moving)
		for _, s := range p.Sites {
			fmt.Fprintf(&b, " %s now %v soon %v legacy %d tags", s.Node.ID, s.Now, s.Soon, s.Legacy)
			for _, k := range ledger.SortedKeys(s.Tags) {
				if s.Tags[k] != 0 {
					fmt.Fprintf(&b, " %s:%d", k, s.Tags[k])
				}
			}
			b.WriteString("\n")
		}
		for i := range p.Q {
			a := &p.Q[i]
			fmt.Fprintf(&b, " queue %d alloc %v fixed %v victims", i, a.Alloc, a.Fixed)
			for _, v := range a.Victims {
				fmt.Fprintf(&b, " %s", v.ID)
			}
			b.WriteString("\n")
		}
		var leaving []string
		for _, h := range p.Leaving {
			leaving = append(leaving, fmt.Sprintf("%s/%d", h.Job.ID, h.Task))
		}
		slices.Sort(leaving)
		fmt.Fprintf(&b, " leaving %v\n", leaving)
	}
	for _, id := range ledger.SortedIDs(st.Jobs) {
		j := st.Jobs[id]
		fmt.Fprintf(&b, "job %s active %v placed %v standing %d now %v lane %v holds", id, j.Active, j.Placed, j.Standing, j.PlacedNow, j.JobClass != nil && slices.Contains(j.JobClass.Jobs, j))
		for _, h := range j.Holds {
			fmt.Fprintf(&b, " %d/%d %v %s%v", h.Group, h.Task, h.Leaving, h.Site.Node.ID, h.Devs)
		}
		b.WriteString("\n")
	}
	jobClasses := 0
	for _, l := range st.JobClasses {
		jobClasses += len(l.Jobs)
	}
	var users []string
	for k, u := range st.Users {
		if u != (queues.Held{}) {
			users = append(users, fmt.Sprint(k, u))
		}
	}
	slices.Sort(users)
	var below []core.WorkloadID
	for id := range st.Below {
		below = append(below, id)
	}
	slices.Sort(below)
	fmt.Fprintf(&b, "waiting %d users %v below %v", jobClasses, users, below)
	return b.String()
}

// ranked is, of every ask in every pool, the site that the state would choose;
// and the one that it finds by looking at all.
func ranked(st *state.State) (kept, searched string) {
	asks := ledger.SortedKeys(st.Asks.All)
	for _, name := range st.PoolNames() {
		p := st.Pools[name]
		for _, key := range asks {
			a := st.Asks.All[key]
			if place.Social(a) || a.Need.Never {
				continue
			}
			kept += fmt.Sprintf("%s %s: %s\n", name, key, siteName(st.Best(p.Whole, a)))
			searched += fmt.Sprintf("%s %s: %s\n", name, key, siteName(st.Scan(p.Whole, a)))
		}
	}
	return kept, searched
}

func siteName(s *ledger.Site) string {
	if s == nil {
		return "none"
	}
	return string(s.Node.ID)
}

// difference is the first line in which two texts differ.
func difference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("%q, then %q", x[i], y[i])
		}
	}
	if len(x) != len(y) {
		return fmt.Sprintf("%d lines, then %d", len(x), len(y))
	}
	return ""
}

func TestLookingChangesNothing(t *testing.T) {
	t.Parallel()
	search(t, 250, func(w *world) string {
		st := state.Load(&w.Snap, w.Cfg)
		cycle.Prepare(st)
		before, snap := said(st), w.text()
		plan := cycle.Run(st, clock)
		if d := difference(before, said(st)); d != "" {
			return "a cycle changes the state: " + d
		}
		for _, j := range w.Snap.Jobs {
			one, _ := explain.Explain(st, clock, j.ID)
			if d := difference(before, said(st)); d != "" {
				return fmt.Sprintf("explaining %s changes the state: %s", j.ID, d)
			}
			for range 3 {
				if again, _ := explain.Explain(st, clock, j.ID); !reflect.DeepEqual(one, again) {
					return fmt.Sprintf("%s is explained by %+v, then by %+v", j.ID, one, again)
				}
			}
			explain.Try(st, clock, j)
			cycle.Prepare(st)
			if d := difference(before, said(st)); d != "" {
				return fmt.Sprintf("trying %s changes the state: %s", j.ID, d)
			}
		}
		kept, searched := ranked(st)
		if d := difference(kept, searched); d != "" {
			return "a ranking is not that of a search: " + d
		}
		if again := cycle.Run(st, clock); !reflect.DeepEqual(plan, again) {
			return "the same again gives another plan: " + brief(plan) + " / " + brief(again)
		}
		if w.text() != snap {
			return "the snapshot was changed"
		}
		return ""
	})
}

func TestPlansAreRepeatable(t *testing.T) {
	t.Parallel()
	search(t, 800, func(w *world) string {
		want := cycle.Cycle(&w.Snap, w.Cfg)
		c := w.clone()
		r := rand.New(rand.NewPCG(uint64(len(w.text())), 3))
		s := &c.Snap
		r.Shuffle(len(s.Nodes), func(i, j int) { s.Nodes[i], s.Nodes[j] = s.Nodes[j], s.Nodes[i] })
		r.Shuffle(len(s.Queues), func(i, j int) { s.Queues[i], s.Queues[j] = s.Queues[j], s.Queues[i] })
		r.Shuffle(len(s.Jobs), func(i, j int) { s.Jobs[i], s.Jobs[j] = s.Jobs[j], s.Jobs[i] })
		if got := cycle.Cycle(s, c.Cfg); !reflect.DeepEqual(got, want) {
			return fmt.Sprintf("%s\nshuffled: %s", brief(want), brief(got))
		}
		return ""
	})
}

// TestEditedStatesAreAsLoaded edits a state at random, and compares its plans
// with those of a state that was loaded with the outcome.
func TestEditedStatesAreAsLoaded(t *testing.T) {
	t.Parallel()
	search(t, 400, func(w *world) string {
		r := rand.New(rand.NewPCG(uint64(len(w.text())), 5))
		c := w.clone()
		st := state.Load(&c.Snap, c.Cfg)
		for range 5 {
			what := edit(r, c, st)
			got := cycle.Run(st, clock)
			loaded := state.Load(&c.Snap, c.Cfg)
			want := cycle.Run(loaded, clock)
			if d := difference(said(loaded), said(st)); d != "" {
				return fmt.Sprintf("%s: loaded %s", what, d)
			}
			if !reflect.DeepEqual(got, want) {
				return fmt.Sprintf("%s: loaded %s\nedited %s", what, brief(want), brief(got))
			}
		}
		return ""
	})
}

// edit changes one thing in the snapshot and in the state.
func edit(r *rand.Rand, c *world, st *state.State) string {
	s := &c.Snap
	switch r.IntN(6) {
	case 0:
		if len(s.Jobs) == 0 {
			return "nothing"
		}
		i := r.IntN(len(s.Jobs))
		id := s.Jobs[i].ID
		st.DropJob(id)
		s.Jobs = slices.Delete(slices.Clone(s.Jobs), i, i+1)
		return "drop " + string(id)
	case 1:
		if len(s.Jobs) == 0 {
			return "nothing"
		}
		j := s.Jobs[r.IntN(len(s.Jobs))]
		j.ID, j.Held, j.Order, j.Started = core.WorkloadID(fmt.Sprintf("new%d", r.IntN(1000))), nil, 1000+r.Int64N(1000), 0
		if slices.ContainsFunc(s.Jobs, func(o schedule.Job) bool { return o.ID == j.ID || o.Order == j.Order }) {
			return "nothing"
		}
		st.PutJob(j)
		s.Jobs = append(slices.Clone(s.Jobs), j)
		return "put " + string(j.ID)
	case 2:
		i := r.IntN(len(s.Queues))
		s.Queues = slices.Clone(s.Queues)
		s.Queues[i].Default, s.Queues[i].Stopped, s.Queues[i].Age = schedule.Unlimited(), r.IntN(4) == 0, r.Int64N(3)
		st.SetQueues(s.Queues)
		return "set queue " + string(s.Queues[i].ID)
	case 3:
		i := r.IntN(len(s.Nodes))
		n := s.Nodes[i]
		n.Cordon, n.OtherCPU = r.IntN(2) == 0, int64(r.IntN(2))*1000
		s.Nodes = slices.Clone(s.Nodes)
		s.Nodes[i] = n
		st.PutNode(n)
		return "put node " + string(n.ID)
	case 4:
		if len(s.Nodes) < 2 {
			return "nothing"
		}
		i := r.IntN(len(s.Nodes))
		id := s.Nodes[i].ID
		st.DropNode(id)
		s.Nodes = slices.Delete(slices.Clone(s.Nodes), i, i+1)
		return "drop node " + string(id)
	default: // what a plan says takes effect
		l := &life{w: c, held: map[core.WorkloadID]int{}}
		p := cycle.Cycle(s, c.Cfg)
		s.Jobs = slices.Clone(s.Jobs)
		l.start(p)
		for _, pl := range p.Placements {
			st.PutJob(*l.job(pl.ID))
		}
		return "apply " + brief(p)
	}
}

// TestTimeIsNoticed lets time pass over a state to which nothing happens, and
// compares its plans with those of a state that has just been loaded.
func TestTimeIsNoticed(t *testing.T) {
	t.Parallel()
	search(t, 200, func(w *world) string {
		c := w.clone()
		r := rand.New(rand.NewPCG(uint64(len(w.text())), 9))
		if r.IntN(3) == 0 {
			c.Cfg.Quantum = 500
			for i := range c.Snap.Jobs {
				c.Snap.Jobs[i].Due = clock + r.Int64N(2000)
			}
		}
		for i := range c.Snap.Jobs { // mostly nothing to do but wait
			if j := &c.Snap.Jobs[i]; len(j.Held) == 0 {
				j.Patient = clock + r.Int64N(3000)
			}
		}
		st := state.Load(&c.Snap, c.Cfg)
		for now := clock; now < clock+4000; now += r.Int64N(400) {
			c.Snap.Now = now
			got, want := cycle.Run(st, now), cycle.Cycle(&c.Snap, c.Cfg)
			if !reflect.DeepEqual(got, want) {
				return fmt.Sprintf("after %d ms: loaded %s\nkept %s", now-clock, brief(want), brief(got))
			}
		}
		return ""
	})
}

// TestWhatIsBrokenTakesNothingFromTheRest: a device that fails under its task,
// and a node that others have filled beyond what it has, leave the rest free.
func TestWhatIsBrokenTakesNothingFromTheRest(t *testing.T) {
	t.Parallel()
	n := node("a", 4, 8000, 8*gib, "x")
	n.Devices[0].Healthy = false
	full := occupied(node("b", 0, 8000, 8*gib, ""), 0, 12_000, 0)
	st := state.Load(&schedule.Snapshot{Nodes: []schedule.Node{n, full}, Queues: []schedule.Queue{plainQueue("q", 1, quota.Unlimited)}, Jobs: []schedule.Job{
		run(waiter("j", 1, single(gpu(1))), schedule.Place{Node: "a", CPU: 1000, Devices: []core.Share{{Device: "a-0", Milli: 1000}}}),
	}}, schedule.Config{})
	cycle.Prepare(st)
	if want := (quota.Amounts{quota.GPU: 3000, quota.CPU: 7000, quota.Memory: 16 * gib}); st.Pools["default"].Free != want {
		t.Errorf("free: %v, want %v", st.Pools["default"].Free, want)
	}
	st.DropJob("j")
	if want := (quota.Amounts{quota.GPU: 3000, quota.CPU: 8000, quota.Memory: 16 * gib}); st.Pools["default"].Free != want {
		t.Errorf("once the task has gone: %v, want %v", st.Pools["default"].Free, want)
	}
}
