package engine_test

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/estimate"
)

// TestEstimatesInABusyQueue: users submit work of several sizes and lengths all
// day, more than there is room for at times, and each asks at once when it will
// start. Who comes later is not known to an estimate, nor how long this run will
// take; still most ranges must be right, and be worth having.
func TestEstimatesInABusyQueue(t *testing.T) {
	for _, c := range []struct {
		name   string
		sigma  float64 // of the logarithms of the lengths within a class
		mixed  bool    // priorities, of which the higher displace the lower
		inside float64 // at least
		wide   float64 // at most: the median range, in median waits
	}{
		{"lengths alike", .5, false, .8, 2.6},
		{"lengths of all kinds", 1.5, false, .78, 3.6},
		{"priorities", .5, true, .82, 0}, // most start at once: no measure
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := busyQueue(t, c.sigma, c.mixed)
			inside := float64(b.inside) / float64(max(b.asked, 1))
			t.Logf("%d asked, %.0f %% inside, median width %v, median wait %v", b.asked, 100*inside, b.width, b.wait)
			if b.asked < 60 || inside < c.inside {
				t.Errorf("%.0f %% of %d ranges were right, want %.0f %%", 100*inside, b.asked, 100*c.inside)
			}
			if c.wide > 0 && float64(b.width) > c.wide*float64(b.wait) {
				t.Errorf("the ranges are %v wide where the wait is %v (medians)", b.width, b.wait)
			}
			if c.sigma < 1 && b.mean > 8*time.Hour { // lengths that spread so far leave wide ranges
				t.Errorf("the ranges are %v wide in the mean", b.mean)
			}
			if b.score.Of() < 60 || float64(b.score.Inside) < .7*float64(b.score.Of()) {
				t.Errorf("%+v: too few ranges were right", b.score)
			}
			// What the server says of itself is what came.
			if s := b.score; s.Of() < b.asked/2 || math.Abs(float64(s.Inside)/float64(s.Of())-inside) > .15 {
				t.Errorf("it says %+v of itself", s)
			}
		})
	}
}

// busy is what came of the estimates of a busy queue.
type busy struct {
	asked, inside int
	width, wait   time.Duration // medians
	mean          time.Duration // width
	score         estimate.Score
}

func busyQueue(t *testing.T, sigma float64, mixed bool) busy {
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
	type guess struct {
		id               core.WorkloadID
		now, early, late int64
	}
	var guesses []guess
	began := map[core.WorkloadID]int64{}
	at := map[core.WorkloadID]int{} // attempts
	seen := func(id core.TaskID, state core.TaskState) {
		o := backend.Observation{ID: id, State: state, At: s.now}
		if code := 0; state != core.TaskRunning {
			o.ExitCode = &code
		}
		s.do(engine.Observe(engine.Observations{Backend: "p", Seen: []backend.Observation{o}}))
	}
	settle := func() { // the backend does what it is told to at once
		for todo := s.e.TakeActions(); len(todo) > 0; todo = s.e.TakeActions() {
			for _, a := range todo {
				switch a.Kind {
				case draft.ActStart:
					id := a.Assignment.ID
					if _, ok := began[id.Workload]; !ok {
						began[id.Workload] = s.now.UnixMilli()
					}
					at[id.Workload], ends[id.Workload] = id.Attempt, s.now.Add(length[id.Workload])
					seen(id, core.TaskRunning)
				case draft.ActStop:
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
	for i := range 260 {
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
		priority := "medium"
		if mixed {
			priority = []string{"low", "medium", "medium", "high"}[r.Intn(4)]
		}
		w := s.run(fmt.Sprintf(`{"namePrefix":%q,"command":["fake"],"priority":%q,"resources":{"gpu":%d,"cpu":1}}`, u.name, priority, u.gpus))
		length[w.ID] = time.Duration(float64(u.mean) * math.Exp(r.NormFloat64()*sigma-sigma*sigma/2))
		live = append(live, w)
		if i > 60 { // it has seen some
			if y := s.why(w); y.Waits && y.Position > 0 && y.Forecast.Early > 0 && y.Forecast.Late > 0 {
				guesses = append(guesses, guess{w.ID, s.now.UnixMilli(), y.Forecast.Early, y.Forecast.Late})
			}
		}
		settle()
	}
	var out busy
	var widths, waits []int64
	for _, g := range guesses {
		start, ok := began[g.id]
		if !ok {
			continue
		}
		out.asked++
		out.inside += bitOf(start >= g.early-2000 && start <= g.late+2000)
		widths, waits = append(widths, g.late-g.early), append(waits, start-g.now)
	}
	for _, w := range widths {
		out.mean += time.Duration(w) * time.Millisecond / time.Duration(len(widths))
	}
	slices.Sort(widths)
	slices.Sort(waits)
	if len(waits) > 0 {
		out.width, out.wait = time.Duration(widths[len(widths)/2])*time.Millisecond, time.Duration(waits[len(waits)/2])*time.Millisecond
	}
	out.score = s.why(live[0]).Score
	return out
}

func bitOf(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
