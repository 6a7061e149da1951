package packing

import (
	"math"
	"testing"
)

// TestLargeTasksDoNotWaitWhileATenthIsFree is what waste and shortage alone do
// not achieve: at nine tenths of the load no task of a whole node waits long,
// and near the limit waits are shorter than by the published policies.
func TestLargeTasksDoNotWaitWhileATenthIsFree(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves it out: it plays a hundred thousand arrivals")
	}
	tr := trace(t)
	run := func(p string, cfg ChurnConfig) ChurnRun {
		r, err := Churn(t.Context(), tr, policy(t, p), cfg, []uint64{44, 45})
		if err != nil {
			t.Fatal(err)
		}
		if r.Mean.Missed != 0 || r.Mean.Never != 0 {
			t.Errorf("%s: %d refused although they fitted, %d never started", p, r.Mean.Missed, r.Mean.Never)
		}
		return r.Mean
	}
	for _, p := range []string{"fill", "fill-learned"} {
		m := run(p, ChurnConfig{Load: 0.9, Arrivals: 24_000})
		if m.WaitLarge > 60 || math.Abs(m.Allocated-90) > 2 {
			t.Errorf("%s at 0.9: tasks of 8 GPUs wait %.0f s, %.1f %% allocated", p, m.WaitLarge, m.Allocated)
		}
	}
	near := ChurnConfig{Load: 0.95, Arrivals: 24_000}
	ours, best := run("fill", near), run("best-fit", near)
	if ours.Wait > best.Wait*0.7 || ours.WaitLarge > best.WaitLarge*0.7 || ours.Fragmented > best.Fragmented-0.5 {
		t.Errorf("at 0.95: fill %+v\nbest fit %+v", ours, best)
	}
}

// TestWaitsAreThoseOfASimpleQueue: two nodes of one GPU and tasks that take one
// each are the queue M/M/2, whose mean wait is known.
func TestWaitsAreThoseOfASimpleQueue(t *testing.T) {
	t.Parallel()
	tr := &Trace{Nodes: []Node{{Name: "a", CPU: 1, Memory: 1, GPUs: 1}, {Name: "b", CPU: 1, Memory: 1, GPUs: 1}}, Tasks: []Task{{Name: "t", CPU: 1, Memory: 1, GPUs: 1, Milli: 1000}}}
	tr.classify()
	const load = 0.7
	r, err := Churn(t.Context(), tr, policy(t, "best-fit"), ChurnConfig{Load: load, Arrivals: 120_000}, []uint64{1, 2, 3, 4})
	if err != nil {
		t.Fatal(err)
	}
	// Erlang's formula for two servers: wait / service = load² / (1 − load²).
	want := meanDuration * load * load / (1 - load*load)
	if m := r.Mean; math.Abs(m.Wait-want) > want/20 || math.Abs(m.Allocated-100*load) > 1 {
		t.Errorf("wait %.0f s, %.1f %% allocated; want %.0f s and %.0f %%", m.Wait, m.Allocated, want, 100*load)
	}
	// Something waits only while both are taken.
	if math.Abs(r.Mean.Busy-100) > 1e-6 {
		t.Errorf("%.2f %% allocated while something waits", r.Mean.Busy)
	}
}

func TestChurnRepeats(t *testing.T) {
	t.Parallel()
	cfg := ChurnConfig{Load: 0.95, Trace: true, Arrivals: 2000}
	a, err1 := Churn(t.Context(), trace(t), policy(t, "fill-learned"), cfg, []uint64{5})
	b, err2 := Churn(t.Context(), trace(t), policy(t, "fill-learned"), cfg, []uint64{5})
	if err1 != nil || err2 != nil || a.Runs[0] != b.Runs[0] {
		t.Errorf("%+v\n%+v\n%v %v", a.Runs[0], b.Runs[0], err1, err2)
	}
}
