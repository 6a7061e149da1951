package schedule_test

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/explain"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// noon is late enough for those who have waited for long.
const noon = 1000 * hour

// several are the first GPUs of a node.
func several(n int) []core.Share {
	var out []core.Share
	for i := range n {
		out = append(out, shares(i)...)
	}
	return out
}

// wasted is a node of 8 GPUs that work of queue a has used for so long, and a job of
// queue b that has waited for so long.
func wasted(t *testing.T, quotaOfB int64, ran, waited int64, change func(has, wants *schedule.Job)) *state.State {
	t.Helper()
	st := state.NewState(Default())
	for _, n := range nodes(1, 8) {
		st.PutNode(n)
	}
	st.SetQueues([]schedule.Queue{plainQueue("a", 1, 0), plainQueue("b", 2, quotaOfB)})
	wants := gpuJob("wants", "b", 2, 1, 4)
	wants.Since = noon - waited
	wants.Due = wants.Since + 12*hour
	has := gpuJob("has", "a", 1, 1, 8)
	has.Unsaved = true
	change(&has, &wants)
	has = run(has, schedule.Place{Node: nodes(1, 8)[0].ID, Devices: several(8), CPU: 1000, Memory: 1 << 30})
	has.Started = noon - ran
	st.PutJob(has)
	st.PutJob(wants)
	return st
}

// What makes no checkpoints is not made to begin anew for a better order; it is
// for what others are entitled to, and where next to nothing is lost.
func TestWhatIsNotSavedIsNotLostForOrder(t *testing.T) {
	t.Parallel()
	as := func(_, _ *schedule.Job) {}
	for about, c := range map[string]struct {
		quota, ran, waited int64
		change             func(has, wants *schedule.Job)
		leaves             bool
	}{
		"a fair share":                                  {0, 3 * hour, hour, as, false},
		"one whose patience is over":                    {0, 3 * hour, 20 * hour, as, false},
		"one that has waited for days":                  {0, 300 * hour, 200 * hour, as, false},
		"and for very much longer than it has run":      {0, hour, 500 * hour, as, true},
		"what has checkpoints leaves for a fair share":  {0, 3 * hour, hour, func(has, _ *schedule.Job) { has.Unsaved = false }, true},
		"what has hardly begun leaves":                  {0, 20_000, hour, as, true},
		"what b is entitled to":                         {4000, 3 * hour, 0, as, true},
		"half of what it asks for is no entitlement":    {2000, 3 * hour, hour, as, false},
		"more important work of the same project":       {0, 3 * hour, 0, func(_, wants *schedule.Job) { wants.Queue, wants.Priority = "a", 80 }, true},
		"patience of the same project":                  {0, 3 * hour, 20 * hour, func(_, wants *schedule.Job) { wants.Queue = "a" }, false},
		"patience of the same project, and checkpoints": {0, 3 * hour, 20 * hour, func(has, wants *schedule.Job) { wants.Queue, has.Unsaved = "a", false }, true},
		"it is not submitted: a fair share":             {0, 3 * hour, noon, as, false},
	} {
		st := wasted(t, c.quota, c.ran, c.waited, c.change)
		p := cycle.Run(st, noon)
		if got := len(p.Evictions) == 1; got != c.leaves {
			t.Errorf("%s: leaves %v, want %v: %s", about, got, c.leaves, brief(p))
		}
		if c.leaves {
			continue
		}
		ex, ok := explain.Explain(st, noon, "wants")
		if !ok || len(ex.Reasons) == 0 || ex.Reasons[0].Unsaved != 8000 || !strings.Contains(ex.Reasons[0].Hint(), "8 GPUs are held by work that makes no checkpoints") {
			t.Errorf("%s: %+v says nothing of it", about, ex.Reasons)
		}
	}
}

// Nor is it moved about, which begins it anew elsewhere.
func TestWhatIsNotSavedIsNotMoved(t *testing.T) {
	t.Parallel()
	for _, unsaved := range []bool{true, false} {
		st := state.NewState(Default())
		for _, n := range nodes(2, 4) {
			st.PutNode(n)
		}
		st.SetQueues([]schedule.Queue{plainQueue("q", 1, quota.Unlimited)})
		for i, id := range []string{"one", "two"} {
			j := gpuJob(id, "q", int64(i), 1, 2)
			j.Unsaved = unsaved
			j = run(j, schedule.Place{Node: nodes(2, 4)[i].ID, Devices: several(2), CPU: 1000, Memory: 1 << 30})
			j.Started = noon - 3*hour
			st.PutJob(j)
		}
		whole := gpuJob("whole", "q", 9, 1, 4)
		whole.Since = noon - hour
		st.PutJob(whole)
		if p := cycle.Run(st, noon); (len(p.Evictions) == 0) != unsaved {
			t.Errorf("unsaved %v: %s", unsaved, brief(p))
		}
	}
}
