package schedule_test

import (
	"fmt"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/explain"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

func TestForemostAreTheFirstOfEveryQueue(t *testing.T) {
	t.Parallel()
	s := &schedule.Snapshot{Nodes: []schedule.Node{node("n", 8, 64_000, 64*gib, "A100")}}
	for q, waiting := range []int{7, 1, 12} {
		name := core.ProjectID(fmt.Sprint("q", q))
		s.Queues = append(s.Queues, schedule.Queue{ID: name, Default: schedule.Unlimited()})
		for i := range waiting {
			// Of two shapes and three priorities, not in their order: several job classes of each queue.
			s.Jobs = append(s.Jobs, schedule.Job{
				ID: core.WorkloadID(fmt.Sprintf("%s-%d", name, i)), Queue: name, Priority: 50 + i*5%3, Preemptible: true, Order: int64(100 - i), Shape: single(gpu(9 + i%2)),
			})
		}
	}
	st := state.Load(s, schedule.Config{})
	for _, c := range []struct {
		n    int
		want map[string]int // of each queue
	}{
		{20, map[string]int{"q0": 7, "q1": 1, "q2": 12}},
		{1000, map[string]int{"q0": 7, "q1": 1, "q2": 12}},
		{11, map[string]int{"q0": 5, "q1": 1, "q2": 5}},
		{17, map[string]int{"q0": 7, "q1": 1, "q2": 9}},
		{2, map[string]int{"q0": 1, "q1": 1}},
		{0, map[string]int{}},
	} {
		got := map[string]int{}
		for _, id := range st.Foremost(c.n) {
			queue := string(id[:2])
			got[queue]++
			ex, ok := explain.Explain(st, 0, id)
			if !ok || ex.Position != got[queue] {
				t.Errorf("of %d: %s comes as number %d of its queue, and has place %d (%t)", c.n, id, got[queue], ex.Position, ok)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("of %d: %v, want %v", c.n, got, c.want)
		}
	}
}
