package control_test

import (
	"fmt"
	"math"
	"math/rand"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/plane"
)

// TestEstimatesInABusyQueue: users submit work of several sizes and lengths all
// day, more than there is room for at times, and each asks at once when it will
// start. Who comes later is not known to an estimate, nor how long this run will
// take; still most ranges must be right, and be worth having.
func TestEstimatesInABusyQueue(t *testing.T) {
	s := newShift(t, 2)
	r := rand.New(rand.NewSource(11))
	users := []struct {
		name string
		gpus int
		mean time.Duration
	}{{"tune", 1, 20 * time.Minute}, {"train", 2, 90 * time.Minute}, {"eval", 4, 40 * time.Minute}}
	ends := map[core.WorkloadID]time.Time{}
	length := map[core.WorkloadID]time.Duration{}
	var live []*core.Workload
	var widths time.Duration
	asked := 0
	at := map[core.WorkloadID]int{} // attempts
	seen := func(id core.TaskID, state core.TaskState) {
		o := plane.Observation{ID: id, State: state, At: s.now}
		if code := 0; state != core.TaskRunning {
			o.ExitCode = &code
		}
		s.do(control.Observe(control.Observations{Plane: "p", Seen: []plane.Observation{o}}))
	}
	settle := func() { // the plane does what it is told to at once
		for todo := s.e.TakeActions(); len(todo) > 0; todo = s.e.TakeActions() {
			for _, a := range todo {
				switch a.Kind {
				case control.ActStart:
					id := a.Assignment.ID
					at[id.Workload], ends[id.Workload] = id.Attempt, s.now.Add(length[id.Workload])
					seen(id, core.TaskRunning)
				case control.ActStop:
					delete(ends, a.Task.Workload)
					seen(a.Task, core.TaskFailed)
				}
			}
		}
	}
	next := func() (first *core.Workload) {
		for _, w := range live {
			if e, ok := ends[w.ID]; ok && (first == nil || e.Before(ends[first.ID])) {
				first = w
			}
		}
		return first
	}
	for i := range 250 {
		arrival := s.now.Add(time.Duration(r.ExpFloat64() * float64(19*time.Minute)))
		for w := next(); w != nil && !ends[w.ID].After(arrival); w = next() {
			s.now = ends[w.ID]
			delete(ends, w.ID)
			seen(core.TaskID{Workload: w.ID, Attempt: at[w.ID]}, core.TaskSucceeded)
			for k := range live {
				if live[k].ID == w.ID {
					live = append(live[:k], live[k+1:]...)
					break
				}
			}
			settle()
		}
		s.now = arrival
		u := users[r.Intn(len(users))]
		w := s.run(fmt.Sprintf(`{"namePrefix":%q,"command":["fake"],"resources":{"gpu":%d,"cpu":1}}`, u.name, u.gpus))
		length[w.ID] = time.Duration(float64(u.mean) * math.Exp(r.NormFloat64()*.5))
		live = append(live, w)
		if i > 60 { // it has seen some
			if y := s.why(w); y.Waits && y.Position > 0 && y.Forecast.Early > 0 && y.Forecast.Late > 0 {
				asked++
				widths += time.Duration(y.Forecast.Late-y.Forecast.Early) * time.Millisecond
			}
		}
		settle()
	}
	score := s.do(control.StudyOf(control.Ref{ID: live[0].ID})).(*control.Study).Answer().Score
	t.Logf("%d asked, %+v, %v wide on average", asked, score, widths/time.Duration(max(asked, 1)))
	if score.Of() < 60 || float64(score.Inside) < .7*float64(score.Of()) {
		t.Errorf("%+v: too few ranges were right", score)
	}
	if mean := widths / time.Duration(max(asked, 1)); mean > 8*time.Hour {
		t.Errorf("the ranges are %v wide", mean)
	}
}
