package storetest

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/store"
)

func testVersions(t *testing.T, w *world) {
	first := w.workload()
	rev := w.commit(batch(first))
	w.refused(store.ErrConflict, batch(first))
	third := next(next(first))
	w.refused(store.ErrConflict, batch(third))
	w.refused(store.ErrConflict, batch(next(w.workload()))) // never inserted
	w.stored(first, rev)

	second := next(first, in(lifecycle.Running))
	rev = w.commit(batch(second))
	w.stored(second, rev)
	w.refused(store.ErrConflict, batch(second))
	third = next(second, in(lifecycle.Completed))
	w.stored(third, w.commit(batch(third)))

	// Two versions in one batch follow each other.
	other := w.workload()
	later := next(other, in(lifecycle.Reserved))
	w.stored(later, w.commit(batch(other, later)))

	sameSeq := w.workload(func(x *core.Workload) { x.Seq = first.Seq })
	w.refused(store.ErrConflict, batch(sameSeq))
}

func testNames(t *testing.T, w *world) {
	a := w.workload(named("n"))
	w.commit(batch(a))
	w.refused(store.ErrExists, batch(w.workload(named("n"))))
	w.refused(store.ErrExists, batch(w.workload(named("m")), w.workload(named("m"))))
	elsewhere := w.workload(named("n"), func(x *core.Workload) { x.Project = "other" })
	w.commit(batch(elsewhere))

	// An ended one keeps its name, a deleted one gives it back.
	ended := next(a, in(lifecycle.Completed))
	w.commit(batch(ended))
	w.refused(store.ErrExists, batch(w.workload(named("n"))))
	gone := next(ended, in(lifecycle.Deleted))
	goneRev := w.commit(batch(gone))
	if _, err := w.s.ByName(t.Context(), "default", "n"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("ByName of a deleted workload: %v, want ErrNotFound", err)
	}
	b := w.workload(named("n"))
	rev := w.commit(batch(b))
	got, err := w.s.ByName(t.Context(), "default", "n")
	if err != nil {
		t.Fatal(err)
	}
	sameWorkload(t, got, b, rev)
	w.stored(gone, goneRev) // the tombstone stays

	// A version that is there already is a conflict, whoever has its name now.
	buried := w.workload(named("o"), in(lifecycle.Deleted))
	w.commit(batch(buried, w.workload(named("o"))))
	w.refused(store.ErrConflict, batch(buried))

	// In one batch: the name is given back and taken again.
	c := w.workload(named("n"))
	bGone := next(b, in(lifecycle.Deleted))
	w.stored(c, w.commit(batch(bGone, c)))
	w.refused(store.ErrExists, batch(next(bGone, in(lifecycle.Queued))))
}

func testIdentity(t *testing.T, w *world) {
	a := w.workload()
	rev := w.commit(batch(a))
	for name, edit := range map[string]func(*core.Workload){
		"name":    func(x *core.Workload) { x.Name = "other" },
		"project": func(x *core.Workload) { x.Project = "other" },
		"kind":    func(x *core.Workload) { x.Kind = lifecycle.Workspace },
		"user":    func(x *core.Workload) { x.User = "eve" },
		"seq":     func(x *core.Workload) { x.Seq = 77 },
	} {
		if _, err := w.s.Commit(t.Context(), w.term, batch(next(a, edit))); err == nil {
			t.Errorf("a later version with another %s was accepted", name)
		}
	}
	w.stored(a, rev)
}

func testAtomic(t *testing.T, w *world) {
	a := w.workload()
	key := store.Key{User: "ada", Key: "k", Hash: "h", Workload: a.ID, At: epoch}
	rev := w.commit(&store.Batch{Workloads: []*core.Workload{a}, Keys: []store.Key{key}, Secrets: []core.Secret{secret("ada", "old")}})
	b := w.workload()
	project := core.Project{ID: "p", CreatedAt: epoch}
	good := func() *store.Batch {
		return &store.Batch{
			Workloads: []*core.Workload{b, next(a, in(lifecycle.Running))}, Tasks: []*core.Task{task(b.ID, 0, 0)},
			Transitions: []core.Transition{w.transition(b.ID)}, Projects: []core.Project{project}, Pools: []core.Pool{{Name: "p"}}, Licenses: []core.License{{Name: "l"}}, Nodes: []core.NodeSetting{{ID: "n", Cordon: true}},
			Keys: []store.Key{{User: "ada", Key: "new", Hash: "h", Workload: b.ID, At: epoch}}, ForgetKeysBefore: epoch.Add(time.Hour),
			Secrets: []core.Secret{secret("ada", "new")}, DropSecrets: []core.SecretID{{User: "ada", Name: "old"}},
		}
	}
	bad := map[string]func(*store.Batch) error{
		"version": func(x *store.Batch) error { x.Workloads = append(x.Workloads, a); return store.ErrConflict },
		"name": func(x *store.Batch) error {
			x.Workloads = append(x.Workloads, w.workload(named(b.Name)))
			return store.ErrExists
		},
		"key": func(x *store.Batch) error { x.Keys = append(x.Keys, x.Keys[0]); return store.ErrExists },
		"transition": func(x *store.Batch) error {
			x.Transitions = append(x.Transitions, x.Transitions[0])
			return store.ErrConflict
		},
		"secret": func(x *store.Batch) error { x.Secrets = append(x.Secrets, x.Secrets[0]); return store.ErrExists },
	}
	for name, spoil := range bad {
		x := good()
		w.refused(spoil(x), x)
		w.stored(a, rev)
		w.secrets(secret("ada", "old"))
		_, err := w.s.Workload(t.Context(), b.ID)
		tasks, err1 := w.s.Tasks(t.Context(), b.ID, -1)
		steps, err2 := w.s.Transitions(t.Context(), "", 0, 0)
		projects, err3 := w.s.Projects(t.Context())
		pools, err6 := w.s.Pools(t.Context())
		nodes, err7 := w.s.Nodes(t.Context())
		licenses, err8 := w.s.Licenses(t.Context())
		_, _, err4 := w.s.Remembered(t.Context(), "ada", "k")
		_, _, err5 := w.s.Remembered(t.Context(), "ada", "new")
		if !errors.Is(err, store.ErrNotFound) || !errors.Is(err5, store.ErrNotFound) || errors.Join(err1, err2, err3, err4, err6, err7, err8) != nil ||
			len(tasks)+len(steps)+len(projects)+len(pools)+len(nodes)+len(licenses) != 0 {
			t.Errorf("a batch refused for its %s has left something: %v, %v, %v, %v, %v, %v",
				name, err, tasks, steps, projects, err4, err5)
		}
	}
	w.commit(good())
	w.secrets(secret("ada", "new"))
	if _, _, err := w.s.Remembered(t.Context(), "ada", "k"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the old key was not forgotten: %v", err)
	}
}

func testInvalid(t *testing.T, w *world) {
	for name, b := range map[string]*store.Batch{
		"nil workload":        batch(nil),
		"no id":               batch(w.workload(func(x *core.Workload) { x.ID = "" })),
		"seq 0":               batch(w.workload(func(x *core.Workload) { x.Seq = 0 })),
		"version 0":           batch(w.workload(func(x *core.Workload) { x.Version = 0 })),
		"unknown phase":       batch(w.workload(in("Sleeping"))),
		"no phase":            batch(w.workload(in(lifecycle.None))),
		"no document":         batch(w.workload(func(x *core.Workload) { x.Spec = nil })),
		"no number":           batch(w.workload(func(x *core.Workload) { x.GPUSeconds = math.NaN() })),
		"nil task":            {Tasks: []*core.Task{nil}},
		"task without id":     {Tasks: []*core.Task{{}}},
		"transition seq 0":    {Transitions: []core.Transition{{Workload: "x"}}},
		"unnamed project":     {Projects: []core.Project{{}}},
		"unnamed pool":        {Pools: []core.Pool{{}}},
		"unnamed license":     {Licenses: []core.License{{}}},
		"unnamed reservation": {Reservations: []core.Reservation{{}}},
		"unnamed node":        {Nodes: []core.NodeSetting{{}}},
	} {
		t.Log(name)
		w.refused(nil, b)
	}
	n := w.workload()
	w.stored(n, w.commit(batch(n))) // it goes on
}

func testTerm(t *testing.T, w *world) {
	old := w.term
	w.commit(batch(w.workload()))
	w.lead()
	if w.term <= old {
		t.Fatalf("the second term is %d after %d; want more", w.term, old)
	}
	before := w.counters()
	for _, term := range []store.Term{old, 0, w.term + 1} {
		if _, err := w.s.Commit(t.Context(), term, batch(w.workload())); !errors.Is(err, store.ErrTermLost) {
			t.Errorf("Commit in term %d: %v; want ErrTermLost", term, err)
		}
	}
	if after := w.counters(); after != before {
		t.Errorf("a lost term left a trace: %+v, then %+v", before, after)
	}
	w.commit(batch(w.workload()))

	// Terms hold across instances on the same data.
	other := w.open(t, w.dir)
	defer other.Close()
	term, err := other.Acquire(t.Context(), "another")
	if err != nil || term <= w.term {
		t.Fatalf("Acquire elsewhere: %d, %v; want more than %d", term, err, w.term)
	}
	w.refused(store.ErrTermLost, batch(w.workload()))
	n := w.workload()
	rev, err := other.Commit(t.Context(), term, batch(n))
	if err != nil {
		t.Fatal(err)
	}
	w.stored(n, rev) // and what one commits the other reads
}

func testRevisions(t *testing.T, w *world) {
	a := w.workload()
	for want := core.Revision(1); want <= 20; want++ {
		if rev := w.commit(batch(a)); rev != want {
			t.Fatalf("commit %d got revision %d", want, rev)
		}
		w.stored(a, want)
		a = next(a)
	}
	if c := w.counters(); c != (store.Counters{Workload: 1, Revision: 20}) {
		t.Errorf("Counters: %+v", c)
	}
}

func testCancelled(t *testing.T, w *world) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	before := w.counters()
	if _, err := w.s.Commit(ctx, w.term, batch(w.workload())); !errors.Is(err, context.Canceled) {
		t.Errorf("Commit: %v, want context.Canceled", err)
	}
	if _, err := w.s.List(ctx, store.Query{}); !errors.Is(err, context.Canceled) {
		t.Errorf("List: %v, want context.Canceled", err)
	}
	if after := w.counters(); after != before {
		t.Errorf("a cancelled commit left a trace: %+v, then %+v", before, after)
	}

	// Cancelled somewhere within: all or nothing, and the answer says which.
	for i := range 40 {
		var ws []*core.Workload
		for range 60 {
			ws = append(ws, w.workload())
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			time.Sleep(time.Duration(i) * 100 * time.Microsecond) // spreads the moments; none of them matters
			cancel()
		}()
		_, err := w.s.Commit(ctx, w.term, batch(ws...))
		cancel()
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("Commit: %v", err)
		}
		for _, x := range ws {
			if _, e := w.s.Workload(t.Context(), x.ID); (e == nil) != (err == nil) {
				t.Fatalf("Commit said %v, but reading %s said %v", err, x.ID, e)
			}
		}
	}
	n := w.workload()
	w.stored(n, w.commit(batch(n)))
}

func testKeys(t *testing.T, w *world) {
	a := w.workload()
	remember := func(user, key string, at time.Time) store.Key {
		return store.Key{User: user, Key: key, Hash: user + key, Workload: a.ID, At: at}
	}
	w.commit(&store.Batch{Workloads: []*core.Workload{a}, Keys: []store.Key{
		remember("ada", "1", epoch), remember("bob", "1", epoch.Add(time.Hour)), remember("ada", "2", epoch.Add(2*time.Hour)),
	}})
	w.refused(store.ErrExists, &store.Batch{Keys: []store.Key{remember("ada", "1", epoch.Add(time.Hour))}})
	check := func(user, key string, there bool) {
		t.Helper()
		id, hash, err := w.s.Remembered(t.Context(), user, key)
		if there && (err != nil || id != a.ID || hash != user+key) {
			t.Errorf("Remembered(%s, %s): %q, %q, %v", user, key, id, hash, err)
		}
		if !there && !errors.Is(err, store.ErrNotFound) {
			t.Errorf("Remembered(%s, %s): %v, want ErrNotFound", user, key, err)
		}
	}
	check("ada", "1", true)
	check("bob", "1", true)
	check("bob", "2", false)
	// What is forgotten may be remembered anew in the same batch.
	w.commit(&store.Batch{ForgetKeysBefore: epoch.Add(time.Hour), Keys: []store.Key{remember("ada", "1", epoch.Add(3*time.Hour))}})
	check("ada", "1", true)
	check("bob", "1", true) // not older
	w.commit(&store.Batch{ForgetKeysBefore: epoch.Add(2 * time.Hour)})
	check("bob", "1", false)
	check("ada", "1", true)
	check("ada", "2", true)
}
