package engine

import (
	"cmp"
	"container/heap"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/decide"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

const (
	// stuckAfter is how long after the grace period a workload that has not
	// ended counts as stuck; it is then ended again, by force.
	stuckAfter  = time.Minute
	deleteRetry = 10 * time.Second
	// deletePatience is when logs are deleted again of whose deletion nothing
	// was heard: the report itself may not have been stored.
	deletePatience = 2 * time.Minute
	actorControl   = "control"
)

// wakeAt is when w next needs attention by itself; zero: never.
func (tx *tx) wakeAt(w *core.Workload, tasks map[int]*core.Task) time.Time {
	return earliest(tx.wakeIn(w, tasks), tx.deadlineWake(w))
}

// wakeIn is when it does because of its phase.
func (tx *tx) wakeIn(w *core.Workload, tasks map[int]*core.Task) time.Time {
	now := tx.now
	switch w.Phase {
	case lifecycle.Backoff:
		a := w.Attempts[len(w.Attempts)-1]
		return w.PhaseAt.Add(decide.RetryWait(w.ID, w.Spec.Retry, w.Failures, since(a.RunningAt, w.PhaseAt)))
	case lifecycle.Reviewing, lifecycle.Reserved:
		return nextCheck(w)
	case lifecycle.Queued:
		return w.AskAt
	case lifecycle.Running, lifecycle.Starting, lifecycle.Restarting:
		return tx.nextDue(w, tasks)
	case lifecycle.Terminating:
		if c := (&draft{w: w}).holding(lifecycle.Unreachable); c != nil && c.Cause == lifecycle.NodeSilent {
			return c.Since.Add(tx.e.nodeGrace())
		}
		for _, c := range w.Conditions {
			if c.Type == lifecycle.Degraded && c.Cause == lifecycle.StuckEnding {
				return now.Add(stuckAfter)
			}
		}
		return w.PhaseAt.Add(w.Grace() + stuckAfter)
	case lifecycle.Deleting:
		if w.Event == lifecycle.RemoveFail {
			return now.Add(deleteRetry)
		}
		return now.Add(deletePatience)
	}
	if ttl := time.Duration(w.Spec.TTLAfterEnd); ttl > 0 && w.Phase.End() && w.Phase != lifecycle.Deleted {
		return w.EndedAt.Add(ttl)
	}
	return time.Time{}
}

// nextDue is when something is due for a workload that runs: a limit or the
// warning of it, the restart of a task, the end of a gang's rest, or giving up a
// silent node.
func (tx *tx) nextDue(w *core.Workload, tasks map[int]*core.Task) time.Time {
	at := w.AskAt
	if end, ok := tx.firstEnd(w); ok {
		next := end.At
		if !w.Warned.Equal(end.At) {
			next = end.At.Add(-end.Warning())
		}
		at = earliest(at, next)
	}
	for _, c := range w.Conditions {
		if c.Type == lifecycle.Unreachable && c.Cause == lifecycle.NodeSilent {
			at = earliest(at, c.Since.Add(tx.e.nodeGrace()))
		}
	}
	if w.Spec.Elastic() {
		at = earliest(at, resizeDue(tasks))
		if grows := tx.e.growsAt(w, tasks); grows.After(tx.now) && missingRanks(w, tasks) > 0 {
			at = earliest(at, grows)
		}
	}
	if w.Kind.Attended() { // of others no task is restarted in place by itself
		for _, t := range tasks {
			at = earliest(earliest(at, t.RestartAt), loopsAt(t))
		}
	}
	return at
}

// wake handles every timer that is due.
func (tx *tx) wake() {
	for {
		id, ok := tx.e.timers.due(tx.now)
		if !ok {
			return
		}
		if w, _, live := tx.view(id); !live || w.WakeAt.IsZero() || w.WakeAt.After(tx.now) {
			continue // an older timer of a workload that has moved on
		}
		d, _ := tx.open(id)
		if err := tx.change(d, func() error { return tx.timeout(d) }); err != nil {
			tx.e.D.Log.Error("timer does not fit the state", "workload", id, "err", err)
		}
	}
}

func (tx *tx) timeout(d *draft) error {
	if done, err := tx.deadline(d); done || err != nil {
		return err // what else is due comes next
	}
	if d.w.Spec.Deadline != "" && heeds(d.w) {
		if at := tx.wakeIn(d.w, d.tasks); at.IsZero() || at.After(tx.now) {
			return nil // its length has become another, and with it its latest start
		}
	}
	switch w := d.w; w.Phase {
	case lifecycle.Backoff:
		if err := tx.step(d, lifecycle.Input{On: lifecycle.BackoffOver, Reason: w.Reason, Message: w.Message}, actorControl); err != nil {
			return err
		}
		return tx.queuedAgain(d)
	case lifecycle.Reviewing, lifecycle.Reserved:
		return tx.checksDue(d)
	case lifecycle.Queued:
		w.AskAt = time.Time{} // it competes again
		tx.e.dirty = true
		return tx.startEmpty(d)
	case lifecycle.Running, lifecycle.Starting, lifecycle.Restarting:
		return tx.due(d)
	case lifecycle.Terminating:
		if c := d.holding(lifecycle.Unreachable); c != nil && c.Cause == lifecycle.NodeSilent && !c.Since.Add(tx.e.nodeGrace()).After(tx.now) {
			return tx.nodesLost(d)
		}
		message := "its tasks have not ended; ending them again by force"
		for _, t := range sortedTasks(d.tasks) {
			if t.State.Held() {
				tx.stop(t, 0)
				if t.Message != "" {
					message = blame(d.w, t)
				}
			}
		}
		d.fact(lifecycle.Degraded, true, tx.now, lifecycle.StuckEnding, message)
		return tx.step(d, lifecycle.Input{On: lifecycle.Stuck}, actorControl)
	case lifecycle.Deleting:
		tx.actions = append(tx.actions, Action{Kind: ActDeleteLogs, Workload: w.ID})
		return nil
	default:
		return tx.remove(d, lifecycle.ReasonTTL, "its ttlAfterEnd of "+w.Spec.TTLAfterEnd.String()+" is over", actorControl)
	}
}

// due does what is due for a workload that runs. It must run inside change.
func (tx *tx) due(d *draft) error {
	if at := d.w.AskAt; !at.IsZero() && !at.After(tx.now) {
		d.w.AskAt = time.Time{} // more of it may be placed again
		tx.e.dirty = true
	}
	if ended, err := tx.limited(d); ended || err != nil {
		return err
	}
	if c := d.holding(lifecycle.Unreachable); c != nil && c.Cause == lifecycle.NodeSilent && !c.Since.Add(tx.e.nodeGrace()).After(tx.now) {
		return tx.nodesLost(d)
	}
	if d.w.Spec.Elastic() {
		tx.e.dirty = true // it may be one that may grow again
		return tx.conclude(d)
	}
	tx.loops(d)
	return tx.restartInPlace(d)
}

// crashLoop is the word of a task that waits to be started again where it is.
const crashLoop = "CrashLoopBackOff"

// errorShown is for how long such a task says first that it has failed.
const errorShown = 2 * time.Second

// loopsAt is when a failed task says that it waits to be started again; zero: it
// does already, or does not wait.
func loopsAt(t *core.Task) time.Time {
	if t.RestartAt.IsZero() || t.Waiting == crashLoop {
		return time.Time{}
	}
	return t.EndedAt.Add(errorShown)
}

// loops has failed tasks say so, whose time it is.
func (tx *tx) loops(d *draft) {
	if !d.w.Kind.Attended() {
		return
	}
	for _, t := range sortedTasks(d.tasks) {
		if at := loopsAt(t); !at.IsZero() && !at.After(tx.now) {
			c := *t
			c.Waiting = crashLoop
			d.setTask(c)
		}
	}
}

// timers is a heap of wake times; entries of workloads that have moved on are
// skipped when they come up.
type timers []timer

type timer struct {
	at time.Time
	id core.WorkloadID
}

func (t timers) Len() int { return len(t) }
func (t timers) Less(i, j int) bool {
	return cmp.Or(t[i].at.Compare(t[j].at), cmp.Compare(t[i].id, t[j].id)) < 0
}
func (t timers) Swap(i, j int) { t[i], t[j] = t[j], t[i] }

// Push and Pop serve container/heap.
func (t *timers) Push(x any) { *t = append(*t, x.(timer)) }

// Pop serves container/heap.
func (t *timers) Pop() any {
	old := *t
	last := old[len(old)-1]
	*t = old[:len(old)-1]
	return last
}

func (t *timers) push(at time.Time, id core.WorkloadID) { heap.Push(t, timer{at, id}) }

func (t *timers) next() time.Time {
	if len(*t) == 0 {
		return time.Time{}
	}
	return (*t)[0].at
}

func (t *timers) due(now time.Time) (core.WorkloadID, bool) {
	if len(*t) == 0 || (*t)[0].at.After(now) {
		return "", false
	}
	return heap.Pop(t).(timer).id, true
}
