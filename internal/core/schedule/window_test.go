package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/explain"
	"github.com/musterhq/muster/internal/core/schedule/forecast"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// inTime checks that a job that starts on a node keeps to the node's windows,
// by what they mean and not by how a state remembers it.
func (g *judge) inTime(j *schedule.Job, node core.NodeID) {
	now, named := g.w.Snap.Now, false
	for i := range g.w.Snap.Windows {
		w := &g.w.Snap.Windows[i]
		start, _, ok := w.At(now)
		on := slices.Contains(w.Nodes, node)
		if own := g.owns(j, w); own {
			named = named || w.Name == j.Window && on && ok && start <= now
			continue
		}
		switch {
		case !on || !ok:
		case start <= now:
			g.fault("%s starts on %s, which %s keeps", j.ID, node, w.Name)
		case (!j.Preemptible || w.Leave) && (j.MaxRun == 0 || now+j.MaxRun > start):
			g.fault("%s starts on %s and runs into %s", j.ID, node, w.Name)
		}
	}
	if j.Window != "" && !named {
		g.fault("%s starts on %s and not in %s", j.ID, node, j.Window)
	}
}

// owns reports whether the window is for the job.
func (g *judge) owns(j *schedule.Job, w *schedule.Window) bool {
	if w.Closed || j.Window != w.Name && (j.Window != "" || !w.Open) || len(w.Users) > 0 && !slices.Contains(w.Users, j.User) {
		return false
	}
	for q := j.Queue; q != ""; q = g.before.queue[q].Parent {
		if slices.Contains(w.Queues, q) {
			return true
		}
	}
	return len(w.Queues) == 0
}

// vacated checks that who leaves for a window is on its nodes, and may be told to.
func (g *judge) vacated(j *schedule.Job, e *schedule.Eviction) {
	if !j.Preemptible {
		g.fault("%s is not preemptible and leaves for %s", j.ID, e.Window)
	}
	for i := range g.w.Snap.Windows {
		w := &g.w.Snap.Windows[i]
		start, _, ok := w.At(g.w.Snap.Now)
		if w.Name != e.Window || !ok || start > g.w.Snap.Now || w.Leave || g.owns(j, w) {
			continue
		}
		if slices.ContainsFunc(j.Held, func(h schedule.Held) bool { return !h.Leaving && slices.Contains(w.Nodes, h.Place.Node) }) {
			return
		}
	}
	g.fault("%s leaves for %q, which does not need it to", j.ID, e.Window)
}

// windowed puts windows into a world, and has some of its jobs name one.
func windowed(w *world) *world {
	c := w.clone()
	r := rand.New(rand.NewPCG(uint64(len(w.text())), 31))
	for i := range 1 + r.IntN(3) {
		x := schedule.Window{
			Name: fmt.Sprintf("w%d", i), Start: clock + 500*int64(r.IntN(9)-4), Length: 500 * int64(1+r.IntN(4)),
			Closed: r.IntN(3) == 0, Open: r.IntN(3) == 0, Leave: r.IntN(4) == 0,
		}
		if r.IntN(3) == 0 {
			x.Every = x.Length + 500*int64(r.IntN(3))
		}
		for _, n := range c.Snap.Nodes {
			if r.IntN(2) == 0 {
				x.Nodes = append(x.Nodes, n.ID)
			}
		}
		if r.IntN(2) == 0 {
			x.Queues = []core.ProjectID{c.Snap.Queues[r.IntN(len(c.Snap.Queues))].ID}
		}
		if r.IntN(3) == 0 {
			x.Users = []string{"ann"}
		}
		slices.Sort(x.Nodes)
		c.Snap.Windows = append(c.Snap.Windows, x)
	}
	for i := range c.Snap.Jobs {
		j := &c.Snap.Jobs[i]
		if r.IntN(3) == 0 {
			j.Window = fmt.Sprintf("w%d", r.IntN(4))
		}
		if r.IntN(2) == 0 {
			j.MaxRun = 300 * int64(1+r.IntN(8))
		}
	}
	return c
}

func TestPlansKeepToWindows(t *testing.T) {
	t.Parallel()
	search(t, 1500, func(w *world) string {
		c := windowed(w)
		return strings.Join(judged(c, cycle.Cycle(&c.Snap, c.Cfg)), "; ")
	})
}

// TestWindowsAreNoticed lets time pass over a state with windows to which
// nothing happens, sets windows anew on the way, and compares its plans with
// those of a state that has just been loaded.
func TestWindowsAreNoticed(t *testing.T) {
	t.Parallel()
	search(t, 200, func(w *world) string {
		c := windowed(w)
		r := rand.New(rand.NewPCG(uint64(len(w.text())), 9))
		st := state.Load(&c.Snap, c.Cfg)
		for now := clock; now < clock+4000; now += r.Int64N(300) {
			if r.IntN(6) == 0 {
				c.Snap.Windows = windowed(w).Snap.Windows[:r.IntN(2)]
				st.SetWindows(c.Snap.Windows)
			}
			c.Snap.Now = now
			got, want := cycle.Run(st, now), cycle.Cycle(&c.Snap, c.Cfg)
			if !reflect.DeepEqual(got, want) {
				return fmt.Sprintf("after %d ms: loaded %s\nkept %s", now-clock, brief(want), brief(got))
			}
		}
		return ""
	})
}

// kept is one node of 8 GPUs, with a window of two hours that begins in an hour.
func kept(change func(*schedule.Window)) *schedule.Snapshot {
	w := schedule.Window{Name: "maint", Start: clock + hour, Length: 2 * hour, Nodes: []core.NodeID{"n1"}, Closed: true}
	if change != nil {
		change(&w)
	}
	return &schedule.Snapshot{Now: clock, Nodes: []schedule.Node{node("n1", 8, 64000, 256*gib, "H100")}, Queues: []schedule.Queue{{ID: "q", Default: schedule.Unlimited()}, {ID: "p", Default: schedule.Unlimited()}}, Windows: []schedule.Window{w}}
}

func TestOnlyWhatEndsInTimeStartsBeforeAWindow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		preemptible bool
		maxRun      int64
		leave       bool
		starts      bool
	}{
		{"no known end", false, 0, false, false},
		{"ends after it begins", false, hour + 1, false, false},
		{"ends as it begins", false, hour, false, true},
		{"makes room", true, 0, false, true},
		{"would be left there", true, 0, true, false},
	} {
		s := kept(func(w *schedule.Window) { w.Leave = c.leave })
		j := waiter("a", 1, single(gpu(1)))
		j.Preemptible, j.MaxRun = c.preemptible, c.maxRun
		s.Jobs = []schedule.Job{j}
		if p := cycle.Cycle(s, schedule.Config{}); len(p.Placements) > 0 != c.starts {
			t.Errorf("%s: %s", c.name, brief(p))
		}
	}
}

func TestAWindowEmptiesItsNodesForItsOwn(t *testing.T) {
	t.Parallel()
	s := kept(func(w *schedule.Window) {
		w.Start, w.Closed, w.Queues = clock, false, []core.ProjectID{"p"}
	})
	s.Nodes = append(s.Nodes, node("n2", 8, 64000, 256*gib, "H100"))
	at := func(id, node string, order int64) schedule.Job {
		j := runs(id, order, node, 0)
		j.Queue, j.Preemptible = "q", true
		j.Held[0].Place.Devices[0].Device = fmt.Sprintf("%s-%d", node, order-1)
		return j
	}
	stranger, fixed, beside := at("stranger", "n1", 1), at("fixed", "n1", 2), at("beside", "n2", 3)
	fixed.Preemptible = false
	own := waiter("own", 4, single(gpu(7)))
	own.Queue, own.Window = "p", "maint"
	foreign := waiter("foreign", 5, single(gpu(1)))
	foreign.Window = "maint"
	s.Jobs = []schedule.Job{stranger, fixed, beside, own, foreign}
	p := cycle.Cycle(s, schedule.Config{})
	if len(p.Evictions) != 1 || p.Evictions[0].ID != "stranger" || p.Evictions[0].Cause != schedule.Reserve || p.Evictions[0].Window != "maint" {
		t.Fatalf("evictions: %+v", p.Evictions)
	}
	if len(p.Placements) != 0 || len(p.Promises) != 1 || p.Promises[0].ID != "own" {
		t.Fatalf("the room of those who leave is its own's: %s", brief(p))
	}
	if got := texts(t, &schedule.Snapshot{Now: s.Now, Nodes: s.Nodes, Queues: s.Queues, Windows: s.Windows, Jobs: []schedule.Job{foreign}}, "foreign"); !strings.Contains(got, "it is to run in reservation maint, and it is not for this project and user") {
		t.Errorf("foreign: %s", got)
	}
}

func TestWhyNamesTheWindow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*schedule.Window)
		job    func(*schedule.Job)
		want   string
	}{
		{"no end", nil, func(j *schedule.Job) { j.Preemptible = false },
			"reservation maint keeps 1 node with room for it, from Thu 1970-01-01 01:16 UTC until Thu 1970-01-01 03:16 UTC, and nobody knows when it would end"},
		{"too long", nil, func(j *schedule.Job) { j.Preemptible, j.MaxRun = false, 5*hour },
			"reservation maint keeps 1 node with room for it, from Thu 1970-01-01 01:16 UTC until Thu 1970-01-01 03:16 UTC, and it may run for 5h0m0s"},
		{"begun", func(w *schedule.Window) { w.Start = clock - hour }, nil,
			"reservation maint keeps 1 node with room for it, from Wed 1969-12-31 23:16 UTC until Thu 1970-01-01 01:16 UTC"},
		{"its own, before", func(w *schedule.Window) { w.Closed = false }, func(j *schedule.Job) { j.Window = "maint" },
			"it is to run in reservation maint, which is from Thu 1970-01-01 01:16 UTC until Thu 1970-01-01 03:16 UTC"},
		{"unknown", nil, func(j *schedule.Job) { j.Window = "other" }, "it is to run in reservation other, and it does not exist"},
		{"over", func(w *schedule.Window) { w.Start = clock - 3*hour }, func(j *schedule.Job) { j.Window = "maint" }, "it is to run in reservation maint, and it is over"},
	} {
		s := kept(c.change)
		j := waiter("a", 1, single(gpu(1)))
		if c.job != nil {
			c.job(&j)
		}
		s.Jobs = []schedule.Job{j}
		st := state.Load(s, schedule.Config{})
		ex, ok := explain.Explain(st, s.Now, "a")
		if !ok || len(ex.Reasons) == 0 || ex.Reasons[0].String() != c.want {
			t.Errorf("%s: %v %v", c.name, ok, ex.Reasons)
		}
	}
}

func TestAForecastKnowsWhenAWindowEnds(t *testing.T) {
	t.Parallel()
	s := kept(func(w *schedule.Window) { w.Every = 4 * hour })
	j := waiter("a", 1, single(gpu(1)))
	j.Preemptible, j.MaxRun = false, 2*hour
	s.Jobs = []schedule.Job{j}
	if f := forecast.Of(state.Load(s, schedule.Config{}).Copy(s.Now, nil), "a", nil); f.Likely != clock+3*hour {
		t.Errorf("%+v, want a start at the end of the window", f)
	}
}

func TestTimesOfAWindow(t *testing.T) {
	t.Parallel()
	w := schedule.Window{Start: 1000, Length: 100, Every: 1000}
	for now, want := range map[int64]int64{0: 1000, 1000: 1000, 1099: 1000, 1100: 2000, 2000: 2000, 2100: 3000, 9999: 10000} {
		if start, end, ok := w.At(now); start != want || end != want+100 || !ok {
			t.Errorf("at %d: %d to %d, %v; want %d", now, start, end, ok, want)
		}
	}
	w.Every = 0
	if _, _, ok := w.At(1100); ok {
		t.Error("it is over, and has another time")
	}
}
