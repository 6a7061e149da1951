package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/store"
)

// testModel commits random batches, some of them spoiled, and compares every
// reading with a model that fits on a page. STORETEST_SEED repeats a failure.
func testModel(t *testing.T, w *world) {
	seeds := []uint64{1, 2, 2868764391517567647, rand.Uint64()} // the third has found something
	if s := os.Getenv("STORETEST_SEED"); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("STORETEST_SEED is %q; want a number", s)
		}
		seeds = []uint64{seed}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWorld(t, w.open)
			m := &model{world: w, r: rand.New(rand.NewPCG(seed, 1)), tasks: map[core.TaskID]core.Task{}, keys: map[string]store.Key{}, secrets: map[core.SecretID]core.Secret{}}
			for i := 0; i < 60 && !t.Failed(); i++ {
				m.round()
				switch {
				case i%20 == 19:
					w.reopen()
					fallthrough
				case i%5 == 4:
					m.compare()
				}
			}
			if t.Failed() {
				t.Logf("STORETEST_SEED=%d repeats this", seed)
			}
		})
	}
}

// matches is the meaning of a Query, but for Cursor and Limit.
func matches(n *core.Workload, q store.Query) bool {
	for k, v := range q.Labels {
		if got, ok := n.Spec.Labels[k]; !ok || got != v {
			return false
		}
	}
	return (q.Deleted || n.Phase != lifecycle.Deleted) &&
		(q.Cursor == 0 || n.Seq < q.Cursor) &&
		(q.Project == "" || n.Project == q.Project) &&
		(q.User == "" || n.User == q.User) &&
		(len(q.Kinds) == 0 || slices.Contains(q.Kinds, n.Kind)) &&
		(len(q.Phases) == 0 || slices.Contains(q.Phases, n.Phase)) &&
		(!q.Live || !n.Phase.End()) &&
		strings.HasPrefix(n.Name, q.Prefix) &&
		(q.Since.IsZero() || !n.CreatedAt.Before(q.Since)) &&
		(q.Before.IsZero() || n.CreatedAt.Before(q.Before))
}

type model struct {
	*world
	r        *rand.Rand
	ws       []*core.Workload // by Seq, with Rev
	tasks    map[core.TaskID]core.Task
	steps    []core.Transition
	keys     map[string]store.Key
	secrets  map[core.SecretID]core.Secret
	promises []core.Promise
	rev      core.Revision
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func (m *model) phase() lifecycle.Phase {
	all := lifecycle.Phases()
	return all[m.r.IntN(len(all))].Phase
}

func (m *model) taken(p core.ProjectID, name string, ws []*core.Workload) bool {
	return slices.ContainsFunc(ws, func(x *core.Workload) bool {
		return x.Project == p && x.Name == name && x.Phase != lifecycle.Deleted
	})
}

func (m *model) fresh() *core.Workload {
	return m.workload(in(m.phase()), func(x *core.Workload) {
		x.Name = fmt.Sprintf("%s-%d", pick(m.r, "a", "ab", "b"), m.r.IntN(30))
		x.Project = pick(m.r, core.ProjectID("p"), "q")
		x.User = pick(m.r, "ada", "bob", "eve")
		x.Kind = pick(m.r, lifecycle.Kinds()...)
		x.Spec = &spec.Document{Name: x.Name, Labels: map[string]string{}}
		for range m.r.IntN(3) {
			x.Spec.Labels[pick(m.r, "x", "y")] = pick(m.r, "1", "2")
		}
		x.CreatedAt = epoch.Add(time.Duration(m.r.IntN(1000)) * time.Minute) // not in the order of Seq
		if m.r.IntN(4) == 0 {
			x.WakeAt = epoch
		}
	})
}

// change is another version of n that takes no name.
func (m *model) change(n *core.Workload) *core.Workload {
	p := m.phase()
	if n.Phase == lifecycle.Deleted {
		p = lifecycle.Deleted
	}
	return next(n, in(p), func(x *core.Workload) {
		x.Message, x.Attempt = pick(m.r, texts...), x.Attempt+m.r.IntN(2)
		x.Conditions = []core.Condition{{Type: lifecycle.Degraded, Since: epoch}}[:m.r.IntN(2)]
		x.Course = m.course()
	})
}

// round commits one batch and applies it to the model if it must succeed.
func (m *model) round() {
	b, ws, steps := new(store.Batch), slices.Clone(m.ws), slices.Clone(m.steps)
	for range m.r.IntN(6) {
		n := m.fresh()
		if m.taken(n.Project, n.Name, ws) {
			m.seq--
			continue
		}
		b.Workloads, ws = append(b.Workloads, n), append(ws, n)
	}
	for range m.r.IntN(10) {
		if len(ws) == 0 {
			break
		}
		i := m.r.IntN(len(ws))
		ws[i] = m.change(ws[i])
		b.Workloads = append(b.Workloads, ws[i])
		if m.r.IntN(4) == 0 {
			m.edit(b, ws[i])
		}
		b.Tasks = append(b.Tasks, m.task(ws[i]))
		steps = append(steps, m.transition(ws[i].ID))
		b.Transitions = append(b.Transitions, steps[len(steps)-1])
	}
	key := store.Key{User: pick(m.r, "ada", "bob"), Key: strconv.Itoa(m.r.IntN(1000)), Hash: "h", Workload: "w", At: epoch.Add(time.Duration(m.rev) * time.Minute)}
	if _, ok := m.keys[key.User+" "+key.Key]; !ok {
		b.Keys = append(b.Keys, key)
	}
	if m.r.IntN(4) == 0 {
		b.ForgetKeysBefore = epoch.Add(time.Duration(m.r.Int64N(int64(m.rev)+1)) * time.Minute)
	}
	m.chooseSecrets(b)
	m.choosePromises(b)
	if want := m.spoil(b, ws); want != nil {
		m.refused(want, b)
		m.seq, m.step = 0, 0
		if n := len(m.ws); n > 0 {
			m.seq = m.ws[n-1].Seq
		}
		if n := len(m.steps); n > 0 {
			m.step = m.steps[n-1].Seq
		}
		return
	}
	m.apply(b, ws, steps)
}

func (m *model) apply(b *store.Batch, ws []*core.Workload, steps []core.Transition) {
	rev := m.commit(b)
	if m.rev++; rev != m.rev {
		m.t.Fatalf("revision %d, want %d", rev, m.rev)
	}
	for _, n := range b.Workloads {
		i := slices.IndexFunc(ws, func(x *core.Workload) bool { return x.ID == n.ID })
		stamped := *ws[i]
		stamped.Rev = rev
		ws[i] = &stamped
	}
	m.ws, m.steps = ws, steps
	for _, k := range b.Tasks {
		m.tasks[k.ID] = *k
	}
	for id, k := range m.keys {
		if k.At.Before(b.ForgetKeysBefore) {
			delete(m.keys, id)
		}
	}
	for _, id := range b.DropSecrets {
		delete(m.secrets, id)
	}
	for _, k := range b.Secrets {
		m.secrets[core.SecretID{User: k.User, Name: k.Name}] = k
	}
	if b.Promises != nil {
		m.promises = b.Promises
	}
	for _, k := range b.Keys {
		m.keys[k.User+" "+k.Key] = k
	}
}

// spoil makes every fourth batch one that must fail, at a random place.
func (m *model) spoil(b *store.Batch, ws []*core.Workload) error {
	if m.r.IntN(4) > 0 || len(ws) == 0 {
		return nil
	}
	n := ws[m.r.IntN(len(ws))]
	var bad *core.Workload
	var want error
	switch m.r.IntN(4) {
	case 3: // a secret that is there
		k := secret("ada", "twice")
		b.Secrets = append(b.Secrets, k, k)
		return store.ErrExists
	case 0: // a version that was there before
		old := *n
		bad, want = &old, store.ErrConflict
	case 1: // one too far
		bad, want = next(next(n)), store.ErrConflict
	default:
		if n.Phase == lifecycle.Deleted {
			return nil
		}
		bad, want = m.workload(named(n.Name), func(x *core.Workload) { x.Project = n.Project }), store.ErrExists
	}
	b.Workloads = append(b.Workloads, bad)
	return want
}

func (m *model) query() store.Query {
	var q store.Query
	maybe := func(set func()) {
		if m.r.IntN(4) == 0 {
			set()
		}
	}
	maybe(func() { q.Project = pick(m.r, core.ProjectID("p"), "q", "none") })
	maybe(func() { q.User = pick(m.r, "ada", "bob", "none") })
	maybe(func() { q.Kinds = []lifecycle.Kind{pick(m.r, lifecycle.Kinds()...), pick(m.r, lifecycle.Kinds()...)} })
	maybe(func() { q.Phases = []lifecycle.Phase{m.phase(), m.phase(), m.phase()} })
	maybe(func() { q.Live = true })
	maybe(func() { q.Prefix = pick(m.r, "a", "a-1", "ab", "none") })
	maybe(func() { q.Since = epoch.Add(time.Duration(m.r.IntN(1000)) * time.Minute) })
	maybe(func() { q.Before = epoch.Add(time.Duration(m.r.IntN(1000)) * time.Minute) })
	maybe(func() { q.Labels = map[string]string{pick(m.r, "x", "y"): pick(m.r, "1", "2", "3")} })
	maybe(func() { q.Labels = map[string]string{"x": "1", "y": "2"} })
	maybe(func() { q.Deleted = true })
	maybe(func() { q.Limit = 1 + m.r.IntN(10) })
	maybe(func() { q.Cursor = 1 + m.r.Int64N(m.seq+2) })
	return q
}

// compare reads everything in every way.
func (m *model) compare() {
	t, ctx := m.t, m.t.Context()
	want := store.Counters{Workload: m.seq, Transition: m.step, Revision: m.rev}
	if got := m.counters(); got != want {
		t.Errorf("Counters: %+v, want %+v", got, want)
	}
	m.compareLists()
	m.compareSecrets()
	m.compareUses()
	m.compareSpans()
	if got, err := m.s.Promises(ctx); err != nil || !slices.Equal(got, m.promises) {
		t.Errorf("Promises: %v, %v; want %v", got, err, m.promises)
	}
	changed, err1 := m.s.ChangedSince(ctx, m.rev/2, 0)
	var since []int64
	for _, n := range slices.SortedStableFunc(slices.Values(m.ws), func(a, b *core.Workload) int { return int(a.Rev - b.Rev) }) {
		if n.Rev > m.rev/2 {
			since = append(since, n.Seq)
		}
	}
	expect(t, "ChangedSince", changed, since...)
	steps, err2 := m.s.Transitions(ctx, "", 0, 0)
	same(t, "Transitions", steps, m.steps)
	live, err3 := m.s.Live(ctx)
	i := 0
	for _, n := range m.ws {
		m.stored(n, n.Rev)
		if n.Phase.End() && n.WakeAt.IsZero() {
			continue
		}
		var tasks []core.Task
		for _, id := range m.taskIDs() {
			if id.Workload == n.ID && id.Attempt == n.Attempt {
				tasks = append(tasks, m.tasks[id])
			}
		}
		if i >= len(live) {
			t.Fatalf("Live: %d entries and %s is missing", len(live), n.ID)
		}
		sameWorkload(t, live[i].Workload, n, n.Rev)
		same(t, "tasks of "+string(n.ID), live[i].Tasks, tasks)
		i++
	}
	if i != len(live) {
		t.Errorf("Live: %d entries, want %d", len(live), i)
	}
	for _, user := range []string{"ada", "bob"} {
		for key := range 1000 {
			_, there := m.keys[user+" "+strconv.Itoa(key)]
			if _, _, err := m.s.Remembered(ctx, user, strconv.Itoa(key)); (err == nil) != there {
				t.Errorf("Remembered(%s, %d): %v; was it? %v", user, key, err, there)
			}
		}
	}
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Error(err)
	}
}

func (m *model) compareLists() {
	t := m.t
	for range 40 {
		q := m.query()
		limit := q.Limit
		if limit == 0 {
			limit = 100
		}
		var seqs []int64
		for _, n := range slices.Backward(m.ws) {
			if matches(n, q) {
				seqs = append(seqs, n.Seq)
			}
		}
		var following int64
		if len(seqs) > limit {
			seqs, following = seqs[:limit], seqs[limit-1]
		}
		page := m.list(q)
		expect(t, fmt.Sprintf("List(%+v)", q), page.Items, seqs...)
		if page.Next != following {
			t.Errorf("List(%+v): next is %d, want %d", q, page.Next, following)
		}
	}
}
