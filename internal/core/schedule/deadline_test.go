package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/explain"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// startOf is a world of one task's room, and who gets it at an instant.
func startOf(t *testing.T, now int64, jobs ...schedule.Job) string {
	t.Helper()
	s := &schedule.Snapshot{Now: now, Nodes: []schedule.Node{node("n", 0, 1000, 8<<30, "")}, Queues: []schedule.Queue{{ID: "q", Default: schedule.Unlimited()}}, Jobs: jobs}
	out := ""
	for _, p := range cycle.Cycle(s, Default()).Placements {
		out += string(p.ID)
	}
	return out
}

func due(id string, order int64, priority int, startBy int64) schedule.Job {
	j := waiter(id, order, single(schedule.Need{CPU: 1000}))
	j.Priority, j.StartBy = priority, startBy
	return j
}

func TestWhoMustStartSoonGoesFirst(t *testing.T) {
	t.Parallel()
	const at = int64(1_000_000_000)
	old, late, later := due("o", 1, 50, 0), due("l", 2, 50, at), due("m", 3, 50, at+60_000)
	important := due("p", 4, 90, 0)
	for _, c := range []struct {
		what string
		now  int64
		jobs []schedule.Job
		want string
	}{
		{"long before its latest start it is one like others", at - state.Slack - 1, []schedule.Job{old, late}, "o"},
		{"near it, it goes first", at - state.Slack, []schedule.Job{old, late}, "l"},
		{"of two the one that must start first", at - 1000, []schedule.Job{old, later, late}, "l"},
		{"at the last moment", at, []schedule.Job{old, late}, "l"},
		{"then it is lost, and holds up nobody", at + 1, []schedule.Job{old, late}, "o"},
		{"and the next that can be in time goes first", at + 1, []schedule.Job{old, late, later}, "m"},
		{"never before a higher priority", at - 1000, []schedule.Job{important, late}, "p"},
	} {
		if got := startOf(t, c.now, c.jobs...); got != c.want {
			t.Errorf("%s: %q starts, want %q", c.what, got, c.want)
		}
	}
}

func TestADeadlineDoesNotReachBeyondItsQueue(t *testing.T) {
	t.Parallel()
	const now = int64(1_000_000_000)
	a, b := due("a", 1, 50, 0), due("b", 2, 50, now+1000)
	b.Queue = "r"
	r := schedule.Queue{ID: "r", Default: schedule.Unlimited(), Age: 9}
	r.Default.Quota[0], r.Default.Quota[1], r.Default.Limit[1] = 0, 0, 500
	s := &schedule.Snapshot{Now: now, Nodes: []schedule.Node{node("n", 0, 4000, 8<<30, "")}, Queues: []schedule.Queue{{ID: "q", Default: schedule.Unlimited()}, r}, Jobs: []schedule.Job{a, b}}
	plan := cycle.Cycle(s, Default())
	if len(plan.Placements) != 1 || plan.Placements[0].ID != "a" {
		t.Errorf("%+v; want a alone: b is over its limit, whatever its deadline", plan.Placements)
	}
}

func TestPositionsKnowDeadlines(t *testing.T) {
	t.Parallel()
	const now = int64(1_000_000_000)
	holder := due("h", 1, 50, 0)
	holder.Held = []schedule.Held{{Need: schedule.Need{CPU: 1000}, Place: schedule.Place{Node: "n", CPU: 1000}}}
	holder.Shape, holder.Started = schedule.NewShape([]schedule.Set{{Parent: -1}}, []schedule.Group{{Min: 1}}), now-10_000
	s := &schedule.Snapshot{
		Now: now, Nodes: []schedule.Node{node("n", 0, 1000, 8<<30, "")}, Queues: []schedule.Queue{{ID: "q", Default: schedule.Unlimited()}},
		Jobs: []schedule.Job{holder, due("a", 2, 50, 0), due("b", 3, 50, now+5000), due("c", 4, 50, now+1000), due("d", 5, 50, now+2*state.Slack)},
	}
	st := state.Load(s, Default())
	want := map[core.WorkloadID][]core.WorkloadID{"c": nil, "b": {"c"}, "a": {"c", "b"}, "d": {"c", "b", "a"}}
	for id, ahead := range want {
		ex, _ := explain.Explain(st, now, id)
		if ex.Position != len(ahead)+1 || !slices.Equal(ex.Ahead, ahead) {
			t.Errorf("%s is #%d behind %v; want behind %v", id, ex.Position, ex.Ahead, ahead)
		}
	}
}

// TestDeadlinesAreNoticed gives random worlds random deadlines: what a state that
// was left alone plans at an instant is what a fresh one does, so that every
// instant at which the order changes is one at which it looks again.
func TestDeadlinesAreNoticed(t *testing.T) {
	t.Parallel()
	search(t, 300, func(w *world) string {
		r := rand.New(rand.NewPCG(uint64(len(w.Snap.Jobs)), 3))
		for i := range w.Snap.Jobs {
			if r.IntN(2) == 0 {
				w.Snap.Jobs[i].StartBy = clock + int64(r.IntN(3))*state.Slack + int64(r.IntN(5))*1000
			}
		}
		st := state.Load(&w.Snap, w.Cfg)
		for _, now := range []int64{clock, clock + 1000, clock + 3001, clock + state.Slack, clock + state.Slack + 4001, clock + 2*state.Slack + 1} {
			w.Snap.Now = now
			if got, want := fmt.Sprintf("%+v", cycle.Run(st, now)), fmt.Sprintf("%+v", cycle.Cycle(&w.Snap, w.Cfg)); got != want {
				return fmt.Sprintf("at %d the state that was kept plans %s, a fresh one %s", now-clock, got, want)
			}
		}
		return ""
	})
}
