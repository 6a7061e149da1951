package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/store"
)

// testListMany lists among more rows than any implementation looks at by the
// way: what is chosen by size must not change the answer.
func testListMany(t *testing.T, w *world) {
	const count = 7000
	var all []*core.Workload
	for len(all) < count {
		b := new(store.Batch)
		for range 1000 {
			n := w.workload(func(x *core.Workload) {
				x.User = []string{"ada", "bob"}[x.Seq%2]
				x.Kind = lifecycle.Kinds()[x.Seq%5]
				x.Spec = &spec.Document{Labels: map[string]string{"half": fmt.Sprint(x.Seq % 2), "tenth": fmt.Sprint(x.Seq % 10)}}
				in([]lifecycle.Phase{lifecycle.Completed, lifecycle.Failed, lifecycle.Queued}[x.Seq%3])(x)
			})
			if n.Seq == 42 {
				n.Project, n.User, n.Name = "rare", "eve", "rare"
				in(lifecycle.Publishing)(n)
			}
			b.Workloads = append(b.Workloads, n)
		}
		w.commit(b)
		all = append(all, b.Workloads...)
	}
	for _, q := range []store.Query{
		{},
		{Project: "default"},
		{Project: "rare"},
		{User: "eve", Live: true},
		{User: "ada", Project: "default"},
		{User: "ada", Project: "rare"},
		{Phases: []lifecycle.Phase{lifecycle.Completed, lifecycle.Failed}},
		{Phases: []lifecycle.Phase{lifecycle.Completed, lifecycle.Publishing}, User: "ada", Kinds: []lifecycle.Kind{lifecycle.Workspace}},
		{Kinds: []lifecycle.Kind{lifecycle.Training, lifecycle.External}, Live: true},
		{Labels: map[string]string{"half": "1"}},
		{Labels: map[string]string{"half": "1", "tenth": "3"}, Phases: []lifecycle.Phase{lifecycle.Queued, lifecycle.Failed}},
		{Labels: map[string]string{"half": "1"}, Project: "rare"},
		{Prefix: "job-"},
		{Prefix: "job-69", Project: "default"},
		{Prefix: "rare", Live: true},
		{Since: workload(6900).CreatedAt},
		{Since: workload(100).CreatedAt, User: "ada"},
		{Before: workload(100).CreatedAt, Project: "default"},
		{Since: workload(3000).CreatedAt, Before: workload(6000).CreatedAt, Phases: []lifecycle.Phase{lifecycle.Failed}},
		{Deleted: true, Prefix: "job-", User: "bob"},
	} {
		q.Limit = 333
		for _, cursor := range []int64{0, 5000} {
			q.Cursor = cursor
			var want []int64
			for _, n := range slices.Backward(all) {
				if matches(n, q) && len(want) < q.Limit {
					want = append(want, n.Seq)
				}
			}
			expect(t, fmt.Sprintf("List(%+v)", q), w.list(q).Items, want...)
		}
	}
}

// testWholeBatches reads while batches are committed that keep five workloads
// and their tasks in step.
func testWholeBatches(t *testing.T, w *world) {
	const width = 5
	rounds := 150
	if testing.Short() {
		rounds = 20
	}
	step := func(ws []*core.Workload, n int) *store.Batch {
		b := batch(ws...)
		for _, x := range ws {
			x.Failures = n
			k := task(x.ID, 0, 0)
			k.Restarts = n
			b.Tasks = append(b.Tasks, k)
			b.Transitions = append(b.Transitions, w.transition(x.ID))
		}
		return b
	}
	var ws []*core.Workload
	for range width {
		ws = append(ws, w.workload())
	}
	w.commit(step(ws, 0))
	stop := readSteps(t, w, width)
	for n := 1; n <= rounds; n++ {
		for i := range ws {
			ws[i] = next(ws[i])
		}
		w.commit(step(ws, n))
	}
	stop()
}

// readSteps reads in every way until stop is called, and fails when what it
// sees is not in step or goes back.
func readSteps(t *testing.T, w *world, width int) (stop func()) {
	ctx, done := context.WithCancel(t.Context())
	var group sync.WaitGroup
	reader := func(read func() ([]int, error)) {
		group.Go(func() {
			last := 0
			for ctx.Err() == nil {
				seen, err := read()
				if err != nil {
					t.Error(err)
					return
				}
				if len(seen) == 0 || slices.Min(seen) != slices.Max(seen) || seen[0] < last {
					t.Errorf("a reader saw a part of a batch: %v after %d", seen, last)
					return
				}
				last = seen[0]
			}
		})
	}
	failures := func(ws []*core.Workload) (all []int) {
		for _, x := range ws {
			all = append(all, x.Failures)
		}
		return all
	}
	reader(func() ([]int, error) {
		page, err := w.s.List(t.Context(), store.Query{Project: "default", User: "ada"})
		return failures(page.Items), err
	})
	reader(func() ([]int, error) {
		page, err := w.s.ChangedSince(t.Context(), 0, 0)
		return failures(page), err
	})
	reader(func() ([]int, error) {
		live, err := w.s.Live(t.Context())
		var all []int
		for _, e := range live {
			all = append(all, e.Workload.Failures)
			for _, k := range e.Tasks {
				all = append(all, k.Restarts)
			}
		}
		return all, err
	})
	reader(func() ([]int, error) {
		steps, err := w.s.Transitions(t.Context(), "", 0, 0)
		return []int{len(steps) % width, 0}, err
	})
	reader(func() ([]int, error) {
		n := 0
		err := w.s.Uses(t.Context(), store.UseQuery{Now: epoch.Add(time.Hour)}, func(core.Use) bool { n++; return true })
		return []int{n % width, 0}, err
	})
	return func() {
		done()
		group.Wait()
	}
}

// testReadersDoNotWait reads while a large batch is committed: before it or
// after it, never a part, and without an error.
func testReadersDoNotWait(t *testing.T, w *world) {
	var ws []*core.Workload
	many := 3000
	if testing.Short() {
		many = 300
	}
	for range many {
		ws = append(ws, w.workload())
	}
	committed := make(chan error, 1)
	go func() {
		_, err := w.s.Commit(context.Background(), w.term, batch(ws...))
		committed <- err
	}()
	reads := 0
	for {
		select {
		case err := <-committed:
			if err != nil {
				t.Fatal(err)
			}
			if page := w.list(store.Query{}); len(page.Items) != 100 {
				t.Errorf("after the commit a page has %d items, want 100", len(page.Items))
			}
			t.Logf("%d reads during one commit", reads)
			return
		default:
			page, err := w.s.List(t.Context(), store.Query{})
			if err != nil {
				t.Fatal(err)
			}
			if n := len(page.Items); n != 0 && n != 100 {
				t.Fatalf("a page has %d items during a commit of %d; want none or 100", n, many)
			}
			reads++
		}
	}
}
