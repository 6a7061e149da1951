package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/store"
)

func testPromises(t *testing.T, w *world) {
	to := func(ids ...core.WorkloadID) []core.Promise {
		all := []core.Promise{}
		for i, id := range ids {
			all = append(all, core.Promise{Workload: id, Tasks: 1 + i*i})
		}
		return all
	}
	promised := func(ids ...core.WorkloadID) {
		t.Helper()
		want := to(ids...)
		if got, err := w.s.Promises(t.Context()); err != nil || !slices.Equal(got, want) {
			t.Errorf("Promises: %v, %v; want %v", got, err, want)
		}
	}
	promised()
	w.commit(&store.Batch{Promises: to("c", "a", "b")})
	promised("c", "a", "b")
	w.commit(&store.Batch{}) // says nothing of them
	promised("c", "a", "b")
	w.refused(nil, &store.Batch{Promises: to("x", "x")})
	w.refused(nil, &store.Batch{Promises: to("")})
	w.refused(nil, &store.Batch{Promises: to("x"), Tasks: []*core.Task{nil}})
	promised("c", "a", "b")
	w.reopen()
	promised("c", "a", "b")
	w.commit(&store.Batch{Promises: to("b")})
	promised("b")
	w.commit(&store.Batch{Promises: to()})
	promised()
	w.reopen()
	promised()
}

// testRuns: each run of a task is a record of its own.
func testRuns(t *testing.T, w *world) {
	n := w.workload(func(x *core.Workload) { x.Attempt = 0 })
	run := func(index, run int, seconds int) *core.Task {
		k := task(n.ID, 0, index)
		k.ID.Run = run
		k.ReleasedAt = k.PlacedAt.Add(time.Duration(seconds) * time.Second)
		return k
	}
	w.commit(&store.Batch{Workloads: []*core.Workload{n}, Tasks: []*core.Task{run(1, 1, 4), run(1, 0, 2), run(0, 0, 1), run(1, 10, 16), run(1, 2, 8)}})
	again := run(1, 1, 5)
	again.Again = true
	w.commit(&store.Batch{Tasks: []*core.Task{again}}) // of none but this run
	w.reopen()
	want := []core.Task{*run(0, 0, 1), *run(1, 0, 2), *again, *run(1, 2, 8), *run(1, 10, 16)}
	of, err1 := w.s.Tasks(t.Context(), n.ID, 0)
	all, err2 := w.s.Tasks(t.Context(), n.ID, -1)
	live, err3 := w.s.Live(t.Context())
	if err := errors.Join(err1, err2, err3); err != nil || len(live) != 1 {
		t.Fatalf("%d live workloads, %v", len(live), err)
	}
	same(t, "Tasks of the attempt", of, want)
	same(t, "Tasks of all attempts", all, want)
	same(t, "tasks of Live", live[0].Tasks, want)
	var got []string
	for _, u := range w.all(store.UseQuery{Now: epoch}) {
		got = append(got, fmt.Sprintf("%d/%d %v", u.Task, u.Run, u.GPUSeconds))
	}
	if want := []string{"0/0 1", "1/0 2", "1/1 5", "1/2 8", "1/10 16"}; !slices.Equal(got, want) {
		t.Errorf("Uses: %v, want %v", got, want)
	}
}

// all is every use that answers a query.
func (w *world) all(q store.UseQuery) (all []core.Use) {
	w.t.Helper()
	if err := w.s.Uses(w.t.Context(), q, func(u core.Use) bool { all = append(all, u); return true }); err != nil {
		w.t.Fatal(err)
	}
	return all
}

func testSpans(t *testing.T, w *world) {
	n := w.workload(func(x *core.Workload) { x.Project = "p" })
	at := func(s int) time.Time { return epoch.Add(time.Duration(s) * time.Second) }
	held := func(index, from, to int) *core.Task {
		k := task(n.ID, 0, index)
		k.PlacedAt, k.ReleasedAt, k.Pool, k.CPU, k.Memory = at(from), at(to), "fast", 1500, 1<<30
		if to == 0 {
			k.ReleasedAt = time.Time{}
		}
		return k
	}
	bare, never := held(2, 20, 30), held(3, 0, 0)
	bare.Devices, never.PlacedAt = nil, time.Time{}
	w.commit(&store.Batch{Workloads: []*core.Workload{n}, Tasks: []*core.Task{held(0, 1, 10), held(1, 5, 0), bare, never, held(4, 7, 7)}})
	span := func(index, from, to int) core.Span {
		k := held(index, from, to)
		return core.Span{Project: "p", Pool: "fast", Milli: k.Milli(), CPU: k.CPU, Memory: k.Memory, From: at(from), To: at(to)}
	}
	noDevices := span(2, 20, 30)
	noDevices.Milli = 0
	for _, c := range []struct {
		from, now int
		want      []core.Span
	}{
		{0, 40, []core.Span{span(0, 1, 10), span(1, 5, 40), noDevices}},
		{10, 40, []core.Span{span(1, 5, 40), noDevices}}, // whole, though it began before
		{31, 40, []core.Span{span(1, 5, 40)}},
		{0, 5, []core.Span{span(0, 1, 10), noDevices}}, // it begins just now
	} {
		var got []core.Span
		if err := w.s.Spans(t.Context(), at(c.from), at(c.now), func(s core.Span) bool { got = append(got, s); return true }); err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(got, func(a, b core.Span) int { return a.From.Compare(b.From) })
		same(t, fmt.Sprintf("Spans(%d, %d)", c.from, c.now), got, c.want)
	}
	calls := 0
	if err := w.s.Spans(t.Context(), time.Time{}, at(40), func(core.Span) bool { calls++; return false }); err != nil || calls != 1 {
		t.Errorf("Spans ended by its first call: %d calls, %v", calls, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.s.Spans(ctx, time.Time{}, at(40), func(core.Span) bool { return true }); !errors.Is(err, context.Canceled) {
		t.Errorf("Spans: %v, want context.Canceled", err)
	}
}

// testFindTasks reads parts of an attempt, and counts it.
func testFindTasks(t *testing.T, w *world) {
	n := w.workload(func(x *core.Workload) { x.Attempt = 1 })
	at := func(attempt, index, run int, state core.TaskState) *core.Task {
		k := task(n.ID, attempt, index)
		k.ID.Run, k.State = run, state
		return k
	}
	again, closed := at(1, 2, 0, core.TaskLost), at(1, 3, 0, core.TaskSucceeded)
	again.Again, closed.Closed = true, true
	gone := at(1, 4, 0, core.TaskLost)
	gone.Again = true // and was run again
	all := []*core.Task{at(1, 0, 0, core.TaskFailed), at(1, 1, 0, core.TaskRunning), again, closed, gone, at(1, 4, 1, core.TaskFailed), at(1, 9, 0, core.TaskSucceeded), at(0, 5, 0, core.TaskFailed)}
	w.commit(&store.Batch{Workloads: []*core.Workload{n}, Tasks: all})
	later := at(1, 1, 0, core.TaskSucceeded) // it keeps what it holds
	w.commit(&store.Batch{Tasks: []*core.Task{later}})
	w.reopen()
	zero, nine := *all[0], *all[6]
	for i, c := range []struct {
		q    store.TaskQuery
		want []core.Task
	}{
		{store.TaskQuery{Attempt: 1}, []core.Task{zero, *later, *again, *all[5], nine}},
		{store.TaskQuery{Attempt: 1, Limit: 2}, []core.Task{zero, *later}},
		{store.TaskQuery{Attempt: 1, From: 1, Limit: 2}, []core.Task{*later, *again}},
		{store.TaskQuery{Attempt: 1, From: 1, To: 5}, []core.Task{*later, *again, *all[5]}},
		{store.TaskQuery{Attempt: 1, From: 3, To: 4}, nil},
		{store.TaskQuery{Attempt: 1, From: 10}, nil},
		{store.TaskQuery{Attempt: 1, States: []core.TaskState{core.TaskFailed}}, []core.Task{zero, *all[5]}},
		{store.TaskQuery{Attempt: 1, States: []core.TaskState{core.TaskPending, core.TaskSucceeded}, Limit: 2}, []core.Task{*later, *again}},
		{store.TaskQuery{Attempt: 1, States: []core.TaskState{core.TaskLost}}, nil},
		{store.TaskQuery{Attempt: 0}, []core.Task{*all[7]}},
		{store.TaskQuery{Attempt: 2}, nil},
	} {
		c.q.Workload = n.ID
		got, err := w.s.FindTasks(t.Context(), c.q)
		if err != nil {
			t.Fatal(err)
		}
		same(t, fmt.Sprintf("%d: FindTasks(%+v)", i, c.q), got, c.want)
	}
	counts, err := w.s.CountTasks(t.Context(), n.ID, 1)
	if want := map[core.TaskState]int{core.TaskFailed: 2, core.TaskSucceeded: 2, core.TaskPending: 1}; err != nil || !maps.Equal(counts, want) {
		t.Errorf("CountTasks: %v, %v; want %v", counts, err, want)
	}
	if counts, err := w.s.CountTasks(t.Context(), "nobody", 0); err != nil || len(counts) > 0 {
		t.Errorf("CountTasks of nobody: %v, %v", counts, err)
	}
}
