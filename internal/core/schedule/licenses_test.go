package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/explain"
	"github.com/musterhq/muster/internal/core/schedule/forecast"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// TestNobodyStartsBeyondALicense gives the jobs of random worlds licenses at
// random: no plan may start more than there are, and looking changes nothing.
func TestNobodyStartsBeyondALicense(t *testing.T) {
	t.Parallel()
	search(t, 600, func(w *world) string {
		r := rand.New(rand.NewPCG(uint64(len(w.Snap.Jobs)), uint64(len(w.Snap.Nodes))))
		w.Snap.Licenses = []schedule.License{{Name: "matlab", Total: int64(r.IntN(4))}, {Name: "ansys", Total: int64(r.IntN(3))}}
		for i := range w.Snap.Jobs {
			j := &w.Snap.Jobs[i]
			j.Licenses = nil
			if n := r.IntN(3); n > 0 {
				j.Licenses = append(j.Licenses, schedule.Count{Name: "ansys", N: int64(n)})
			}
			if n := r.IntN(4); n > 0 {
				j.Licenses = append(j.Licenses, schedule.Count{Name: "matlab", N: int64(n)})
			}
		}
		st := state.Load(&w.Snap, w.Cfg)
		before := map[string]int64{}
		for name, l := range st.Lic {
			before[name] = l.Used
		}
		plan := cycle.Run(st, clock)
		holds := map[core.WorkloadID]bool{}
		for i := range w.Snap.Jobs {
			holds[w.Snap.Jobs[i].ID] = len(w.Snap.Jobs[i].Held) > 0
		}
		for _, p := range append(plan.Placements, plan.Promises...) {
			holds[p.ID] = true
		}
		after := map[string]int64{}
		for i := range w.Snap.Jobs {
			if j := &w.Snap.Jobs[i]; holds[j.ID] {
				for _, c := range j.Licenses {
					after[c.Name] += c.N
				}
			}
		}
		for name, l := range st.Lic {
			if after[name] > max(l.Total, before[name]) {
				return fmt.Sprintf("%d of %s would be held, of %d; before it were %d", after[name], name, l.Total, before[name])
			}
			if l.Used != before[name] {
				return fmt.Sprintf("after looking %d of %s count as held, before it were %d", l.Used, name, before[name])
			}
		}
		return ""
	})
}

// licensed returns a job that holds, or waits for, licenses.
func licensed(id string, order, n int64, runs bool) schedule.Job {
	j := waiter(id, order, single(schedule.Need{CPU: 1000}))
	j.Licenses = []schedule.Count{{Name: "matlab", N: n}}
	if runs {
		j.Held = []schedule.Held{{Need: schedule.Need{CPU: 1000}, Place: schedule.Place{Node: "n", CPU: 1000}}}
		j.Shape, j.Started = schedule.NewShape([]schedule.Set{{Parent: -1}}, []schedule.Group{{Min: 1}}), clock-10_000
	}
	return j
}

func TestLicensesComeBackWithTheEnd(t *testing.T) {
	t.Parallel()
	s := &schedule.Snapshot{
		Now: clock, Nodes: []schedule.Node{node("n", 0, 8000, 8<<30, "")}, Queues: []schedule.Queue{{ID: "q", Default: schedule.Unlimited()}},
		Licenses: []schedule.License{{Name: "matlab", Total: 3}},
		Jobs:     []schedule.Job{licensed("a", 1, 2, true), licensed("b", 2, 2, false), licensed("c", 3, 1, false)},
	}
	st := state.Load(s, Default())
	started := func() string {
		out := ""
		for _, p := range cycle.Run(st, clock).Placements {
			out += string(p.ID)
		}
		return out
	}
	if got := started(); got != "c" { // b lacks one, and holds up nobody who needs less
		t.Errorf("%q starts beside a; want c", got)
	}
	ex, _ := explain.Explain(st, clock, "b")
	if len(ex.Reasons) != 1 || ex.Reasons[0].String() != "waits for license matlab: needs 2, free 1 of 3" || fmt.Sprint(ex.Reasons[0].Holders) != "[{a 2}]" {
		t.Errorf("b waits since %v", ex.Reasons)
	}
	leaving := licensed("a", 1, 2, true)
	leaving.Held[0].Leaving = true
	st.PutJob(leaving)
	if got := started(); got != "c" { // it has not ended yet
		t.Errorf("%q starts while a leaves; want c", got)
	}
	st.DropJob("a")
	if got := started(); got != "bc" {
		t.Errorf("%q starts once a has ended; want bc", got)
	}
	st.SetLicenses([]schedule.License{{Name: "matlab", Total: 2}})
	if got := started(); got != "b" {
		t.Errorf("%q starts with 2; want b", got)
	}
	st.SetLicenses(nil)
	if got := started(); got != "" {
		t.Errorf("%q starts without any; want nobody", got)
	}
}

// TestALicenseIsForetold asks when a job starts that waits for a license only.
func TestALicenseIsForetold(t *testing.T) {
	t.Parallel()
	a := licensed("a", 1, 2, true)
	a.EndsBy = clock + 60_000
	s := &schedule.Snapshot{
		Now: clock, Nodes: []schedule.Node{node("n", 0, 8000, 8<<30, "")}, Queues: []schedule.Queue{{ID: "q", Default: schedule.Unlimited()}},
		Licenses: []schedule.License{{Name: "matlab", Total: 2}}, Jobs: []schedule.Job{a, licensed("b", 2, 1, false)},
	}
	st := state.Load(s, Default())
	if ex, _ := explain.Explain(st, clock, "b"); ex.EarliestStart != a.EndsBy {
		t.Errorf("its earliest start is %d, want %d", ex.EarliestStart, a.EndsBy)
	}
	ends := map[core.WorkloadID]forecast.Span{"a": {Early: a.EndsBy, Likely: a.EndsBy, Late: a.EndsBy}}
	if f := forecast.Of(st.Copy(clock, nil), "b", ends); f.Likely != a.EndsBy {
		t.Errorf("its start is foretold for %d, want %d", f.Likely, a.EndsBy)
	}
}
