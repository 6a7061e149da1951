package schedule_test

import (
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/explain"
	"github.com/musterhq/muster/internal/core/schedule/forecast"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// utterance is everything that the scheduler says of one world.
type utterance struct {
	plans, reasons, forecasts strings.Builder
}

// plan writes down all of a plan.
func (o *utterance) plan(now int64, p *schedule.Plan) {
	if len(p.Evictions)+len(p.Placements)+len(p.Promises)+len(p.Bookings) == 0 {
		return
	}
	fmt.Fprintf(&o.plans, "at %d\n", now)
	for _, e := range p.Evictions {
		fmt.Fprintf(&o.plans, "  leaves %+v\n", e)
	}
	for _, pl := range p.Placements {
		fmt.Fprintf(&o.plans, "  starts %+v\n", pl)
	}
	for _, pl := range p.Promises {
		fmt.Fprintf(&o.plans, "  is promised %+v\n", pl)
	}
	for _, b := range p.Bookings {
		fmt.Fprintf(&o.plans, "  is booked %+v\n", b)
	}
}

func (o *utterance) because(all []schedule.Reason) {
	for _, r := range all {
		fmt.Fprintf(&o.reasons, "    %s: %s; %s (%s, hopeless %v)\n", r.Token, r, r.Hint(), r.Act(), r.Hopeless())
	}
}

// why writes down what a job waits for, and what would be if it asked for other
// things.
func (o *utterance) why(st *state.State, now int64, j *schedule.Job) {
	ex, ok := explain.Explain(st, now, j.ID)
	fmt.Fprintf(&o.reasons, "  %s: %v position %d of %d after %v, checked %v, from %d\n", j.ID, ok, ex.Position, ex.Waiting, ex.Ahead, ex.Checked, ex.EarliestStart)
	o.because(ex.Reasons)
	trial := explain.Try(st, now, *j)
	fmt.Fprintf(&o.reasons, "   would start %v %v in %s on %v for %v\n", trial.Now, trial.Later, trial.Pool, trial.Tasks, trial.Victims)
	o.because(trial.Reasons)
	trial = explain.Turn(st, now, *j)
	fmt.Fprintf(&o.reasons, "   at its turn %v %v\n", trial.Now, trial.Later)
	o.because(trial.Reasons)
	n, _ := explain.Fewer(st, now, *j)
	m, _ := explain.Smaller(st, now, *j)
	fmt.Fprintf(&o.reasons, "   as %d or with %d\n", n, m)
}

// when writes down what is forecast for a job, if what runs ends in the order of its
// names.
func (o *utterance) when(st *state.State, now int64, id core.WorkloadID, running []core.WorkloadID) {
	spans := map[core.WorkloadID]forecast.Span{id: {Early: 60_000, Likely: 120_000, Late: 600_000}}
	var draws []forecast.Draw
	for i, other := range running {
		at := now + int64(i+1)*300_000
		spans[other] = forecast.Span{Early: at - 100_000, Likely: at, Late: at + 500_000}
	}
	for d := range int64(6) {
		draw := forecast.Draw{id: 120_000}
		for i, other := range running {
			draw[other] = now + (int64(i)*7+d*3)%11*100_000 + 1000
		}
		draws = append(draws, draw)
	}
	f := forecast.Of(st.Copy(now, nil), id, spans)
	forecast.Refine(st.Copy(now, nil), &f, id, draws)
	fmt.Fprintf(&o.forecasts, "at %d %s: %+v, until %d, relieved %v, simple %v, on %v, after %v, others %v\n", now, id, f.Span, f.Until, f.Relieved, f.Simple, f.Places, f.Frees, f.Starts)
}

// all writes down what is said of a few of those who wait.
func (o *utterance) all(st *state.State, now int64, jobs []*schedule.Job) {
	var running []core.WorkloadID
	waiting := 0
	for _, j := range jobs {
		if len(j.Held) > 0 {
			running = append(running, j.ID)
		}
	}
	for _, j := range jobs {
		if len(j.Held) == 0 && waiting < 4 {
			waiting++
			o.why(st, now, j)
			o.when(st, now, j.ID, running)
		}
	}
}

// ofLiving is what is said in a world that lives.
func ofLiving(seed uint64) *utterance {
	o := &utterance{}
	w := newWorld(seed, &vstats{})
	asked := 0
	w.record = func(p *schedule.Plan) {
		o.plan(w.now, p)
		if len(p.Placements)+len(p.Evictions)+len(p.Promises) > 0 || asked > 12 {
			return
		}
		var jobs []*schedule.Job
		for _, id := range slices.Sorted(maps.Keys(w.jobs)) {
			if j := w.jobs[id]; !j.done {
				jobs = append(jobs, &j.Job)
			}
		}
		if len(jobs) > 2 {
			asked++
			o.all(w.st, w.now, jobs)
		}
	}
	w.live(12)
	return o
}

// ofDrawn is what is said of a world at one instant.
func ofDrawn(seed uint64) *utterance {
	o := &utterance{}
	w := drawn(seed)
	o.plan(clock, cycle.Run(state.Load(&w.Snap, w.Cfg), clock))
	var jobs []*schedule.Job
	for i := range w.Snap.Jobs {
		jobs = append(jobs, &w.Snap.Jobs[i])
	}
	o.all(state.Load(&w.Snap, w.Cfg), clock, jobs)
	out := forecast.OutcomeOf(state.Load(&w.Snap, w.Cfg).Copy(clock, nil))
	fmt.Fprintf(&o.forecasts, "in the end %+v\n", out)
	return o
}

// TestDecisionsStay holds what the scheduler decides, explains and forecasts in some
// hundred worlds to what it did when testdata/decisions.txt was written: one line a
// world, with a sum over every word that it says. Whoever means to change a decision
// writes the file again (UPDATE=1) and looks at which worlds differ; TOLD=drawn-7
// prints all that is said in one, before and after.
func TestDecisionsStay(t *testing.T) {
	t.Parallel()
	type one struct {
		name string
		tell func() *utterance
	}
	var worlds []one
	for seed := uint64(1); seed <= 120; seed++ {
		worlds = append(worlds, one{fmt.Sprintf("drawn-%d", seed), func() *utterance { return ofDrawn(seed) }})
	}
	for seed := uint64(1); seed <= 14; seed++ {
		worlds = append(worlds, one{fmt.Sprintf("living-%d", seed), func() *utterance { return ofLiving(seed) }})
	}
	var out strings.Builder
	for _, w := range worlds {
		o := w.tell()
		if os.Getenv("TOLD") == w.name {
			t.Logf("%s\n%s\n%s", o.plans.String(), o.reasons.String(), o.forecasts.String())
		}
		fmt.Fprintf(&out, "%-10s plans %s  reasons %s  forecasts %s\n", w.name, sum(o.plans.String()), sum(o.reasons.String()), sum(o.forecasts.String()))
	}
	const file = "testdata/decisions.txt"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, []byte(out.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	is, was := strings.Split(out.String(), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(is), len(was)) {
		if i >= len(is) || i >= len(was) || is[i] != was[i] {
			t.Fatalf("from line %d on the scheduler says other things than it did:\n%s\nit said\n%s\nTOLD=NAME with -v prints what it says in a world; UPDATE=1 writes %s again", i+1, lineOf(is, i), lineOf(was, i), file)
		}
	}
}

func lineOf(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "nothing"
}

// sum is how many lines a text has, and a digest of it.
func sum(text string) string {
	h := fnv.New64a()
	h.Write([]byte(text))
	return fmt.Sprintf("%4d %s", strings.Count(text, "\n"), strconv.FormatUint(h.Sum64(), 36))
}
