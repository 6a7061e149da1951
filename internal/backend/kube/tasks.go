package kube

import (
	"cmp"
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/podstatus"
	"github.com/musterhq/muster/internal/core"
)

// tasks are those that the cluster has, with what was last seen of each. What
// has ended stays, also without its pod, until it is forgotten.
type tasks struct {
	clock func() time.Time

	mu       sync.Mutex
	known    map[core.TaskID]*task
	uids     map[types.UID]core.TaskID // of pods that are, or were, those of tasks
	attempts map[attemptOf]int         // how many of each are known, or about to be
	watchers map[int]*watcher
	next     int
}

// task is what is known of one.
type task struct {
	space, name string // of its pod
	uid         types.UID
	node        string
	seen        backend.Observation
	there       bool                  // its pod is
	secret      bool                  // it has one beside its pod
	claim       string                // UID of its pod, which someone else made; empty: we did
	main        string                // the container of the command; empty: that of our pods
	bound       bool                  // to its node
	stopping    bool                  // we asked for its end
	forgotten   bool                  // the rest of it goes when its output is complete
	until       time.Time             // what it was given to end, where it was told to; zero: it was not
	tries       int                   // to pull its image
	endless     bool                  // these are never enough
	secretUID   types.UID             // of that one, where it is known
	word        string                // for which it waits
	blank       bool                  // nothing of its pod has started
	since       time.Time             // since when word and blank are so
	asked       time.Time             // when the cluster was last asked why it does not get on
	trouble     time.Time             // since when something is said to keep it from getting on
	changed     string                // what others made of its pod when it was created
	by          *podstatus.Disruption // what was said to take its pod away; nil: nothing
	stuck       string                // why it cannot be ended
	restored    int                   // how often what others did to its labels was undone
	next        *backend.Assignment   // what starts once its pod is gone
}

// watcher is one caller of Watch.
type watcher struct {
	mu    sync.Mutex
	news  []backend.Observation
	ready chan struct{}
}

func newTasks(clock func() time.Time) *tasks {
	return &tasks{clock: clock, known: map[core.TaskID]*task{}, uids: map[types.UID]core.TaskID{}, attempts: map[attemptOf]int{}, watchers: map[int]*watcher{}}
}

// all is what was last seen of every task.
func (t *tasks) all() []backend.Observation {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]backend.Observation, 0, len(t.known))
	for _, x := range t.known {
		if !x.forgotten {
			out = append(out, x.seen)
		}
	}
	return out
}

// get is a copy of what is known of a task.
func (t *tasks) get(id core.TaskID) (task, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if x := t.known[id]; x != nil {
		return *x, true
	}
	return task{}, false
}

// edit changes what is known of a task under the lock and tells those who
// watch where that changed what is seen. make: it may be new.
func (t *tasks) edit(id core.TaskID, make bool, change func(*task)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.known[id]
	if x == nil {
		if !make {
			return
		}
		x = &task{seen: backend.Observation{ID: id, State: core.TaskStarting, At: t.clock()}}
		t.known[id] = x
		t.count(attemptOf{id.Workload, id.Attempt}, 1)
	}
	before := x.seen
	change(x)
	if x.uid != "" && x.there {
		t.uids[x.uid] = id
	}
	if x.seen != before && !x.forgotten {
		for _, w := range t.watchers {
			w.add(x.seen)
		}
	}
}

// runs is the name of the container of the command.
func (t *task) runs() string { return cmp.Or(t.main, naming.Container) }

// owner is the task whose pod has, or had, a UID.
func (t *tasks) owner(uid types.UID) (core.TaskID, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id, ok := t.uids[uid]
	return id, ok
}

// disown forgets a pod that is gone.
func (t *tasks) disown(uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.uids, uid)
}

// some reports whether any task of an attempt is known.
func (t *tasks) some(w core.WorkloadID, attempt int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.attempts[attemptOf{w, attempt}] > 0
}

// attemptOf names an attempt.
type attemptOf struct {
	w core.WorkloadID
	n int
}

// drop forgets a task, and says what is to start in its place; nil: nothing.
func (t *tasks) drop(id core.TaskID) *backend.Assignment {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.known[id]
	if x == nil {
		return nil
	}
	delete(t.known, id)
	t.count(attemptOf{id.Workload, id.Attempt}, -1)
	return x.next
}

// count adds to how many of an attempt are known. The lock is held.
func (t *tasks) count(of attemptOf, n int) {
	if t.attempts[of] += n; t.attempts[of] == 0 {
		delete(t.attempts, of)
	}
}

// expect has an attempt count as known until done is called: some task of it is
// about to be.
func (t *tasks) expect(of attemptOf) (done func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count(of, 1)
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.count(of, -1)
	}
}

func (w *watcher) add(o backend.Observation) {
	w.mu.Lock()
	w.news = append(w.news, o)
	w.mu.Unlock()
	select {
	case w.ready <- struct{}{}:
	default:
	}
}

// watch calls seen with what changes until ctx is done.
func (t *tasks) watch(ctx context.Context, seen func([]backend.Observation)) error {
	w := &watcher{ready: make(chan struct{}, 1)}
	t.mu.Lock()
	t.next++
	key := t.next
	t.watchers[key] = w
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		delete(t.watchers, key)
		t.mu.Unlock()
	}()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.ready:
		}
		w.mu.Lock()
		news := w.news
		w.news = nil
		w.mu.Unlock()
		if len(news) > 0 {
			seen(news)
		}
	}
}

// Address implements backend.Locator: the pod's name in the cluster's DNS, which
// is known before the pod is there. The resolver of each pod completes it with
// the namespace.
func (p *Backend) Address(id core.TaskID) string {
	return naming.HostName(id) + "." + naming.ServiceName(id)
}
