// Package tasks remembers the tasks that a cluster has, with what was last seen of
// each and what keeps it from getting on. It asks nobody.
package tasks

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

// Table is the tasks that the cluster has, with what was last seen of each. What
// has ended stays, also without its pod, until it is forgotten.
type Table struct {
	clock func() time.Time

	mu       sync.Mutex
	known    map[core.TaskID]*Task
	uids     map[types.UID]core.TaskID // of pods that are, or were, those of tasks
	Attempts map[Attempt]int           // how many of each are known, or about to be
	watchers map[int]*watcher
	next     int
}

// Task is what is known of one.
type Task struct {
	Space, Name string // of its pod
	Uid         types.UID
	Observed    types.UID // of the last pod of which the watch told, there or not
	Node        string
	Seen        backend.Observation
	There       bool                  // its pod is
	Secret      bool                  // it has one beside its pod
	Claim       string                // UID of its pod, which someone else made; empty: we did
	Main        string                // the container of the command; empty: that of our pods
	Bound       bool                  // to its node
	Stopping    bool                  // we asked for its end
	Forgotten   bool                  // the rest of it goes when its output is complete
	Until       time.Time             // what it was given to end, where it was told to; zero: it was not
	tries       int                   // to pull its image
	Endless     bool                  // these are never enough
	SecretUID   types.UID             // of that one, where it is known
	Word        string                // for which it waits
	Blank       bool                  // nothing of its pod has started
	since       time.Time             // since when word and blank are so
	asked       time.Time             // when the cluster was last asked why it does not get on
	Trouble     time.Time             // since when something is said to keep it from getting on
	Changed     string                // what others made of its pod when it was created
	By          *podstatus.Disruption // what was said to take its pod away; nil: nothing
	Stuck       string                // why it cannot be ended
	Restored    int                   // how often what others did to its labels was undone
	Next        *backend.Assignment   // what starts once its pod is gone
}

// watcher is one caller of Watch.
type watcher struct {
	mu    sync.Mutex
	news  []backend.Observation
	ready chan struct{}
}

// New is a table without tasks.
func New(clock func() time.Time) *Table {
	return &Table{clock: clock, known: map[core.TaskID]*Task{}, uids: map[types.UID]core.TaskID{}, Attempts: map[Attempt]int{}, watchers: map[int]*watcher{}}
}

// All is what was last seen of every task.
func (t *Table) All() []backend.Observation {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]backend.Observation, 0, len(t.known))
	for _, x := range t.known {
		if !x.Forgotten {
			out = append(out, x.Seen)
		}
	}
	return out
}

// Get is a copy of what is known of a task.
func (t *Table) Get(id core.TaskID) (Task, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if x := t.known[id]; x != nil {
		return *x, true
	}
	return Task{}, false
}

// Edit changes what is known of a task under the lock and tells those who
// watch where that changed what is seen. make: it may be new.
func (t *Table) Edit(id core.TaskID, make bool, change func(*Task)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.known[id]
	if x == nil {
		if !make {
			return
		}
		x = &Task{Seen: backend.Observation{ID: id, State: core.TaskStarting, At: t.clock()}}
		t.known[id] = x
		t.count(AttemptOf(id), 1)
	}
	before := x.Seen
	change(x)
	if x.Uid != "" && x.There {
		t.uids[x.Uid] = id
	}
	if x.Seen != before && !x.Forgotten {
		for _, w := range t.watchers {
			w.add(x.Seen)
		}
	}
}

// Runs is the name of the container of the command.
func (t *Task) Runs() string { return cmp.Or(t.Main, naming.Container) }

// Owner is the task whose pod has, or had, a UID.
func (t *Table) Owner(uid types.UID) (core.TaskID, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id, ok := t.uids[uid]
	return id, ok
}

// Disown forgets a pod that is gone.
func (t *Table) Disown(uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.uids, uid)
}

// Some reports whether any task of an attempt is known.
func (t *Table) Some(w core.WorkloadID, attempt int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.Attempts[Attempt{w, attempt}] > 0
}

// Attempt names an attempt.
type Attempt struct {
	w core.WorkloadID
	n int
}

// AttemptOf is the attempt of a task.
func AttemptOf(id core.TaskID) Attempt { return Attempt{id.Workload, id.Attempt} }

// Drop forgets a task, and says what is to start in its place; nil: nothing.
func (t *Table) Drop(id core.TaskID) *backend.Assignment {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.known[id]
	if x == nil {
		return nil
	}
	delete(t.known, id)
	t.count(AttemptOf(id), -1)
	return x.Next
}

// count adds to how many of an attempt are known. The lock is held.
func (t *Table) count(of Attempt, n int) {
	if t.Attempts[of] += n; t.Attempts[of] == 0 {
		delete(t.Attempts, of)
	}
}

// Expect has an attempt count as known until done is called: some task of it is
// about to be.
func (t *Table) Expect(of Attempt) (done func()) {
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

// Watch calls seen with what changes until ctx is done.
func (t *Table) Watch(ctx context.Context, seen func([]backend.Observation)) error {
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
