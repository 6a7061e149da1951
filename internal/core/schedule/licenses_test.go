package schedule

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/musterhq/muster/internal/core"
)

// TestNobodyStartsBeyondALicense gives the jobs of random worlds licenses at
// random: no plan may start more than there are, and looking changes nothing.
func TestNobodyStartsBeyondALicense(t *testing.T) {
	t.Parallel()
	search(t, 600, func(w *world) string {
		r := rand.New(rand.NewPCG(uint64(len(w.Snap.Jobs)), uint64(len(w.Snap.Nodes))))
		w.Snap.Licenses = []License{{"matlab", int64(r.IntN(4))}, {"ansys", int64(r.IntN(3))}}
		for i := range w.Snap.Jobs {
			j := &w.Snap.Jobs[i]
			j.Licenses = nil
			if n := r.IntN(3); n > 0 {
				j.Licenses = append(j.Licenses, Count{"ansys", int64(n)})
			}
			if n := r.IntN(4); n > 0 {
				j.Licenses = append(j.Licenses, Count{"matlab", int64(n)})
			}
		}
		st := Load(&w.Snap, w.Cfg)
		before := map[string]int64{}
		for name, l := range st.lic {
			before[name] = l.used
		}
		plan := st.Cycle(clock)
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
		for name, l := range st.lic {
			if after[name] > max(l.total, before[name]) {
				return fmt.Sprintf("%d of %s would be held, of %d; before it were %d", after[name], name, l.total, before[name])
			}
			if l.used != before[name] {
				return fmt.Sprintf("after looking %d of %s count as held, before it were %d", l.used, name, before[name])
			}
		}
		return ""
	})
}

// licensed returns a job that holds, or waits for, licenses.
func licensed(id string, order, n int64, runs bool) Job {
	j := waiter(id, order, single(Need{CPU: 1000}))
	j.Licenses = []Count{{"matlab", n}}
	if runs {
		j.Held = []Held{{Need: Need{CPU: 1000}, Place: Place{Node: "n", CPU: 1000}}}
		j.Shape, j.Started = NewShape([]Set{{Parent: -1}}, []Group{{Min: 1}}), clock-10_000
	}
	return j
}

func TestLicensesComeBackWithTheEnd(t *testing.T) {
	t.Parallel()
	s := &Snapshot{
		Now: clock, Nodes: []Node{node("n", 0, 8000, 8<<30, "")}, Queues: []Queue{{ID: "q", Default: Unlimited()}},
		Licenses: []License{{"matlab", 3}},
		Jobs:     []Job{licensed("a", 1, 2, true), licensed("b", 2, 2, false), licensed("c", 3, 1, false)},
	}
	st := Load(s, Default())
	started := func() string {
		out := ""
		for _, p := range st.Cycle(clock).Placements {
			out += string(p.ID)
		}
		return out
	}
	if got := started(); got != "c" { // b lacks one, and holds up nobody who needs less
		t.Errorf("%q starts beside a; want c", got)
	}
	ex, _ := st.Explain(clock, "b")
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
	st.SetLicenses([]License{{"matlab", 2}})
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
	s := &Snapshot{
		Now: clock, Nodes: []Node{node("n", 0, 8000, 8<<30, "")}, Queues: []Queue{{ID: "q", Default: Unlimited()}},
		Licenses: []License{{"matlab", 2}}, Jobs: []Job{a, licensed("b", 2, 1, false)},
	}
	st := Load(s, Default())
	if ex, _ := st.Explain(clock, "b"); ex.EarliestStart != a.EndsBy {
		t.Errorf("its earliest start is %d, want %d", ex.EarliestStart, a.EndsBy)
	}
	ends := map[core.WorkloadID]Span{"a": {a.EndsBy, a.EndsBy, a.EndsBy}}
	if f := st.Copy(clock, nil).Forecast("b", ends); f.Likely != a.EndsBy {
		t.Errorf("its start is foretold for %d, want %d", f.Likely, a.EndsBy)
	}
}
