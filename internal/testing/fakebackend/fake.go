// Package fakebackend is a backend without machines: what a task does is written in its
// command, and its state follows from the clock that the backend was given.
//
//	[fake, start=2s, run=30s, exit=1, log=hello]
//
//	pull-fails=2 that many pulls of its image fail before one works: it waits
//	             with ErrImagePull and ImagePullBackOff, and fails with
//	             FailedImagePull when the assignment allows no further try
//	pull-wait=9s before the second pull, doubling from one to the next
//	init=W/2s    it waits with the word W for so long; several one after another
//	start=2s     until it runs; waiting=WORD is what it shows meanwhile
//	run=30s      how long it runs; forever: until it is stopped
//	exit=1       its exit code; signal=9: the signal that ends it
//	stop=1s      how long it takes to end when it is asked politely
//	fail=REASON  it fails with that reason instead of running; message=TEXT
//	log=LINE     a line of output, written when it begins to run
//	ignore-term  it ends by force only
//	never-ready  it never runs
//
// KEY@INDEX=… speaks to the task of that index. A list (exit=1,1,0) tells the
// runs of a task one after another, attempts, runs and restarts in place alike.
//
// Beside backend.Backend there are the faults: nodes that die, tasks that vanish,
// calls that fail. Watch and readers that follow wait in real time.
package fakebackend

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// Backend is a backend.Backend in memory. Make one with New.
type Backend struct {
	name  string
	clock func() time.Time

	mu           sync.Mutex
	nodes        []core.Node
	tasks        map[core.TaskID]*task
	runs         map[core.TaskID]int // how often each was started before
	logs         map[core.TaskID][]byte
	stamps       map[core.TaskID][]stamp
	failStarts   int
	refuseStarts int
	breakLogs    bool
	reading      backend.Reading // what Sample answers
	changed      chan struct{}   // closed and made anew when something was done
}

// New returns a backend of that name with nodes, whose tasks live by clock.
func New(name string, clock func() time.Time, nodes []core.Node) *Backend {
	p := &Backend{
		name: name, clock: clock, nodes: slices.Clone(nodes), changed: make(chan struct{}),
		tasks: map[core.TaskID]*task{}, runs: map[core.TaskID]int{}, logs: map[core.TaskID][]byte{}, stamps: map[core.TaskID][]stamp{},
	}
	for i := range p.nodes {
		p.nodes[i].Backend, p.nodes[i].Ready = name, true
	}
	return p
}

// Node describes a node with fake devices of one product.
func Node(id core.NodeID, cpuMilli, memory int64, gpus int, product string) core.Node {
	n := core.Node{ID: id, Pool: "default", CPU: cpuMilli, Memory: memory}
	for i := range gpus {
		n.Devices = append(n.Devices, core.Device{
			ID: fmt.Sprintf("%s-fake-%d", id, i), Index: i, Product: product, Memory: 80 << 30, Fake: true, Healthy: true,
		})
	}
	return n
}

// Name implements backend.Backend.
func (p *Backend) Name() string { return p.name }

// Inventory implements backend.Backend.
func (p *Backend) Inventory(ctx context.Context) ([]core.Node, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.nodes), nil
}

// lock takes the backend and brings everything up to date.
func (p *Backend) lock() (now time.Time, unlock func()) {
	p.mu.Lock()
	now = p.clock()
	for _, t := range p.tasks {
		p.advance(t, now)
	}
	return now, p.mu.Unlock
}

func (p *Backend) advance(t *task, now time.Time) {
	if !t.advance(now) {
		return
	}
	log := p.logs[t.a.ID] // of a run before, where it was restarted in place
	p.stamps[t.a.ID] = append(p.stamps[t.a.ID], stamp{now, int64(len(log))})
	for _, line := range t.s.log {
		log = append(append(log, line...), '\n')
	}
	p.logs[t.a.ID] = log
}

func (p *Backend) wake() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// Start implements backend.Backend.
func (p *Backend) Start(ctx context.Context, tasks []backend.Assignment) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	now, unlock := p.lock()
	defer unlock()
	defer p.wake()
	var failed error
	if p.failStarts > 0 && len(tasks) > 0 {
		p.failStarts--
		tasks = tasks[:len(tasks)/2] // nobody knows how far it came
		failed = fmt.Errorf("start on backend %s: %w", p.name, backend.ErrUnreachable)
	}
	refuses := p.refuseStarts > 0 && len(tasks) > 0
	if refuses {
		p.refuseStarts--
	}
	for _, a := range tasks {
		if p.tasks[a.ID] != nil {
			continue
		}
		p.start(a, now)
		if refuses {
			p.tasks[a.ID].taken(now, "the backend has no room for it")
		}
	}
	return failed
}

func (p *Backend) start(a backend.Assignment, now time.Time) {
	t := &task{a: a, begun: now}
	p.tasks[a.ID] = t
	var err error
	t.s, err = read(a.Argv, a.ID.Index, a.ID.Attempt+a.ID.Run+p.runs[a.ID])
	p.runs[a.ID]++
	t.state = backend.Observation{ID: a.ID, State: core.TaskStarting, Waiting: t.s.waiting, At: now}
	i := slices.IndexFunc(p.nodes, func(n core.Node) bool { return n.ID == a.Node })
	switch {
	case err == nil && i < 0:
		err = fmt.Errorf("backend %s has no node %q", p.name, a.Node)
	case err == nil && !p.nodes[i].Ready:
		t.lose(now)
	}
	if err != nil {
		t.state = backend.Observation{ID: a.ID, State: core.TaskFailed, Reason: string(lifecycle.ReasonContainerCannot), Message: err.Error(), At: now}
	}
	p.advance(t, now)
}

func (t *task) lose(now time.Time) {
	t.state = backend.Observation{
		ID: t.a.ID, State: core.TaskLost, Reason: string(lifecycle.ReasonNodeLost), At: now,
		Message: fmt.Sprintf("node %s is gone", t.a.Node),
	}
}

// Stop implements backend.Backend.
func (p *Backend) Stop(ctx context.Context, ids []core.TaskID, grace time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	now, unlock := p.lock()
	defer unlock()
	defer p.wake()
	for _, id := range ids {
		t := p.tasks[id]
		if t == nil || t.state.State.Ended() {
			continue
		}
		if t.asked.IsZero() {
			t.asked = now
		}
		if at := now.Add(max(grace, 0)); t.force.IsZero() || at.Before(t.force) {
			t.force = at
		}
		p.advance(t, now)
	}
	return nil
}

// Observe implements backend.Backend; observations are in the order of their IDs.
func (p *Backend) Observe(ctx context.Context) ([]backend.Observation, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	_, unlock := p.lock()
	defer unlock()
	all := make([]backend.Observation, 0, len(p.tasks))
	for _, t := range p.tasks {
		all = append(all, t.state)
	}
	slices.SortFunc(all, func(a, b backend.Observation) int { return compare(a.ID, b.ID) })
	return all, nil
}

func compare(a, b core.TaskID) int {
	return cmp.Or(cmp.Compare(a.Workload, b.Workload), cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.Index, b.Index))
}

// Watch implements backend.Backend.
func (p *Backend) Watch(ctx context.Context, seen func([]backend.Observation)) error {
	reported := map[core.TaskID]backend.Observation{}
	for {
		now, unlock := p.lock()
		var news []backend.Observation
		for _, id := range slices.SortedFunc(maps.Keys(p.tasks), compare) {
			if o := p.tasks[id].state; reported[id] != o {
				news = append(news, o)
				reported[id] = o
			}
		}
		wait := p.wait(now)
		unlock()
		if len(news) > 0 {
			seen(news)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wait:
		}
	}
}

// wait is closed once something may have changed. It must be called locked.
func (p *Backend) wait(now time.Time) <-chan struct{} {
	changed := p.changed
	at, ok := p.next(now)
	if !ok {
		return changed
	}
	over := make(chan struct{})
	timer := time.NewTimer(max(at.Sub(now), 0))
	go func() {
		defer close(over)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-changed:
		}
	}()
	return over
}

// Forget implements backend.Backend.
func (p *Backend) Forget(ctx context.Context, ids []core.TaskID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, unlock := p.lock()
	defer unlock()
	for _, id := range ids {
		if t := p.tasks[id]; t != nil && t.state.State.Ended() {
			delete(p.tasks, id)
		}
	}
	p.wake()
	return nil
}
