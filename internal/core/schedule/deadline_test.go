package schedule

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/musterhq/muster/internal/core"
)

// startOf is a world of one task's room, and who gets it at an instant.
func startOf(t *testing.T, now int64, jobs ...Job) string {
	t.Helper()
	s := &Snapshot{Now: now, Nodes: []Node{node("n", 0, 1000, 8<<30, "")}, Queues: []Queue{{ID: "q", Default: Unlimited()}}, Jobs: jobs}
	out := ""
	for _, p := range Cycle(s, Default()).Placements {
		out += string(p.ID)
	}
	return out
}

func due(id string, order int64, priority int, startBy int64) Job {
	j := waiter(id, order, single(Need{CPU: 1000}))
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
		jobs []Job
		want string
	}{
		{"long before its latest start it is one like others", at - Slack - 1, []Job{old, late}, "o"},
		{"near it, it goes first", at - Slack, []Job{old, late}, "l"},
		{"of two the one that must start first", at - 1000, []Job{old, later, late}, "l"},
		{"at the last moment", at, []Job{old, late}, "l"},
		{"then it is lost, and holds up nobody", at + 1, []Job{old, late}, "o"},
		{"and the next that can be in time goes first", at + 1, []Job{old, late, later}, "m"},
		{"never before a higher priority", at - 1000, []Job{important, late}, "p"},
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
	r := Queue{ID: "r", Default: Unlimited(), Age: 9}
	r.Default.Quota[0], r.Default.Quota[1], r.Default.Limit[1] = 0, 0, 500
	s := &Snapshot{Now: now, Nodes: []Node{node("n", 0, 4000, 8<<30, "")}, Queues: []Queue{{ID: "q", Default: Unlimited()}, r}, Jobs: []Job{a, b}}
	plan := Cycle(s, Default())
	if len(plan.Placements) != 1 || plan.Placements[0].ID != "a" {
		t.Errorf("%+v; want a alone: b is over its limit, whatever its deadline", plan.Placements)
	}
}

func TestPositionsKnowDeadlines(t *testing.T) {
	t.Parallel()
	const now = int64(1_000_000_000)
	holder := due("h", 1, 50, 0)
	holder.Held = []Held{{Need: Need{CPU: 1000}, Place: Place{Node: "n", CPU: 1000}}}
	holder.Shape, holder.Started = NewShape([]Set{{Parent: -1}}, []Group{{Min: 1}}), now-10_000
	s := &Snapshot{
		Now: now, Nodes: []Node{node("n", 0, 1000, 8<<30, "")}, Queues: []Queue{{ID: "q", Default: Unlimited()}},
		Jobs: []Job{holder, due("a", 2, 50, 0), due("b", 3, 50, now+5000), due("c", 4, 50, now+1000), due("d", 5, 50, now+2*Slack)},
	}
	st := Load(s, Default())
	want := map[core.WorkloadID][]core.WorkloadID{"c": nil, "b": {"c"}, "a": {"c", "b"}, "d": {"c", "b", "a"}}
	for id, ahead := range want {
		ex, _ := st.Explain(now, id)
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
				w.Snap.Jobs[i].StartBy = clock + int64(r.IntN(3))*Slack + int64(r.IntN(5))*1000
			}
		}
		st := Load(&w.Snap, w.Cfg)
		for _, now := range []int64{clock, clock + 1000, clock + 3001, clock + Slack, clock + Slack + 4001, clock + 2*Slack + 1} {
			w.Snap.Now = now
			if got, want := fmt.Sprintf("%+v", st.Cycle(now)), fmt.Sprintf("%+v", Cycle(&w.Snap, w.Cfg)); got != want {
				return fmt.Sprintf("at %d the state that was kept plans %s, a fresh one %s", now-clock, got, want)
			}
		}
		return ""
	})
}
