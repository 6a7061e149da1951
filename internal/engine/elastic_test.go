package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/engine/report"
)

// pass lets time go by, and does what is due then.
func (s *shift) pass(d time.Duration) {
	s.t.Helper()
	s.now = s.now.Add(d)
	s.do(report.Cluster())
}

// workers are the tasks of w that are not leaving it, by index.
func (s *shift) workers(w *core.Workload) map[int]core.Task {
	s.t.Helper()
	live, err := s.st.Live(context.Background())
	if err != nil {
		s.t.Fatal(err)
	}
	out := map[int]core.Task{}
	for _, e := range live {
		for _, t := range e.Tasks {
			if e.Workload.ID == w.ID && !t.Leaving {
				out[t.ID.Index] = t
			}
		}
	}
	return out
}

// tell is what the backend says of the task of that index.
func (s *shift) tell(w *core.Workload, index int, state core.TaskState) {
	s.t.Helper()
	s.do(engine.Observe(engine.Observations{Backend: "p", Seen: []backend.Observation{{ID: core.TaskID{Workload: w.ID, Index: index}, State: state, At: s.now}}}))
}

// settle plays the backend until every worker of w runs: what is told to end ends,
// what is started runs.
func (s *shift) settle(w *core.Workload) {
	s.t.Helper()
	for range 10 {
		s.pass(2 * time.Second)
		all := true
		for index, t := range s.workers(w) {
			switch t.State {
			case core.TaskStopping:
				s.tell(w, index, core.TaskFailed)
			case core.TaskStarting:
				s.tell(w, index, core.TaskRunning)
			case core.TaskRunning:
				continue
			}
			all = false
		}
		if all {
			return
		}
	}
	s.t.Fatalf("%s does not come to rest: %+v", w.Name, s.workers(w))
}

// A gang that is restarted in another size rests before it takes more; one
// whose ranks live on does not, and a server that starts anew knows how long.
func TestAGangRestsBetweenGrowths(t *testing.T) {
	rest := time.Duration(schedule.NewPolicy().MoveRest) * time.Millisecond
	for resize, waits := range map[string]bool{"restart": true, "live": false} {
		t.Run(resize, func(t *testing.T) {
			s := newShift(t, 3)
			var others []*core.Workload
			for _, name := range []string{"a", "b"} {
				w := s.run(`{"name":"` + name + `","command":["fake"],"resources":{"gpu":4,"cpu":1}}`)
				s.report(w, core.TaskRunning)
				others = append(others, w)
			}
			gang := s.run(`{"name":"gang","kind":"distributed","workers":3,"minWorkers":1,"resize":"` + resize + `","command":["fake"],"resources":{"gpu":4,"cpu":1}}`)
			s.settle(gang)
			if got := len(s.workers(gang)); got != 1 {
				t.Fatalf("it starts with %d workers, want the 1 that there is room for", got)
			}
			s.pass(time.Second)
			s.report(others[0], core.TaskSucceeded)
			s.settle(gang)
			if got := s.workers(gang); len(got) != 2 || got[0].RestartedAt.IsZero() == waits {
				t.Fatalf("with room for another it is %+v, want 2 workers and the first restarted: %v", got, waits)
			}
			restarted := s.workers(gang)[0].RestartedAt
			s.report(others[1], core.TaskSucceeded)
			if !waits {
				if got := len(s.workers(gang)); got != 3 {
					t.Fatalf("it has %d workers, want 3: nobody is restarted for it", got)
				}
				return
			}
			for _, again := range []bool{false, true} {
				if again {
					s.start()
				}
				s.pass(restarted.Add(rest - 5*time.Minute).Sub(s.now))
				if got := len(s.workers(gang)); got != 2 {
					t.Fatalf("it has %d workers %v after a restart (of the server: %v), want 2", got, s.now.Sub(restarted), again)
				}
			}
			for s.now.Before(restarted.Add(rest)) { // only when the engine wants to be woken
				if got := len(s.workers(gang)); got != 2 {
					t.Fatalf("it has %d workers %v after a restart, want 2", got, s.now.Sub(restarted))
				}
				at := s.e.NextWake()
				if !at.After(s.now) {
					t.Fatalf("at %v the engine wakes at %v", s.now, at)
				}
				s.now = at
				s.e.Do(context.Background(), s.now, nil)
			}
			if !s.now.Equal(restarted.Add(rest)) {
				t.Errorf("the engine wakes at %v, want the end of the rest at %v", s.now, restarted.Add(rest))
			}
			if got := s.workers(gang); len(got) != 3 || got[0].State != core.TaskStopping {
				t.Fatalf("rested, it is %+v, want 3 workers and the others told to end", got)
			}
			s.settle(gang)
			if got := s.workers(gang); got[0].Restarts != 2 || got[1].Restarts != 1 || got[2].Restarts != 0 {
				t.Errorf("%+v, want the first restarted twice in all, the second once", got)
			}
		})
	}
}
