package engine

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/decide"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/store"
)

// tx is one draft of changes over the committed state.
type tx struct {
	e      *Engine
	ctx    context.Context
	now    time.Time
	drafts map[core.WorkloadID]*draft
	order  []core.WorkloadID // of drafts, as first touched
	names  map[name]struct{} // of workloads that the draft creates

	keys    []store.Key
	org     organisation
	secrets []core.Secret   // made
	gone    []core.SecretID // secrets that are dropped
	// unsettled are claims whose news could not be taken over.
	unsettled []claimKey
	takenOn   map[claimKey]core.WorkloadID // workloads that the draft has made for claims
	notified  notified
	moved     []core.WorkloadID // that others wait for, and that have come further
	templated templated
	actions   []Action
	causes    []lifecycle.Cause // by which right work was made to leave, see Meter
}

// draft is a workload as it will be.
type draft struct {
	w       *core.Workload
	tasks   map[int]*core.Task
	changed map[int]struct{} // tasks to write
	former  []*core.Task     // changed tasks of the attempt before, and of earlier runs, to write as well
	trail   []core.Transition
	base    *entry // committed; nil: new
	// was and wasTasks are what it was made of; nil: it is new.
	was      *core.Workload
	wasTasks map[int]*core.Task
	near     *decide.End // that it is warned of
	told     []telling
	touched  bool // there is something to write
	edited   bool // its document too
	quiet    bool // nothing has changed but what is said of it beside its phase
}

// open returns the draft of a live workload, making one on first touch.
func (tx *tx) open(id core.WorkloadID) (*draft, bool) {
	if d, ok := tx.drafts[id]; ok {
		return d, true
	}
	en, ok := tx.e.live[id]
	if !ok {
		return nil, false
	}
	return tx.draft(en.w, en.tasks, en), true
}

func (tx *tx) draft(w *core.Workload, tasks map[int]*core.Task, base *entry) *draft {
	c := *w
	c.Version++
	c.Attempts = slices.Clone(w.Attempts)
	c.Conditions = slices.Clone(w.Conditions)
	d := &draft{w: &c, tasks: maps.Clone(tasks), changed: map[int]struct{}{}, base: base}
	if c.Version > 1 {
		d.was, d.wasTasks = w, tasks
	}
	if d.tasks == nil {
		d.tasks = map[int]*core.Task{}
	}
	tx.drafts[c.ID] = d
	tx.order = append(tx.order, c.ID)
	return d
}

// view returns a live workload as the draft has it, without opening one.
func (tx *tx) view(id core.WorkloadID) (*core.Workload, map[int]*core.Task, bool) {
	if d, ok := tx.drafts[id]; ok {
		return d.w, d.tasks, true
	}
	if en, ok := tx.e.live[id]; ok {
		return en.w, en.tasks, true
	}
	return nil, nil, false
}

// change runs fn on a draft between taking it out of the indexes and putting
// it back, so that every index is a function of the state alone.
func (tx *tx) change(d *draft, fn func() error) error {
	d.touched, d.quiet = true, false
	tx.e.unindex(d.w, d.tasks)
	err := fn()
	d.w.WakeAt = tx.wakeAt(d.w, d.tasks).Truncate(time.Microsecond) // as it will be read back
	d.w.Counts = counts(d.w, d.tasks)
	d.attempt().GPUMilli = devicesHeld(d.w, d.tasks)
	tx.e.index(d.w, d.tasks)
	return err
}

func counts(w *core.Workload, tasks map[int]*core.Task) core.TaskCounts {
	var c core.TaskCounts
	for i, t := range tasks {
		if t.Again || t.State.Ended() && w.TaskCanceled(i) {
			continue // it waits, or never counts
		}
		switch t.State {
		case core.TaskStarting:
			c.Starting++
		case core.TaskRunning:
			c.Running++
		case core.TaskStopping:
			c.Stopping++
		case core.TaskSucceeded:
			c.Succeeded++
		case core.TaskFailed, core.TaskLost:
			c.Failed++
		}
	}
	return c
}

// step offers one event to the machine and records what it made of it. It must
// run inside change.
func (tx *tx) step(d *draft, in lifecycle.Input, actor string) error {
	next, err := lifecycle.Next(d.w.State, in)
	if err != nil {
		return err
	}
	from, attempt := d.w.Phase, d.w.Attempt
	d.w.State = next
	d.trail = append(d.trail, core.Transition{
		Workload: d.w.ID, Attempt: next.Attempt, From: from, Event: in.On, To: next.Phase, Target: next.Target,
		Cause: next.Cause, For: core.WorkloadID(in.For), Reason: next.Reason, Message: next.Message, Actor: actor, At: tx.now,
	})
	tx.e.dirty = true
	if from == lifecycle.Terminating && next.Phase != lifecycle.Terminating {
		d.settle(tx.now)
	}
	if busyPhase(from) && next.Phase != from {
		tx.actions = append(tx.actions, Action{Kind: ActDropOperations, Workload: d.w.ID})
	}
	if next.Phase == lifecycle.Queued || next.Phase == lifecycle.Inadmissible {
		d.renewChecks()
	}
	if next.Attempt != attempt {
		if a := d.attempt(); a.EndedAt.IsZero() {
			a.EndedAt = tx.now
		}
		tx.openAttempt(d)
	}
	d.stamp(from, tx.now)
	if next.Phase != from && len(tx.e.awaited[d.w.ID]) > 0 {
		tx.moved = append(tx.moved, d.w.ID)
	}
	return nil
}

// renewChecks forgets what was said of a reservation: the next one is checked
// anew.
func (d *draft) renewChecks() {
	d.w.Checks = slices.Clone(d.w.Checks)
	for i := range d.w.Checks {
		if c := &d.w.Checks[i]; c.When == atReservation {
			c.Verdict, c.By, c.At, c.AskAt = core.CheckWaiting, "", time.Time{}, time.Time{}
		}
	}
}

// attempt is the present attempt.
func (d *draft) attempt() *core.Attempt { return &d.w.Attempts[len(d.w.Attempts)-1] }

// stamp keeps the times that follow from entering a phase.
func (d *draft) stamp(from lifecycle.Phase, now time.Time) {
	w := d.w
	if w.Phase == from {
		return
	}
	w.PhaseAt = now
	a := d.attempt()
	if from == lifecycle.Reserved {
		a.Earmark = nil // what it is placed with counts from here on, or nothing
	}
	switch w.Phase {
	case lifecycle.Starting:
		if a.StartedAt.IsZero() {
			a.StartedAt = now
		}
	case lifecycle.Running:
		if a.RunningAt.IsZero() {
			a.RunningAt = now
		}
		if w.StartedAt.IsZero() {
			w.StartedAt = now
		}
	}
	w.EndedAt = time.Time{}
	if w.Phase.End() {
		w.EndedAt = now
		if a.EndedAt.IsZero() {
			a.EndedAt = now
		}
		if a.Event == "" || a.Event == lifecycle.Succeed { // what came after a success counts
			a.Event, a.Cause, a.Reason, a.Message = w.Event, w.Cause, w.Reason, w.Message
		}
		w.Conditions = nil
	}
}

// settle closes the books of the present attempt, whose resources are being
// given back.
func (d *draft) settle(now time.Time) {
	a := d.attempt()
	a.EndedAt = now
	a.Event, a.Cause, a.Reason, a.Message = d.w.Event, d.w.Cause, d.w.Reason, d.w.Message
	for _, t := range d.tasks {
		if t.ReleasedAt.IsZero() {
			c := *t
			c.ReleasedAt = later(now, t.PlacedAt)
			d.setTask(c)
		}
	}
	d.w.GPUSeconds += charged(d.w, d.tasks, now)
	d.w.Conditions, d.w.IdleSince, d.w.Warned = nil, time.Time{}, time.Time{}
	a.GPUMilli = 0 // change counts those of the attempt that is then the present one
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// openAttempt begins a new attempt: no tasks yet; an array goes on with what
// is left of it.
func (tx *tx) openAttempt(d *draft) {
	a := core.Attempt{Index: d.w.Attempt, QueuedAt: tx.now}
	a.Anew = len(d.trail) > 0 && d.trail[len(d.trail)-1].Event == lifecycle.Restart
	if d.w.Spec.Array != nil && len(d.trail) > 0 && !a.Anew {
		a.Todo = unfinished(d.w, d.tasks)
	}
	if d.w.Phase == lifecycle.Reserved {
		a.Earmark = tx.keptBy(d.w, d.tasks)
	}
	d.w.Attempts = append(d.w.Attempts, a)
	for i := range d.changed { // the last words of the former attempt
		d.former = append(d.former, d.tasks[i])
	}
	d.tasks = map[int]*core.Task{}
	d.changed = map[int]struct{}{}
}

// setTask puts a changed task into the draft. It must run inside change.
func (d *draft) setTask(t core.Task) {
	if t.State.Ended() && t.ReleasedAt.IsZero() && freesEarly(d.w, &t) {
		t.ReleasedAt = t.EndedAt
	}
	d.tasks[t.ID.Index] = &t
	d.changed[t.ID.Index] = struct{}{}
}

// condition sets or clears a condition beside the phase.
func (d *draft) condition(c core.Condition, on bool) {
	i := slices.IndexFunc(d.w.Conditions, func(x core.Condition) bool { return x.Type == c.Type })
	switch {
	case on && i < 0:
		d.w.Conditions = append(d.w.Conditions, c)
	case on:
		c.Since = d.w.Conditions[i].Since
		d.w.Conditions[i] = c
	case i >= 0:
		d.w.Conditions = slices.Delete(d.w.Conditions, i, i+1)
	}
}

// fact sets or clears a condition that needs no other reason than itself.
func (d *draft) fact(t lifecycle.ConditionType, on bool, now time.Time, cause lifecycle.ConditionCause, message string) {
	d.condition(core.Condition{Type: t, Cause: cause, Reason: string(cause), Message: message, Since: now}, on)
}

// calm clears the conditions that are about work going on.
func (d *draft) calm() {
	d.w.Conditions = slices.DeleteFunc(d.w.Conditions, func(c core.Condition) bool {
		return c.Type != lifecycle.Unreachable && c.Cause != lifecycle.StuckEnding
	})
	d.w.IdleSince, d.w.Warned = time.Time{}, time.Time{}
}
