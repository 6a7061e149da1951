package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/store"
)

func testLive(t *testing.T, w *world) {
	running := w.workload(in(lifecycle.Running), func(x *core.Workload) { x.Attempt = 1 })
	ended := w.workload(in(lifecycle.Completed))
	retained := w.workload(in(lifecycle.Failed), func(x *core.Workload) { x.WakeAt = epoch.Add(time.Hour) })
	queued := w.workload()
	deleted := w.workload(in(lifecycle.Deleted))
	w.commit(&store.Batch{
		Workloads: []*core.Workload{running, ended, retained, queued, deleted},
		Tasks: []*core.Task{
			task(running.ID, 0, 0), task(running.ID, 1, 1), task(running.ID, 1, 0), task(ended.ID, 0, 0), task(retained.ID, 0, 0),
		},
	})
	check := func(want map[int64][]int, order ...int64) []store.Entry {
		t.Helper()
		live, err := w.s.Live(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var seqs []int64
		for _, e := range live {
			seqs = append(seqs, e.Workload.Seq)
			var tasks []int
			for _, k := range e.Tasks {
				if k.ID.Workload != e.Workload.ID || k.ID.Attempt != e.Workload.Attempt {
					t.Errorf("Live: workload %s in attempt %d has task %s", e.Workload.ID, e.Workload.Attempt, k.ID)
				}
				tasks = append(tasks, k.ID.Index)
			}
			if !slices.Equal(tasks, want[e.Workload.Seq]) {
				t.Errorf("Live: workload %d has tasks %v, want %v", e.Workload.Seq, tasks, want[e.Workload.Seq])
			}
		}
		if !slices.Equal(seqs, order) {
			t.Errorf("Live: %v, want %v", seqs, order)
		}
		return live
	}
	check(map[int64][]int{running.Seq: {0, 1}, retained.Seq: {0}}, running.Seq, retained.Seq, queued.Seq)

	// It follows every change: ended, retried, restarted, no timer any more.
	runs := next(running, in(lifecycle.Completed))
	again := next(ended, in(lifecycle.Queued), func(x *core.Workload) { x.Attempt = 1 })
	quiet := next(retained, func(x *core.Workload) { x.WakeAt = time.Time{} })
	w.commit(batch(runs, again, quiet))
	live := check(nil, ended.Seq, queued.Seq)
	sameWorkload(t, live[0].Workload, again, w.counters().Revision)
}

func testReopen(t *testing.T, w *world) {
	var all []*core.Workload
	for range 10 {
		n := w.workload()
		all = append(all, n)
		w.commit(&store.Batch{
			Workloads: []*core.Workload{n}, Tasks: []*core.Task{task(n.ID, 0, 0)},
			Transitions: []core.Transition{w.transition(n.ID), w.transition(n.ID)},
			Keys:        []store.Key{{User: "ada", Key: n.Name, Hash: "h", Workload: n.ID, At: epoch}},
		})
	}
	before, term := w.counters(), w.term
	name, err := w.s.Installation(t.Context())
	if err != nil || len(name) < 16 {
		t.Errorf("the installation is %q, %v", name, err)
	}
	if want := (store.Counters{Workload: 10, Transition: 20, Revision: 10}); before != want {
		t.Fatalf("Counters: %+v, want %+v", before, want)
	}
	w.reopen()
	if again, err := w.s.Installation(t.Context()); again != name || err != nil {
		t.Errorf("the installation is %q, was %q: %v", again, name, err)
	}
	if w.term <= term {
		t.Errorf("the term after reopening is %d, was %d", w.term, term)
	}
	if after := w.counters(); after != before {
		t.Errorf("Counters after reopening: %+v, want %+v", after, before)
	}
	for i, n := range all {
		w.stored(n, core.Revision(i+1))
		if id, _, err := w.s.Remembered(t.Context(), "ada", n.Name); err != nil || id != n.ID {
			t.Errorf("Remembered: %q, %v", id, err)
		}
		tasks, err1 := w.s.Tasks(t.Context(), n.ID, -1)
		steps, err2 := w.s.Transitions(t.Context(), n.ID, 0, 0)
		if err := errors.Join(err1, err2); err != nil || len(tasks) != 1 || len(steps) != 2 {
			t.Errorf("workload %s has %d tasks and %d transitions, %v", n.ID, len(tasks), len(steps), err)
		}
	}
	if rev := w.commit(batch(w.workload())); rev != before.Revision+1 {
		t.Errorf("the next revision is %d after %d", rev, before.Revision)
	}
}

func testChanged(t *testing.T, w *world) {
	// Revisions of many workloads, wider than any page.
	want := map[int64]core.Revision{}
	for _, size := range []int{1, 7, 30, 1, 12} {
		b := new(store.Batch)
		for range size {
			b.Workloads = append(b.Workloads, w.workload())
		}
		rev := w.commit(b)
		for _, n := range b.Workloads {
			want[n.Seq] = rev
		}
	}
	for _, limit := range []int{1, 2, 5, 8, 100, 0} {
		var since core.Revision
		got := map[int64]core.Revision{}
		for pages := 0; ; pages++ {
			page, err := w.s.ChangedSince(t.Context(), since, limit)
			if err != nil {
				t.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			if pages > len(want) {
				t.Fatal("paging does not end")
			}
			for i, n := range page {
				if i > 0 && (n.Rev < page[i-1].Rev || n.Rev == page[i-1].Rev && n.Seq <= page[i-1].Seq) {
					t.Errorf("%d of revision %d follows %d of revision %d", n.Seq, n.Rev, page[i-1].Seq, page[i-1].Rev)
				}
				got[n.Seq] = n.Rev
			}
			if limit > 0 && len(page) > limit && page[limit-1].Rev != page[len(page)-1].Rev {
				t.Errorf("limit %d: the page has %d items beyond the revision where it should end", limit, len(page))
			}
			since = page[len(page)-1].Rev
		}
		if len(got) != len(want) {
			t.Errorf("limit %d: %d workloads, want %d", limit, len(got), len(want))
		}
		for seq, rev := range want {
			if got[seq] != rev {
				t.Errorf("limit %d: workload %d in revision %d, want %d", limit, seq, got[seq], rev)
			}
		}
	}
	got, err := w.s.Workload(t.Context(), workload(1).ID)
	if err != nil {
		t.Fatal(err)
	}
	rev := w.commit(batch(next(got)))
	page, err := w.s.ChangedSince(t.Context(), rev-1, 10)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "a changed workload", page, 1)
	if _, err := w.s.ChangedSince(t.Context(), rev, 10); err != nil {
		t.Fatal(err)
	}
}

func testListFilters(t *testing.T, w *world) {
	w.commit(batch(
		w.workload(in(lifecycle.Running)),
		w.workload(in(lifecycle.Completed), func(x *core.Workload) { x.User = "bob" }),
		w.workload(func(x *core.Workload) { x.Project, x.Kind = "other", lifecycle.Workspace }),
		w.workload(in(lifecycle.Failed), func(x *core.Workload) { x.Project, x.User = "other", "bob" }),
		w.workload(in(lifecycle.Running), func(x *core.Workload) { x.Kind = lifecycle.Inference }),
	))
	for _, c := range []struct {
		q    store.Query
		want []int64
	}{
		{store.Query{}, []int64{5, 4, 3, 2, 1}},
		{store.Query{Project: "other"}, []int64{4, 3}},
		{store.Query{Project: "nobody"}, nil},
		{store.Query{User: "bob"}, []int64{4, 2}},
		{store.Query{Project: "other", User: "bob"}, []int64{4}},
		{store.Query{Phases: []lifecycle.Phase{lifecycle.Running}}, []int64{5, 1}},
		{store.Query{Phases: []lifecycle.Phase{lifecycle.Running, lifecycle.Failed, lifecycle.Running}}, []int64{5, 4, 1}},
		{store.Query{Kinds: []lifecycle.Kind{lifecycle.Workspace, lifecycle.Inference}}, []int64{5, 3}},
		{store.Query{Live: true}, []int64{5, 3, 1}},
		{store.Query{Live: true, Project: "other"}, []int64{3}},
		{store.Query{Live: true, User: "ada", Kinds: []lifecycle.Kind{lifecycle.Training, lifecycle.Inference}}, []int64{5, 1}},
		{store.Query{Limit: 2}, []int64{5, 4}},
		{store.Query{Cursor: 4}, []int64{3, 2, 1}},
		{store.Query{Cursor: 1}, nil},
		{store.Query{Prefix: "job-", Project: "default", Phases: []lifecycle.Phase{lifecycle.Completed}}, []int64{2}},
	} {
		expect(t, fmt.Sprintf("List(%+v)", c.q), w.list(c.q).Items, c.want...)
	}
}

func testListPages(t *testing.T, w *world) {
	for range 25 {
		w.commit(batch(w.workload()))
	}
	var all []int64
	q := store.Query{Limit: 4}
	for {
		page := w.list(q)
		all = append(all, ids(page.Items)...)
		if page.Next == 0 {
			break
		}
		if len(page.Items) != q.Limit {
			t.Errorf("a page has %d items, want %d", len(page.Items), q.Limit)
		}
		q.Cursor = page.Next
		w.commit(batch(w.workload())) // newer ones belong to no later page
	}
	var want []int64
	for seq := int64(25); seq > 0; seq-- {
		want = append(want, seq)
	}
	if !slices.Equal(all, want) {
		t.Errorf("pages: %v, want %v", all, want)
	}
	if p := w.list(store.Query{Cursor: 5, Limit: 4}); p.Next != 0 || len(p.Items) != 4 {
		t.Errorf("a full last page: %d items, next %d; want 4 and 0", len(p.Items), p.Next)
	}
}

func testListLabels(t *testing.T, w *world) {
	labelled := func(labels map[string]string) *core.Workload {
		return w.workload(func(x *core.Workload) { x.Spec = &spec.Document{Labels: labels} })
	}
	w.commit(batch(
		labelled(map[string]string{"team": "a", "stage": "x"}),
		labelled(map[string]string{"team": "b", "stage": "x"}),
		labelled(nil),
		labelled(map[string]string{"team": "a", "stage": "y", "": "empty"}),
	))
	for _, c := range []struct {
		labels map[string]string
		want   []int64
	}{
		{map[string]string{"team": "a"}, []int64{4, 1}},
		{map[string]string{"stage": "x"}, []int64{2, 1}},
		{map[string]string{"team": "a", "stage": "x"}, []int64{1}},
		{map[string]string{"team": "x"}, nil},
		{map[string]string{"team": ""}, nil},
		{map[string]string{"": "empty"}, []int64{4}},
		{map[string]string{}, []int64{4, 3, 2, 1}},
	} {
		expect(t, fmt.Sprintf("labels %v", c.labels), w.list(store.Query{Labels: c.labels}).Items, c.want...)
	}
	expect(t, "a page by label", w.list(store.Query{Labels: map[string]string{"team": "a"}, Cursor: 4}).Items, 1)
}

func testListPrefix(t *testing.T, w *world) {
	for _, name := range []string{"a", "ab", "aB", "ab%", "ab_c", "abc", "b", "ä", "ab\U0010FFFF", "ab\U0010FFFFz", "ab\uD7FF", ""} {
		w.commit(batch(w.workload(named(name))))
	}
	for prefix, want := range map[string][]int64{
		"a":            {11, 10, 9, 6, 5, 4, 3, 2, 1},
		"ab":           {11, 10, 9, 6, 5, 4, 2},
		"aB":           {3},
		"ab%":          {4},
		"ab_":          {5},
		"ab\U0010FFFF": {10, 9},
		"ab\uD7FF":     {11},
		"ä":            {8},
		"c":            nil,
		"":             {12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1},
	} {
		expect(t, fmt.Sprintf("prefix %q", prefix), w.list(store.Query{Prefix: prefix}).Items, want...)
		expect(t, fmt.Sprintf("prefix %q, deleted too", prefix), w.list(store.Query{Prefix: prefix, Deleted: true}).Items, want...)
	}
}

func testListTime(t *testing.T, w *world) {
	for range 5 {
		w.commit(batch(w.workload()))
	}
	third := workload(3).CreatedAt
	for _, c := range []struct {
		since, before time.Time
		want          []int64
	}{
		{third, time.Time{}, []int64{5, 4, 3}},
		{third.Add(1), time.Time{}, []int64{5, 4}},
		{time.Time{}, third, []int64{2, 1}},
		{time.Time{}, third.Add(1), []int64{3, 2, 1}},
		{third, third.Add(time.Second), []int64{3}},
		{third, third, nil},
	} {
		q := store.Query{Since: c.since, Before: c.before}
		expect(t, fmt.Sprintf("since %v before %v", c.since, c.before), w.list(q).Items, c.want...)
	}
}

func testListDeleted(t *testing.T, w *world) {
	w.commit(batch(w.workload(), w.workload(in(lifecycle.Deleted)), w.workload(in(lifecycle.Deleting))))
	expect(t, "List", w.list(store.Query{}).Items, 3, 1)
	expect(t, "List with deleted", w.list(store.Query{Deleted: true}).Items, 3, 2, 1)
	for _, q := range []store.Query{{Project: "default"}, {User: "ada"}, {Kinds: []lifecycle.Kind{lifecycle.Training}}, {Prefix: "job"}} {
		expect(t, fmt.Sprintf("List(%+v)", q), w.list(q).Items, 3, 1)
		q.Deleted = true
		expect(t, fmt.Sprintf("List(%+v)", q), w.list(q).Items, 3, 2, 1)
	}
	gone := store.Query{Phases: []lifecycle.Phase{lifecycle.Deleted}}
	expect(t, "List of the phase Deleted", w.list(gone).Items)
	gone.Deleted = true
	expect(t, "List of the phase Deleted, with deleted", w.list(gone).Items, 2)
}
