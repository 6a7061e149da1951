package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/engine/workload"
)

// ordered makes a document wait: for others, for a time, for somebody who lets
// it go.
func (w *World) ordered(d *spec.Document) {
	if names := w.users.names; len(names) > 0 && w.one(8) {
		ref := names[w.chance.IntN(len(names))]
		if string(ref.Project) == d.Project && ref.Name != d.Name {
			d.After = []spec.Dependency{{Workload: ref.Name, When: []string{"", "", "failed", "ended", "started"}[w.chance.IntN(5)]}}
			switch n := len(names); { // draws nothing, so that worlds stay what they were
			case d.Array != nil:
				d.After[0] = spec.Dependency{Workload: w.otherArray(d, ref.Name), PerTask: true}
			case n%3 == 0:
				d.After[0].Delay = spec.Duration(n%7) * spec.Duration(20*time.Second)
			}
		}
	}
	if w.one(15) {
		d.NotBefore = w.clock().Add(w.upTo(3 * time.Minute)).UTC().Format(time.RFC3339Nano)
	}
	d.Hold = w.one(20)
}

// otherArray is the last array of d's project that has not ended; where there is
// none, the usual.
func (w *World) otherArray(d *spec.Document, usual string) string {
	for i := len(w.users.names) - 1; i >= 0; i-- {
		ref := w.users.names[i]
		if string(ref.Project) != d.Project || ref.Name == d.Name {
			continue
		}
		if x, err := w.memory.ByName(context.Background(), ref.Project, ref.Name); err == nil && x.Spec.Array != nil && !x.Phase.End() {
			return ref.Name
		}
	}
	return usual
}

// hold holds what waits, and lets go what is held.
func (w *World) hold(ref draft.Ref) act {
	if w.one(2) {
		ref = w.aimed(ref, func(x *core.Workload) bool { return x.Hold != nil })
		return act{what: "release " + ref.Name, command: submission.Release(submission.HoldRequest{Ref: ref, Actor: "user:sim"})}
	}
	ref = w.aimed(ref, func(x *core.Workload) bool { return x.Hold == nil && x.Phase.Unstarted() })
	return act{what: "hold " + ref.Name, command: submission.Hold(submission.HoldRequest{Ref: ref, Actor: "user:sim"})}
}

// someTasks does something to some tasks of an array: mostly to one that is as it
// should be for that.
func (w *World) someTasks(ref draft.Ref) act {
	if w.one(3) {
		return w.stopTasks(ref)
	}
	type deed struct {
		name string
		do   func(submission.TasksRequest) draft.Command[*core.Workload]
		fits func(*core.Task) bool
	}
	d := []deed{
		{"preempt", submission.PreemptTasks, func(t *core.Task) bool { return t != nil && t.State.Held() }},
		{"restart", submission.RestartTasks, func(t *core.Task) bool { return t != nil && t.State.Ended() }},
		{"restart", submission.RestartTasks, func(t *core.Task) bool { return t != nil && t.State.Ended() }},
		{"hold", submission.HoldTasks, func(t *core.Task) bool { return t == nil || t.Again }},
		{"release", submission.ReleaseTasks, func(t *core.Task) bool { return t == nil || t.Again }},
	}[w.chance.IntN(5)]
	r := submission.TasksRequest{Ref: ref, Actor: "user:sim", Tasks: []int{w.chance.IntN(12)}}
	var all []submission.TasksRequest
	for _, e := range w.live() {
		if e.Workload.Spec.Array == nil {
			continue
		}
		tasks := workload.Latest(e.Tasks, e.Workload.Attempt)
		for i := range e.Workload.Spec.Size() {
			if d.fits(tasks.At(i)) {
				all = append(all, submission.TasksRequest{Ref: draft.Ref{ID: e.Workload.ID}, Actor: r.Actor, Tasks: []int{i}})
			}
		}
	}
	if len(all) > 0 && !w.one(5) {
		r = all[w.chance.IntN(len(all))]
	}
	return act{what: fmt.Sprintf("%s tasks %v of %s%s", d.name, r.Tasks, r.Ref.Name, r.Ref.ID), command: d.do(r)}
}

// stopTasks stops some tasks of an array.
func (w *World) stopTasks(ref draft.Ref) act {
	ref = w.aimed(ref, func(x *core.Workload) bool { return x.Spec.Array != nil && !x.Phase.End() })
	var tasks []int
	for i := range 12 {
		if w.one(4) {
			tasks = append(tasks, i)
		}
	}
	return act{what: fmt.Sprintf("stop tasks %v of %s", tasks, ref.Name), command: submission.StopTasks(submission.StopTasksRequest{Ref: ref, Tasks: tasks, Actor: "user:sim"})}
}

// releaseAll lets go all that is held.
func (w *World) releaseAll() {
	for _, e := range w.live() {
		if e.Workload.Hold != nil || len(e.Workload.HeldTasks) > 0 {
			w.do(submission.Release(submission.HoldRequest{Ref: draft.Ref{ID: e.Workload.ID}, Actor: "user:sim"}))
		}
	}
}

// came is how far workloads have ever been, by what others wait for, and when
// they first were.
type came map[core.WorkloadID]map[string]time.Time

func (h came) add(c draft.Change) {
	reached := h[c.Workload.ID]
	if reached == nil {
		reached = map[string]time.Time{}
		h[c.Workload.ID] = reached
	}
	put := func(at time.Time, events ...string) {
		for _, event := range events {
			if _, before := reached[event]; !before {
				reached[event] = at
			}
		}
	}
	for _, t := range c.Transitions {
		switch {
		case t.To == lifecycle.Completed:
			put(t.At, spec.AfterSucceeded, spec.AfterEnded, spec.AfterStarted)
		case t.To.End():
			put(t.At, spec.AfterFailed, spec.AfterEnded, spec.AfterStarted)
		case !c.Workload.StartedAt.IsZero():
			put(c.Workload.StartedAt, spec.AfterStarted)
		}
	}
}

// inOrder: nothing is queued, let alone starts, that is held, or before what it
// waits for has come.
func (o *watch) inOrder(c draft.Change) error {
	w := c.Workload
	for _, t := range c.Transitions {
		if t.To != lifecycle.Queued && t.To != lifecycle.Reserved && t.To != lifecycle.Starting || t.From == lifecycle.Terminating {
			continue
		}
		if h := w.Hold; h != nil && t.At.After(h.At) && w.Phase == t.To {
			return fmt.Errorf("it is %s though it is held: %+v", t.To, h)
		}
		if t.To != lifecycle.Queued {
			continue
		}
		for _, x := range w.Checks {
			if x.Type == "time" && x.AskAt.After(t.At) {
				return fmt.Errorf("it is queued at %v, and not before %v", t.At, x.AskAt)
			}
			if x.Workload == "" {
				continue
			}
			_, err := o.w.memory.Workload(context.Background(), x.Workload)
			gone := err != nil && (x.Event == spec.AfterEnded || x.Event == spec.AfterStarted)
			if x.PerTask || x.Any || x.Tasks != nil { // of the tasks, below, or not of it alone
				continue
			}
			at, has := o.came[x.Workload][x.Event]
			if !gone && (!has || t.At.Before(at.Add(x.Delay).Truncate(time.Microsecond))) {
				return fmt.Errorf("it is queued at %v, and %s has %s at %v: %+v", t.At, x.Of, x.Event, at, x)
			}
			o.deeds["followed another"]++
		}
	}
	return o.afterFellows(c)
}

// afterFellows: no task of an array starts before that of another which it waits
// for has succeeded.
func (o *watch) afterFellows(c draft.Change) error {
	for _, x := range c.Workload.Checks {
		if !x.PerTask || x.Verdict != core.CheckApproved {
			continue
		}
		for _, t := range c.Tasks {
			if _, known := o.before[t.ID]; known || t.State != core.TaskStarting {
				continue
			}
			_, all := o.came[x.Workload][spec.AfterSucceeded]
			if !all && !o.succeeded[core.TaskID{Workload: x.Workload, Index: t.ID.Index}] {
				return fmt.Errorf("task %d starts before that of %s has succeeded: %+v", t.ID.Index, x.Of, x)
			}
			o.deeds["followed its fellow"]++
		}
	}
	return nil
}
