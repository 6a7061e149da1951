package control

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/engine/draft"
)

// A backend that fails one workload's action while it answers the others is no
// reason to keep those waiting. What it fails is set aside, by attempt, and
// tried again beside the queue; everything else goes on.

// startTries and startWithin bound how often, and for how long, a start that
// fails is tried again before the task counts as failed. Both must be over: a
// clock that jumps gives nobody up.
const (
	startTries  = 8
	startWithin = time.Minute
)

// attemptKey is what is set aside together: the tasks of a gang are started in
// one call.
type attemptKey struct {
	workload core.WorkloadID
	attempt  int
}

func key(x *draft.Action) attemptKey { return attemptKey{x.Task.Workload, x.Task.Attempt} }

// aside is what a backend has failed of one attempt, in the order in which it was
// decided.
type aside struct {
	items []draft.Action
	err   error
	since time.Time // of the first failure
	next  time.Time // of the next try
	wait  time.Duration
	tries int
}

// admit takes those out of items that must wait behind what is set aside of
// their attempt. A stop never waits: it takes the place of the starts of its
// task, which nobody wants any more.
func (q *actionQueue) admit(items []draft.Action) []draft.Action {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.aside) == 0 {
		return items
	}
	return slices.DeleteFunc(items, func(x draft.Action) bool {
		g := q.aside[key(&x)]
		switch {
		case g == nil || x.Task == (core.TaskID{}):
			return false
		case x.Kind == draft.ActStop:
			q.drop(key(&x), func(y draft.Action) bool {
				return y.Task == x.Task && (y.Kind == draft.ActStart || y.Kind == draft.ActStop)
			})
			return false
		case slices.ContainsFunc(g.items, func(y draft.Action) bool { return y.Task == x.Task }):
			g.items = append(g.items, x)
			return true
		default:
			return false
		}
	})
}

// drop takes actions off what is set aside. The caller holds the lock.
func (q *actionQueue) drop(key attemptKey, which func(draft.Action) bool) {
	g := q.aside[key]
	if g.items = slices.DeleteFunc(g.items, which); len(g.items) == 0 {
		delete(q.aside, key)
	}
}

// setAside notes that the backend has failed items, all of one attempt.
func (q *actionQueue) setAside(items []draft.Action, err error, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.aside == nil {
		q.aside = map[attemptKey]*aside{}
	}
	g := q.aside[key(&items[0])]
	if g == nil {
		g = &aside{since: now}
		q.aside[key(&items[0])] = g
	}
	g.items = append(g.items, items...)
	g.failed(err, now)
}

func (g *aside) failed(err error, now time.Time) {
	g.err, g.tries = err, g.tries+1
	g.wait = min(max(2*g.wait, paceFirst), paceMost)
	g.next = now.Add(g.wait)
}

// due is what is set aside and to be tried again by now, and how long it takes
// until something will be; negative: nothing is set aside.
func (q *actionQueue) due(now time.Time) (keys []attemptKey, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	wait = -1
	for key, g := range q.aside {
		left := g.next.Sub(now)
		if left <= 0 {
			keys = append(keys, key)
		}
		if left = max(left, 0); wait < 0 || left < wait {
			wait = left
		}
	}
	return keys, wait
}

// of is a copy of what is set aside of one attempt.
func (q *actionQueue) of(key attemptKey) (aside, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	g := q.aside[key]
	if g == nil {
		return aside{}, false
	}
	out := *g
	out.items = slices.Clone(g.items)
	return out, true
}

// waiting are the tasks whose start is set aside, as they are to be seen: they
// are on their way, and the backend says why they do not get further.
func (q *actionQueue) waiting() []backend.Observation {
	q.mu.Lock()
	defer q.mu.Unlock()
	var out []backend.Observation
	for _, g := range q.aside {
		for _, x := range g.items {
			if x.Kind == draft.ActStart {
				out = append(out, backend.Observation{ID: x.Task, State: core.TaskStarting, Waiting: waitingStart, Message: g.err.Error(), Claim: x.Assignment.Claim})
			}
		}
	}
	return out
}

// absent is what waits for its start and is not among what the backend has.
func (q *actionQueue) absent(seen []backend.Observation) []backend.Observation {
	out := q.waiting()
	if len(out) == 0 {
		return nil
	}
	held := make(map[core.TaskID]bool, len(seen))
	for i := range seen {
		held[seen[i].ID] = true
	}
	return slices.DeleteFunc(out, func(o backend.Observation) bool { return held[o.ID] })
}

// waitingStart describes why a task waits after its backend failed to start it.
const waitingStart = "StartError"

// apart carries items of one kind, which the backend has failed together, for each
// attempt by itself, and sets aside what fails again.
func (a *actuator) apart(ctx context.Context, items []draft.Action, err error) {
	var keys []attemptKey
	groups := map[attemptKey][]draft.Action{}
	for _, x := range items {
		if groups[key(&x)] == nil {
			keys = append(keys, key(&x))
		}
		groups[key(&x)] = append(groups[key(&x)], x)
	}
	for _, key := range keys {
		if len(keys) > 1 {
			err = a.carry(ctx, groups[key])
		}
		if err != nil {
			a.log.Warn("the backend did not do what it was asked; others go on, this is tried again", "workload", key.workload, "attempt", key.attempt, "err", err)
			a.queue.setAside(groups[key], err, a.ctl.clock())
			a.reportStarts(ctx)
		}
	}
}

// reportStarts reports the tasks that wait because the backend could not start them.
func (a *actuator) reportStarts(ctx context.Context) {
	if seen := a.queue.waiting(); len(seen) > 0 {
		a.report(ctx, engine.Observations{Seen: seen})
	}
}

// again tries what is set aside and due, and gives up starts that have failed
// for too long.
func (a *actuator) again(ctx context.Context) {
	keys, _ := a.queue.due(a.ctl.clock())
	slices.SortFunc(keys, func(x, y attemptKey) int {
		return cmp.Or(cmp.Compare(x.workload, y.workload), x.attempt-y.attempt)
	})
	for _, key := range keys {
		g, ok := a.queue.of(key)
		if !ok || ctx.Err() != nil {
			continue
		}
		done, err := 0, error(nil)
		for done < len(g.items) && err == nil {
			n := sameKind(g.items[done:])
			if err = a.carry(ctx, g.items[done:done+n]); err == nil {
				done += n
			}
		}
		a.queue.tried(key, done, err, a.ctl.clock())
		if err != nil && !errors.Is(err, backend.ErrUnreachable) {
			a.giveUp(ctx, key)
		}
	}
}

// tried notes that the first so many of an attempt's actions were carried out,
// and how the next failed.
func (q *actionQueue) tried(key attemptKey, done int, err error, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	g := q.aside[key]
	if g == nil {
		return
	}
	if g.items = g.items[min(done, len(g.items)):]; len(g.items) == 0 {
		delete(q.aside, key)
		return
	}
	if done > 0 {
		g.tries, g.wait, g.since = 0, 0, now
	}
	g.failed(err, now)
}

// giveUp ends a start that has failed for too long: what the backend does not hold
// after it was told to end it has not started, and counts as failed.
func (a *actuator) giveUp(ctx context.Context, key attemptKey) {
	g, ok := a.queue.of(key)
	if !ok || g.items[0].Kind != draft.ActStart || g.tries < startTries || a.ctl.clock().Sub(g.since) < startWithin {
		return
	}
	var ids []core.TaskID
	for _, x := range g.items {
		if x.Kind == draft.ActStart {
			ids = append(ids, x.Task)
		}
	}
	if a.backend.Stop(ctx, ids, 0) != nil {
		return
	}
	within, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	held, err := a.backend.Observe(within)
	if err != nil {
		return
	}
	var seen []backend.Observation
	for _, id := range ids {
		if !slices.ContainsFunc(held, func(o backend.Observation) bool { return o.ID == id }) {
			seen = append(seen, backend.Observation{ID: id, State: core.TaskFailed, Reason: string(lifecycle.ReasonSystem), Message: "it could not be started: " + g.err.Error(), At: a.ctl.clock()})
		}
	}
	a.queue.mu.Lock()
	a.queue.drop(key, func(x draft.Action) bool { return x.Kind == draft.ActStart && slices.Contains(ids, x.Task) })
	a.queue.mu.Unlock()
	a.report(ctx, engine.Observations{Seen: append(seen, held...)})
}
