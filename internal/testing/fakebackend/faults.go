package fakebackend

import (
	"fmt"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// Next is the first instant after now at which something changes by itself;
// zero: nothing does.
func (p *Backend) Next() time.Time {
	now, unlock := p.lock()
	defer unlock()
	at, _ := p.next(now)
	return at
}

func (p *Backend) next(now time.Time) (first time.Time, ok bool) {
	for _, t := range p.tasks {
		if at, changes := t.next(now); changes && (!ok || at.Before(first)) {
			first, ok = at, true
		}
	}
	return first, ok
}

// Kill takes a node away: its tasks are lost, and it is not ready.
func (p *Backend) Kill(id core.NodeID) error {
	now, unlock := p.lock()
	defer unlock()
	n, err := p.node(id)
	if err != nil {
		return err
	}
	n.Ready, n.Message = false, "it does not answer"
	for _, t := range p.tasks {
		if t.a.Node == id && !t.state.State.Ended() {
			t.lose(now)
		}
	}
	p.wake()
	return nil
}

// Revive brings a node back, empty.
func (p *Backend) Revive(id core.NodeID) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, err := p.node(id)
	if err != nil {
		return err
	}
	n.Ready, n.Message = true, ""
	return nil
}

// Cordon says whether a node takes new work.
func (p *Backend) Cordon(id core.NodeID, on bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, err := p.node(id)
	if err != nil {
		return err
	}
	n.Cordon = on
	return nil
}

func (p *Backend) node(id core.NodeID) (*core.Node, error) {
	i := slices.IndexFunc(p.nodes, func(n core.Node) bool { return n.ID == id })
	if i < 0 {
		return nil, fmt.Errorf("backend %s has no node %q", p.name, id)
	}
	return &p.nodes[i], nil
}

// Remove takes a node away, as if it had been sold; what runs on it is none of its matter.
func (p *Backend) Remove(id core.NodeID) error {
	_, unlock := p.lock()
	defer unlock()
	if _, err := p.node(id); err != nil {
		return err
	}
	p.nodes = slices.DeleteFunc(p.nodes, func(n core.Node) bool { return n.ID == id })
	p.wake()
	return nil
}

// Lose makes a task vanish without a trace.
func (p *Backend) Lose(id core.TaskID) {
	_, unlock := p.lock()
	defer unlock()
	delete(p.tasks, id)
	p.wake()
}

// FailStarts makes the next n calls of Start fail, each having started half of
// what it was asked for: an error means that nobody knows.
func (p *Backend) FailStarts(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failStarts = n
}

// RefuseStarts makes the backend refuse all that the next n calls of Start ask for.
func (p *Backend) RefuseStarts(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuseStarts = n
}

// BreakLogs makes logs that are not followed break off in their middle.
func (p *Backend) BreakLogs() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.breakLogs = true
}

// Evict takes a task away that the backend holds and that has not ended.
func (p *Backend) Evict(id core.TaskID) {
	now, unlock := p.lock()
	defer unlock()
	if t := p.tasks[id]; t != nil && !t.state.State.Ended() {
		t.taken(now, "the backend needed its room")
		p.wake()
	}
}

// taken ends a task for the backend's sake.
func (t *task) taken(now time.Time, message string) {
	t.state = backend.Observation{ID: t.a.ID, State: core.TaskFailed, Reason: string(lifecycle.ReasonSystem), Message: message, At: now}
}

// Assigned returns what a task that the backend holds was started with.
func (p *Backend) Assigned(id core.TaskID) (backend.Assignment, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.tasks[id]
	if t == nil {
		return backend.Assignment{}, false
	}
	return t.a, true
}
