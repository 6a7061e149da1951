package engine_test

import (
	"testing"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/engine/report"
)

// What is taken away one time after another is placed again after a pause that
// grows; what had run well before is placed again at once.
func TestPausesGrowOnlyFromOneLossToTheNext(t *testing.T) {
	for ran, longer := range map[time.Duration]bool{5 * time.Second: true, 20 * time.Minute: false} {
		s := newShift(t, 1)
		w := s.run(`{"command":["fake"],"resources":{"gpu":1},"retry":{"system":5}}`)
		var pauses []time.Duration
		for attempt := range 4 {
			id := core.TaskID{Workload: w.ID, Attempt: attempt}
			see := func(state core.TaskState, reason string) {
				s.do(engine.Observe(engine.Observations{Backend: "p", Seen: []backend.Observation{{ID: id, State: state, Reason: reason, At: s.now}}}))
			}
			see(core.TaskRunning, "")
			s.now = s.now.Add(ran)
			see(core.TaskFailed, "SystemFailure")
			at := s.e.NextWake()
			pauses = append(pauses, at.Sub(s.now))
			s.now = at
			s.do(report.Cluster())
		}
		if grown := pauses[3] > 2*pauses[0]; grown != longer {
			t.Errorf("after runs of %v the pauses were %v", ran, pauses)
		}
	}
}
