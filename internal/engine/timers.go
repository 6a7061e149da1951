package engine

import (
	"time"

	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/consequence"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/workload"
)

// wake handles every timer that is due.
func wake(tx *draft.Tx) {
	for {
		id, ok := tx.State.Timers.Due(tx.Now)
		if !ok {
			return
		}
		if w, _, live := tx.View(id); !live || w.WakeAt.IsZero() || w.WakeAt.After(tx.Now) {
			continue // an older timer of a workload that has moved on
		}
		d, _ := tx.Open(id)
		if err := tx.Change(d, func() error { return timeout(tx, d) }); err != nil {
			tx.State.D.Log.Error("timer does not fit the state", "workload", id, "err", err)
		}
	}
}

func timeout(tx *draft.Tx, d *draft.Draft) error {
	if done, err := deadline(tx, d); done || err != nil {
		return err // what else is due comes next
	}
	if d.W.Spec.Deadline != "" && draft.DeadlineCounts(d.W) {
		if at := tx.WakeIn(d.W, d.Tasks); at.IsZero() || at.After(tx.Now) {
			return nil // its length has become another, and with it its latest start
		}
	}
	switch w, p := d.W, d.W.Phase; {
	case p == lifecycle.Backoff:
		if err := tx.Step(d, lifecycle.Input{On: lifecycle.BackoffOver, Reason: w.Reason, Message: w.Message}, draft.ActorControl); err != nil {
			return err
		}
		return consequence.QueuedAgain(tx, d)
	case p.Checking():
		return consequence.ChecksDue(tx, d)
	case p == lifecycle.Queued:
		w.AskAt = time.Time{} // it competes again
		tx.State.Dirty = true
		return consequence.StartEmpty(tx, d)
	case p.Active():
		return due(tx, d)
	case p == lifecycle.Terminating:
		if c := workload.Condition(d.W, lifecycle.Unreachable); c != nil && c.Cause == lifecycle.NodeSilent && !c.Since.Add(tx.State.NodeGrace()).After(tx.Now) {
			return nodesLost(tx, d)
		}
		message := "its tasks have not ended; ending them again by force"
		for _, t := range workload.SortedTasks(d.Tasks) {
			if t.State.Held() {
				tx.Stop(t, 0)
				if t.Message != "" {
					message = workload.Blame(d.W, t)
				}
			}
		}
		d.Fact(lifecycle.Degraded, true, tx.Now, lifecycle.StuckEnding, message)
		return tx.Step(d, lifecycle.Input{On: lifecycle.Stuck}, draft.ActorControl)
	case p == lifecycle.Deleting:
		tx.Actions = append(tx.Actions, draft.Action{Kind: draft.ActDeleteLogs, Workload: w.ID})
		return nil
	default:
		return consequence.Remove(tx, d, lifecycle.ReasonTTL, "its ttlAfterEnd of "+w.Spec.TTLAfterEnd.String()+" is over", draft.ActorControl)
	}
}

// due does what is due for a workload that runs. It must run inside change.
func due(tx *draft.Tx, d *draft.Draft) error {
	if at := d.W.AskAt; !at.IsZero() && !at.After(tx.Now) {
		d.W.AskAt = time.Time{} // more of it may be placed again
		tx.State.Dirty = true
	}
	if ended, err := limited(tx, d); ended || err != nil {
		return err
	}
	if c := workload.Condition(d.W, lifecycle.Unreachable); c != nil && c.Cause == lifecycle.NodeSilent && !c.Since.Add(tx.State.NodeGrace()).After(tx.Now) {
		return nodesLost(tx, d)
	}
	if d.W.Spec.Elastic() {
		tx.State.Dirty = true // it may be one that may grow again
		return consequence.Conclude(tx, d)
	}
	loops(tx, d)
	return consequence.RestartInPlace(tx, d)
}

// loops has failed tasks say so, whose time it is.
func loops(tx *draft.Tx, d *draft.Draft) {
	if !d.W.Kind.Attended() {
		return
	}
	for _, t := range workload.SortedTasks(d.Tasks) {
		if at := workload.LoopsAt(t); !at.IsZero() && !at.After(tx.Now) {
			c := *t
			c.Waiting = workload.CrashLoop
			d.SetTask(c)
		}
	}
}
