package storetest

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/store"
)

func testEmpty(t *testing.T, w *world) {
	ctx := t.Context()
	if c := w.counters(); c != (store.Counters{}) {
		t.Errorf("Counters: %+v, want zeros", c)
	}
	if _, err := w.s.Workload(ctx, "nobody"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Workload: %v, want ErrNotFound", err)
	}
	if _, err := w.s.ByName(ctx, "default", "nobody"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("ByName: %v, want ErrNotFound", err)
	}
	if _, _, err := w.s.Remembered(ctx, "ada", "k"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Remembered: %v, want ErrNotFound", err)
	}
	live, err1 := w.s.Live(ctx)
	tasks, err2 := w.s.Tasks(ctx, "nobody", -1)
	steps, err3 := w.s.Transitions(ctx, "", 0, 0)
	changed, err4 := w.s.ChangedSince(ctx, 0, 0)
	projects, err5 := w.s.Projects(ctx)
	secrets, err6 := w.s.Secrets(ctx)
	pools, err7 := w.s.Pools(ctx)
	nodes, err8 := w.s.Nodes(ctx)
	licenses, err9 := w.s.Licenses(ctx)
	if err := errors.Join(err1, err2, err3, err4, err5, err6, err7, err8, err9); err != nil {
		t.Fatal(err)
	}
	uses := w.uses(store.UseQuery{Now: epoch})
	if n := len(live) + len(tasks) + len(steps) + len(changed) + len(projects) + len(secrets) + len(uses) + len(pools) + len(nodes) + len(licenses); n != 0 {
		t.Errorf("an empty store returned %d records", n)
	}
	if p := w.list(store.Query{}); len(p.Items) != 0 || p.Next != 0 {
		t.Errorf("List: %+v, want an empty last page", p)
	}
	if rev := w.commit(&store.Batch{}); rev != 1 {
		t.Errorf("an empty batch got revision %d, want 1", rev)
	}
}

// testEveryField fails when a field is added to a record and not kept.
func testEveryField(t *testing.T, w *world) {
	count := 0
	n := w.workload()
	document := n.Spec
	fill(reflect.ValueOf(n).Elem(), &count)
	n.Seq, n.Spec, n.Version, n.Phase, n.ID = 1, document, 1, lifecycle.Running, "w"
	var k core.Task
	fill(reflect.ValueOf(&k).Elem(), &count)
	k.ID.Workload, k.ID.Attempt = n.ID, n.Attempt
	var step core.Transition
	fill(reflect.ValueOf(&step).Elem(), &count)
	var project core.Project
	fill(reflect.ValueOf(&project).Elem(), &count)
	var pool core.Pool
	fill(reflect.ValueOf(&pool).Elem(), &count)
	var license core.License
	fill(reflect.ValueOf(&license).Elem(), &count)
	var reservation core.Reservation
	fill(reflect.ValueOf(&reservation).Elem(), &count)
	var node core.NodeSetting
	fill(reflect.ValueOf(&node).Elem(), &count)
	var secret core.Secret
	fill(reflect.ValueOf(&secret).Elem(), &count)
	rev := w.commit(&store.Batch{
		Workloads: []*core.Workload{n}, Tasks: []*core.Task{&k}, Transitions: []core.Transition{step},
		Projects: []core.Project{project}, Secrets: []core.Secret{secret}, Pools: []core.Pool{pool}, Licenses: []core.License{license}, Nodes: []core.NodeSetting{node},
		Reservations: []core.Reservation{reservation},
	})
	w.stored(n, rev)
	w.secrets(secret)
	tasks, err1 := w.s.Tasks(t.Context(), n.ID, n.Attempt)
	steps, err2 := w.s.Transitions(t.Context(), step.Workload, 0, 0)
	projects, err3 := w.s.Projects(t.Context())
	pools, err4 := w.s.Pools(t.Context())
	nodes, err5 := w.s.Nodes(t.Context())
	licenses, err6 := w.s.Licenses(t.Context())
	if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
		t.Fatal(err)
	}
	same(t, "Licenses", licenses, []core.License{license})
	same(t, "Tasks", tasks, []core.Task{k})
	same(t, "Transitions", steps, []core.Transition{step})
	same(t, "Projects", projects, []core.Project{project})
	same(t, "Pools", pools, []core.Pool{pool})
	reservations, err := w.s.Reservations(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "Reservations", reservations, []core.Reservation{reservation})
	same(t, "Nodes", nodes, []core.NodeSetting{node})

	// And by the other ways to a workload and its tasks.
	live, err := w.s.Live(t.Context())
	if err != nil || len(live) != 1 {
		t.Fatalf("Live: %d entries, %v; want 1", len(live), err)
	}
	sameWorkload(t, live[0].Workload, n, rev)
	same(t, "tasks of Live", live[0].Tasks, []core.Task{k})
	sameWorkload(t, w.list(store.Query{}).Items[0], n, rev)
	byName, err := w.s.ByName(t.Context(), n.Project, n.Name)
	if err != nil {
		t.Fatal(err)
	}
	sameWorkload(t, byName, n, rev)

	// A version that empties what can change.
	empty := next(n, func(x *core.Workload) {
		*x = core.Workload{
			ID: n.ID, Seq: n.Seq, Name: n.Name, Project: n.Project, Kind: n.Kind, User: n.User, Spec: n.Spec,
			CreatedAt: n.CreatedAt, Version: 2, State: lifecycle.State{Phase: lifecycle.Queued},
		}
	})
	w.stored(empty, w.commit(batch(empty)))
}

func testDocuments(t *testing.T, w *world) {
	for _, text := range []string{
		"command: echo hi",
		"kind: distributed\nname: d\nworkers: 4\nframework: pytorch\ncommand: [torchrun, '--x', \"a b\\n\"]\n" +
			"resources: {cpu: 500m, memory: 1.5Gi, gpu: {count: 8, type: h100}}\nmaxDuration: 12h\nttlAfterEnd: 7d\n",
		"command: x\npriority: high\npreemptible: false\nlabels: {team: a_b, empty: \"\"}\nannotations: {a: \"line\\nline\"}\n" +
			"env: {A: \"1\", B: \"\"}\narray: {completions: 20, parallelism: 3}\nretry: {limit: 3, backoff: 1s, maxBackoff: 1m, system: 0}\n" +
			"parameters: {lr: 0.1, big: 12345678901234567, deep: {list: [1, two, null, true, {}], text: \"3\"}}\n",
	} {
		d, err := spec.Load([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		n := w.workload(func(x *core.Workload) { x.Spec = d })
		w.stored(n, w.commit(batch(n)))
	}
	n := w.workload(func(x *core.Workload) { x.Spec = new(spec.Document) })
	w.stored(n, w.commit(batch(n)))
}

var texts = []string{
	"", " ", "plain", "Grüße, 世界 🚀", "tab\tnewline\nreturn\r\n", "nul\x00in the middle", "\x00", "\x01\x1f\x7f\u0085\u2028",
	`quotes " ' \ back`, "'; DROP TABLE workloads; --", "%_like*?", "<script>&amp;", "e\u0301 \u202E rtl", "$1 $2 ?", "\uFFFD",
}

func testText(t *testing.T, w *world) {
	for _, text := range texts {
		n := w.workload(func(x *core.Workload) {
			x.Message, x.User, x.Name = text, text, text
			x.Project = core.ProjectID("p" + text)
			x.Conditions = []core.Condition{{Type: lifecycle.Idle, Message: text, Since: epoch}}
			x.Spec = &spec.Document{Labels: map[string]string{"l" + text: text}, Args: []string{text}}
		})
		step := w.transition(n.ID)
		step.Message, step.Actor = text, text
		k := task(n.ID, 0, 0)
		k.Message, k.Waiting = text, text
		key := store.Key{User: text, Key: "k" + text, Hash: text, Workload: n.ID, At: epoch}
		rev := w.commit(&store.Batch{
			Workloads: []*core.Workload{n}, Tasks: []*core.Task{k},
			Transitions: []core.Transition{step}, Keys: []store.Key{key},
		})
		w.stored(n, rev)
		got, err := w.s.ByName(t.Context(), n.Project, text)
		if err != nil {
			t.Fatalf("ByName(%q): %v", text, err)
		}
		sameWorkload(t, got, n, rev)
		tasks, err1 := w.s.Tasks(t.Context(), n.ID, 0)
		steps, err2 := w.s.Transitions(t.Context(), n.ID, 0, 0)
		id, hash, err3 := w.s.Remembered(t.Context(), text, "k"+text)
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		same(t, "Tasks", tasks, []core.Task{*k})
		same(t, "Transitions", steps, []core.Transition{step})
		if id != n.ID || hash != text {
			t.Errorf("Remembered(%q): %q %q, want %q %q", text, id, hash, n.ID, text)
		}
		expect(t, "List by project "+text, w.list(store.Query{Project: n.Project}).Items, n.Seq)
		expect(t, "List by label "+text, w.list(store.Query{Labels: map[string]string{"l" + text: text}}).Items, n.Seq)
	}
	// What a program printed need not be text at all: it must not stop the server.
	n := w.workload(func(x *core.Workload) { x.Message = "bad \xff\xfe bytes" })
	step := w.transition(n.ID)
	step.Message = n.Message
	w.commit(&store.Batch{Workloads: []*core.Workload{n}, Transitions: []core.Transition{step}})
	got, err := w.s.Workload(t.Context(), n.ID)
	if err != nil || !strings.HasPrefix(got.Message, "bad ") || !strings.HasSuffix(got.Message, " bytes") {
		t.Errorf("a message that is not UTF-8: %v, %v", got, err)
	}
	if steps, err := w.s.Transitions(t.Context(), n.ID, 0, 0); err != nil || len(steps) != 1 {
		t.Errorf("a message that is not UTF-8: %v, %v", steps, err)
	}
}

func testBigText(t *testing.T, w *world) {
	big := strings.Repeat("ä line of output\n", 1<<20/17)
	n := w.workload(func(x *core.Workload) { x.Message = big })
	step := w.transition(n.ID)
	step.Message = big
	k := task(n.ID, 0, 0)
	k.Message = big
	rev := w.commit(&store.Batch{Workloads: []*core.Workload{n}, Tasks: []*core.Task{k}, Transitions: []core.Transition{step}})
	w.stored(n, rev)
	tasks, err1 := w.s.Tasks(t.Context(), n.ID, 0)
	steps, err2 := w.s.Transitions(t.Context(), n.ID, 0, 0)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	same(t, "Tasks", tasks, []core.Task{*k})
	same(t, "Transitions", steps, []core.Transition{step})
}

func testValuesAreNotChanged(t *testing.T, w *world) {
	zone := time.FixedZone("", 3600)
	at := time.Date(2026, 3, 1, 12, 0, 0, 123456789, zone)
	n := w.workload(func(x *core.Workload) {
		x.CreatedAt, x.PhaseAt, x.Attempts = at, at, []core.Attempt{{QueuedAt: at}}
		x.Conditions, x.Rev = []core.Condition{{Since: at}}, 77
	})
	before, document := *n, n.Spec.Clone()
	before.Attempts, before.Conditions = slices.Clone(n.Attempts), slices.Clone(n.Conditions)
	k := task(n.ID, 0, 0)
	k.PlacedAt = at
	taskBefore := *k
	rev := w.commit(&store.Batch{Workloads: []*core.Workload{n}, Tasks: []*core.Task{k}})
	if !reflect.DeepEqual(*n, before) || !n.Spec.Equal(document) || !reflect.DeepEqual(*k, taskBefore) {
		t.Error("Commit changed the caller's values")
	}
	w.stored(n, rev) // cut to microseconds, in UTC, with the revision of the commit
}

func testTasks(t *testing.T, w *world) {
	n, other := w.workload(), w.workload()
	all := []*core.Task{task(n.ID, 1, 10), task(n.ID, 0, 1), task(n.ID, 1, 2), task(n.ID, 0, 0), task(other.ID, 0, 0)}
	w.commit(&store.Batch{Workloads: []*core.Workload{n, other}, Tasks: all})
	changed := task(n.ID, 0, 1)
	changed.State, changed.Message = core.TaskFailed, "replaced"
	w.commit(&store.Batch{Tasks: []*core.Task{changed}})
	for attempt, want := range map[int][]core.Task{
		0:  {*all[3], *changed},
		1:  {*all[2], *all[0]},
		2:  nil,
		-1: {*all[3], *changed, *all[2], *all[0]},
	} {
		got, err := w.s.Tasks(context.Background(), n.ID, attempt)
		if err != nil {
			t.Fatal(err)
		}
		if len(got)+len(want) > 0 {
			same(t, "Tasks", got, want)
		}
	}
}

func testTransitions(t *testing.T, w *world) {
	a, b := w.workload(), w.workload()
	var all, ofA []core.Transition
	for i := range 20 {
		id := a.ID
		if i%3 == 0 {
			id = b.ID
		}
		step := w.transition(id)
		if all = append(all, step); id == a.ID {
			ofA = append(ofA, step)
		}
	}
	w.commit(&store.Batch{Workloads: []*core.Workload{a, b}, Transitions: all})
	for _, c := range []struct {
		id    core.WorkloadID
		after int64
		limit int
		want  []core.Transition
	}{
		{"", 0, 0, all},
		{"", 5, 0, all[5:]},
		{"", 5, 3, all[5:8]},
		{"", 0, 1000, all},
		{"", 20, 0, nil},
		{a.ID, 0, 0, ofA},
		{a.ID, ofA[3].Seq, 2, ofA[4:6]},
		{a.ID, 20, 5, nil},
		{"nobody", 0, 0, nil},
	} {
		got, err := w.s.Transitions(t.Context(), c.id, c.after, c.limit)
		if err != nil {
			t.Fatal(err)
		}
		if len(got)+len(c.want) > 0 {
			same(t, "Transitions", got, c.want)
		}
	}
	again := all[4]
	again.Message = "another"
	w.refused(store.ErrConflict, &store.Batch{Transitions: []core.Transition{again}})
}
