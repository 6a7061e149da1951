package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/store"
)

func testEdited(t *testing.T, w *world) {
	document := func(image string, labels map[string]string) func(*core.Workload) {
		return func(x *core.Workload) { x.Spec = &spec.Document{Name: x.Name, Image: image, Labels: labels} }
	}
	a := w.workload(document("one", map[string]string{"keep": "1", "drop": "1", "bad\xff\xfe": "\xff\xfe\xfd"}))
	b := w.workload(document("one", map[string]string{"drop": "1"}))
	w.commit(batch(a, b))
	expect(t, "a label that is no text", w.list(store.Query{Labels: map[string]string{"bad\xff\xfe": "\xff\xfe\xfd"}}).Items, a.Seq)

	// A changed document alone is not looked at, nor is a missing one.
	second := next(a, document("unseen", nil))
	rev := w.commit(batch(second))
	got, err := w.s.Workload(t.Context(), a.ID) // its text that is none is not compared
	if err != nil || got.Rev != rev || got.Spec.Image != "one" {
		t.Errorf("a version with another document that was not edited: %+v, %v", got, err)
	}
	third := next(second, func(x *core.Workload) { x.Spec = nil })
	rev = w.commit(batch(third))
	if got, err = w.s.Workload(t.Context(), a.ID); err != nil || got.Rev != rev || got.Spec == nil || got.Spec.Image != "one" {
		t.Errorf("a version without a document: %+v, %v", got, err)
	}

	fourth := next(third, document("two", map[string]string{"keep": "1", "new": "2"}))
	given := fourth.Spec.Clone()
	rev = w.commit(&store.Batch{Workloads: []*core.Workload{fourth}, Edited: []core.WorkloadID{a.ID}})
	if !fourth.Spec.Equal(given) {
		t.Error("Commit changed the caller's document")
	}
	check := func(want *core.Workload, rev core.Revision) {
		t.Helper()
		w.stored(want, rev)
		live, err := w.s.Live(t.Context())
		if err != nil || len(live) != 2 {
			t.Fatalf("Live: %d entries, %v; want 2", len(live), err)
		}
		sameWorkload(t, live[0].Workload, want, rev)
		byName, err := w.s.ByName(t.Context(), want.Project, want.Name)
		if err != nil {
			t.Fatal(err)
		}
		sameWorkload(t, byName, want, rev)
	}
	check(fourth, rev)
	for label, seqs := range map[string][]int64{"keep=1": {a.Seq}, "new=2": {a.Seq}, "drop=1": {b.Seq}} {
		expect(t, label, w.list(store.Query{Labels: map[string]string{label[:len(label)-2]: label[len(label)-1:]}}).Items, seqs...)
	}
	expect(t, "a label that is no text", w.list(store.Query{Labels: map[string]string{"bad\xff\xfe": "\xff\xfe\xfd"}}).Items)
	// Once more, in a batch with the version after it; the new workload is
	// written as it is.
	fifth := next(fourth, document("three", nil))
	sixth := next(fifth, in(lifecycle.Running))
	rev = w.commit(&store.Batch{Workloads: []*core.Workload{fifth, sixth}, Edited: []core.WorkloadID{a.ID}})
	check(sixth, rev)
	expect(t, "labels that are gone", w.list(store.Query{Labels: map[string]string{"keep": "1"}}).Items)
	w.reopen()
	check(sixth, rev)

	w.refused(nil, &store.Batch{Edited: []core.WorkloadID{a.ID}})
	w.refused(nil, &store.Batch{Workloads: []*core.Workload{next(sixth)}, Edited: []core.WorkloadID{b.ID}})
	w.refused(nil, &store.Batch{Workloads: []*core.Workload{next(sixth, func(x *core.Workload) { x.Spec = nil })}, Edited: []core.WorkloadID{a.ID}})
	w.refused(store.ErrConflict, &store.Batch{Workloads: []*core.Workload{next(next(sixth), document("four", nil))}, Edited: []core.WorkloadID{a.ID}})
	check(sixth, rev)
}

func secret(user, name string) core.Secret {
	return core.Secret{
		User: user, Name: name, Type: "mounted", Fields: map[string]string{"path": "/" + name},
		Sealed: []byte("\x00\xffsealed " + user + name), CreatedAt: epoch,
	}
}

func (w *world) secrets(want ...core.Secret) {
	w.t.Helper()
	got, err := w.s.Secrets(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	if len(got)+len(want) > 0 {
		same(w.t, "Secrets", got, want)
	}
}

func testSecrets(t *testing.T, w *world) {
	w.secrets()
	big := secret("ada", "big")
	big.Sealed = make([]byte, 1<<20)
	bare := core.Secret{User: "bob", Name: "a", CreatedAt: epoch.Add(1)} // cut to microseconds
	w.commit(&store.Batch{Secrets: []core.Secret{secret("bob", "b"), bare, big, secret("", "nobody's")}})
	all := []core.Secret{secret("", "nobody's"), big, bare, secret("bob", "b")}
	w.secrets(all...)
	w.refused(store.ErrExists, &store.Batch{Secrets: []core.Secret{secret("new", "new"), secret("bob", "b")}})
	w.refused(store.ErrExists, &store.Batch{Secrets: []core.Secret{secret("ada", "twice"), secret("ada", "twice")}})
	w.refused(nil, &store.Batch{Secrets: []core.Secret{{User: "ada"}}})
	w.secrets(all...)

	// Dropped and made anew in one batch; unknown ones are passed over.
	anew := secret("bob", "b")
	anew.Type, anew.Everywhere = "env", true
	w.commit(&store.Batch{
		DropSecrets: []core.SecretID{{User: "bob", Name: "b"}, {User: "ada", Name: "b"}, {User: "nobody", Name: "x"}},
		Secrets:     []core.Secret{anew},
	})
	all[3] = anew
	w.secrets(all...)
	w.commit(&store.Batch{DropSecrets: []core.SecretID{{User: "ada", Name: "big"}, {User: "bob", Name: "b"}}})
	w.reopen()
	w.secrets(all[0], all[2])

	// What is read is the reader's own.
	got, err := w.s.Secrets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got[0].Sealed[0], got[0].Fields["path"] = 'x', "changed"
	w.secrets(all[0], all[2])
}

// uses reads charged time, checks that it is in order, and prints it.
func (w *world) uses(q store.UseQuery) []string {
	w.t.Helper()
	var all []string
	if err := w.s.Uses(w.t.Context(), q, func(u core.Use) bool {
		all = append(all, useText(u))
		return true
	}); err != nil {
		w.t.Fatalf("Uses(%+v): %v", q, err)
	}
	return all
}

func useText(u core.Use) string {
	return fmt.Sprintf("%s %s %s %s %s %d/%d %v %s %s %d %s %s %v", u.Workload, u.Name, u.Project, u.User, u.Kind, u.Attempt, u.Task, u.Succeeded,
		u.Node, u.Device, u.Milli, u.From.Format(time.RFC3339Nano), u.To.Format(time.RFC3339Nano), u.GPUSeconds)
}

func testUses(t *testing.T, w *world) {
	at := func(us int64) time.Time { return epoch.Add(time.Duration(us) * time.Microsecond) }
	a := w.workload(func(x *core.Workload) { x.Project, x.User = "p", "bob" })
	b := w.workload(in(lifecycle.Deleted), func(x *core.Workload) { x.Kind = lifecycle.Workspace })
	held := func(id core.WorkloadID, attempt, index int, placed, released int64, devices ...core.Share) *core.Task {
		k := task(id, attempt, index)
		k.PlacedAt, k.ReleasedAt, k.Devices = at(placed), at(released), devices
		if k.State = core.TaskFailed; index == 10 {
			k.State = core.TaskSucceeded
		}
		if released == 0 {
			k.ReleasedAt = time.Time{}
		}
		return k
	}
	one, half := core.Share{Device: "one", Milli: 1000}, core.Share{Device: "half", Index: 1, Milli: 500}
	never := held(a.ID, 1, 2, 0, 0, one)
	never.PlacedAt = time.Time{}
	parted := held(b.ID, 0, 8, 100, 101)
	parted.Counted = "1g.10gb=1,2g.20gb=1,rdma/hca=4" // partitions, and what is none
	w.commit(&store.Batch{Workloads: []*core.Workload{a, b}, Tasks: []*core.Task{
		held(b.ID, 0, 10, 100, 200, one), held(b.ID, 0, 9, 100, 101, one), // by index, not by text
		held(a.ID, 1, 0, 1000, 0, half, one), held(a.ID, 0, 0, 1, 7, one), held(a.ID, 1, 1, 50, 50, one), // no time at all
		never, parted, held(a.ID, 1, 3, 10, 20), held(a.ID, 1, 4, 10, 20, core.Share{Device: "none"}),
		held("nobody", 0, 0, 1, 2, one), // of a workload that is not there
	}})
	line := func(n *core.Workload, attempt, index int, s core.Share, from, to int64, seconds float64) string {
		return useText(core.Use{
			Workload: n.ID, Name: n.Name, Project: n.Project, User: n.User, Kind: n.Kind, Attempt: attempt, Task: index,
			Succeeded: index == 10, Node: "node-1", Device: s.Device, Milli: s.Milli, From: at(from), To: at(to), GPUSeconds: seconds,
		})
	}
	early := line(a, 0, 0, one, 1, 7, 6e-6)
	eight := line(b, 0, 8, core.Share{Device: parted.Counted, Milli: 3000}, 100, 101, 3e-6)
	nine, ten := line(b, 0, 9, one, 100, 101, 1e-6), line(b, 0, 10, one, 100, 200, 1e-4)
	halfNow, oneNow := line(a, 1, 0, half, 1000, 2_000_001, 0.9995005), line(a, 1, 0, one, 1000, 2_000_001, 1.999001)
	now := at(2_000_001)
	for i, c := range []struct {
		q    store.UseQuery
		want []string
	}{
		{store.UseQuery{Now: now}, []string{early, halfNow, oneNow, eight, nine, ten}},
		{store.UseQuery{Now: now.Add(999)}, []string{early, halfNow, oneNow, eight, nine, ten}}, // whole microseconds
		{store.UseQuery{Now: now, Project: "p"}, []string{early, halfNow, oneNow}},
		{store.UseQuery{Now: now, User: "ada"}, []string{eight, nine, ten}},
		{store.UseQuery{Now: now, Workload: b.ID}, []string{eight, nine, ten}},
		{store.UseQuery{Now: now, Workload: b.ID, User: "bob"}, nil},
		{store.UseQuery{Now: now, Workload: "nobody"}, nil},
		{store.UseQuery{Now: at(1000)}, []string{early, eight, nine, ten}}, // it begins just now
		{store.UseQuery{Now: now, From: at(7), To: at(1000)}, []string{eight, nine, ten}},
		{store.UseQuery{Now: now, From: at(6), To: at(101)}, []string{line(a, 0, 0, one, 6, 7, 1e-6), eight, nine, line(b, 0, 10, one, 100, 101, 1e-6)}},
		{store.UseQuery{Now: now, From: at(101), To: at(1001)}, []string{
			line(a, 1, 0, half, 1000, 1001, 5e-7), line(a, 1, 0, one, 1000, 1001, 1e-6), line(b, 0, 10, one, 101, 200, 99e-6)}},
		{store.UseQuery{Now: now, From: now}, nil},
		{store.UseQuery{Now: now, To: at(1)}, nil},
		{store.UseQuery{Now: now, From: at(200), To: at(100)}, nil},
	} {
		w.sameUses(fmt.Sprintf("%d: Uses(%+v)", i, c.q), w.uses(c.q), c.want)
	}
	testUsesEnds(t, w, now)
	// A task that has given back what it had; and one whose devices are gone.
	w.commit(&store.Batch{Tasks: []*core.Task{held(a.ID, 1, 0, 1000, 3000, one), held(b.ID, 0, 10, 100, 200)}})
	w.reopen()
	w.sameUses("after a change", w.uses(store.UseQuery{Now: now}), []string{early, line(a, 1, 0, one, 1000, 3000, 2e-3), eight, nine})
}

// testUsesEnds is for a store with charged time: who asks may end the answer.
func testUsesEnds(t *testing.T, w *world, now time.Time) {
	t.Helper()
	calls := 0
	if err := w.s.Uses(t.Context(), store.UseQuery{Now: now}, func(core.Use) bool { calls++; return calls < 2 }); err != nil || calls != 2 {
		t.Errorf("Uses ended by its second call: %d calls, %v", calls, err)
	}
	if err := w.s.Uses(t.Context(), store.UseQuery{}, func(core.Use) bool { return true }); err == nil {
		t.Error("Uses without Now was answered")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.s.Uses(ctx, store.UseQuery{Now: now}, func(core.Use) bool { return true }); !errors.Is(err, context.Canceled) {
		t.Errorf("Uses: %v, want context.Canceled", err)
	}
}

func (w *world) sameUses(what string, got, want []string) {
	w.t.Helper()
	for i := range max(len(got), len(want)) {
		g, n := "nothing", "nothing"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			n = want[i]
		}
		if g != n {
			w.t.Errorf("%s: line %d is\n%s\nwant\n%s", what, i, g, n)
			return
		}
	}
}
