package consequence

import (
	"fmt"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/decide"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/workload"
)

// The number of an elastic gang's workers changes while it runs. A worker that
// has to go is Leaving and no rank any more; one that comes gets an index that
// was never used in the attempt, since charges and logs belong to an index. A
// rank is a task's place among those that are there. Where the others are to be
// restarted, they are told to end with RestartAt set, and all ranks start
// together once the last of these has ended: one that began before would meet
// ranks of the former size.

// sheds reports whether n tasks of d can leave while the others go on.
func sheds(d *draft.Draft, n int) bool {
	if d.W.Kind.Foreign() {
		return ShedsMembers(d, n)
	}
	return workload.Grows(d.W) || d.W.Spec.Elastic() && !workload.SizeFinal(d.Tasks) && len(workload.Ranks(d.Tasks))-n >= d.W.Spec.MinSize()
}

// shed tells single tasks of d to go. It must run inside change.
func shed(tx *draft.Tx, d *draft.Draft, ev schedule.Eviction) error {
	tx.State.Dirty = true
	if !d.W.Spec.Elastic() && d.W.Phase == lifecycle.Running {
		message := fmt.Sprintf("%d of its tasks leave: %s", len(ev.Tasks), whyEvicted(tx, ev))
		in := lifecycle.Input{On: lifecycle.Scale, Cause: workload.CauseOf(ev), For: string(ev.For), Reason: lifecycle.ReasonScaled, Message: message}
		if err := tx.Step(d, in, ActorScheduler); err != nil {
			return err
		}
	}
	if d.W.Kind.Replicated() || d.W.Kind.Foreign() {
		for _, index := range ev.Tasks {
			if t := d.Tasks.At(index); t != nil && workload.Wanted(t) {
				Leave(tx, d, t)
			}
		}
		return Conclude(tx, d)
	}
	before := len(workload.Ranks(d.Tasks))
	for _, index := range ev.Tasks {
		if t := d.Tasks.At(index); t != nil && !t.Leaving {
			sendAway(tx, d, t)
		}
	}
	if !d.W.Spec.Elastic() {
		return Conclude(tx, d)
	}
	in := lifecycle.Input{Cause: workload.CauseOf(ev), For: string(ev.For), Message: whyEvicted(tx, ev)}
	if err := Resized(tx, d, before, in, ActorScheduler); err != nil {
		return err
	}
	return Conclude(tx, d)
}

// sendAway makes t a task that is not part of its workload any more.
func sendAway(tx *draft.Tx, d *draft.Draft, t *core.Task) {
	c := *t
	c.Leaving, c.RestartAt = true, time.Time{}
	if c.State.Held() {
		if c.State != core.TaskStopping {
			tx.Stop(&c, d.W.Grace())
		}
		c.State = core.TaskStopping
	} else {
		c.ReleasedAt = workload.Later(tx.Now, c.PlacedAt) // it kept its place to be restarted there
	}
	d.SetTask(c)
}

// Resized records that a gang has another number of ranks than before, and has
// those that are there already restarted where its document says so. It must
// run inside change.
func Resized(tx *draft.Tx, d *draft.Draft, before int, in lifecycle.Input, actor string) error {
	now := len(workload.Ranks(d.Tasks))
	if now == before {
		return nil
	}
	if d.W.Phase == lifecycle.Running {
		in.On, in.Reason, in.Message = lifecycle.Scale, lifecycle.ReasonScaled, fmt.Sprintf("tasks %d → %d: %s", before, now, in.Message)
		if err := tx.Step(d, in, actor); err != nil {
			return err
		}
	}
	if d.W.Spec.Live() {
		return nil
	}
	under := workload.Resizing(d.Tasks)
	for _, t := range workload.Ranks(d.Tasks) {
		started := t.State == core.TaskRunning || t.State == core.TaskStarting && !under && !t.PlacedAt.Equal(tx.Now)
		if !started {
			if t.State == core.TaskStarting && t.PlacedAt.Equal(tx.Now) {
				tx.Start(d.W, t) // it may have been placed by a former round of this plan, in the former size
			}
			continue
		}
		c := *t
		c.State, c.RestartAt = core.TaskStopping, tx.Now
		d.SetTask(c)
		tx.Stop(&c, d.W.Grace())
	}
	return nil
}

// regroup draws what follows for an elastic gang from its ranks: it goes on
// without those whose nodes are lost while enough are left, and starts again
// once all have ended that are to be restarted. It must run inside change.
func regroup(tx *draft.Tx, d *draft.Draft) error {
	if err := bereaved(tx, d); err != nil || !d.W.Phase.Held() || d.W.Phase == lifecycle.Terminating {
		return err
	}
	if workload.Resizing(d.Tasks) && !workload.EndingRanks(d.Tasks) && rested(tx, d) {
		for _, t := range workload.Ranks(d.Tasks) {
			if !t.RestartAt.IsZero() {
				again := core.Task{
					ID: t.ID, Role: t.Role, Backend: t.Backend, Node: t.Node, Pool: t.Pool, Devices: t.Devices, Product: t.Product, CPU: t.CPU, Memory: t.Memory, Counted: t.Counted, Port: t.Port,
					Generation: d.W.Generation, State: core.TaskStarting, PlacedAt: t.PlacedAt,
					RestartedAt: tx.Now, Restarts: t.Restarts + 1, SeenAt: t.SeenAt, FormerAt: t.SeenAt,
				}
				d.SetTask(again)
				tx.Forget(tx.BackendOf(t), t.ID)
			}
		}
		for _, t := range workload.Ranks(d.Tasks) {
			if t.State == core.TaskStarting {
				tx.Start(d.W, t)
			}
		}
	}
	Scaling(tx, d)
	return nil
}

// resizePause is between the end of the former ranks and the start of the new
// ones: backends date what they see by the second, and must be able to tell them
// apart.
const resizePause = time.Second

// rested reports whether all ranks have ended for long enough; the first time
// that it is asked it sees to it that a timer wakes the gang then.
func rested(tx *draft.Tx, d *draft.Draft) bool {
	over := true
	for _, t := range workload.Ranks(d.Tasks) {
		switch {
		case t.RestartAt.IsZero():
		case t.Waiting != workload.WaitingResize:
			c := *t
			c.Waiting, c.RestartAt = workload.WaitingResize, tx.Now.Add(resizePause)
			d.SetTask(c)
			over = false
		default:
			over = over && !t.RestartAt.After(tx.Now)
		}
	}
	return over
}

// Scaling sets or clears Scaling by whether an elastic gang is on its way to
// another number of ranks.
func Scaling(tx *draft.Tx, d *draft.Draft) {
	up, going, coming := 0, 0, 0
	for _, t := range d.Tasks.All() {
		switch {
		case t.Leaving:
			going += core.Bit(t.State.Held())
		case t.State == core.TaskRunning:
			up++
		case !t.State.Ended() || !t.RestartAt.IsZero():
			coming++
		}
	}
	if c := workload.Condition(d.W, lifecycle.Degraded); c != nil && c.Cause == lifecycle.RanksLost && up == d.W.Spec.Size() {
		d.Fact(lifecycle.Degraded, false, tx.Now, "", "") // it is whole again
	}
	on := going > 0 || d.W.Phase == lifecycle.Running && coming > 0 || workload.Resizing(d.Tasks)
	d.Fact(lifecycle.Scaling, on, tx.Now, "", fmt.Sprintf("%d of %d to %d tasks run, %d are being started, %d leave", up, d.W.Spec.MinSize(), d.W.Spec.Size(), coming, going))
}

// bereaved takes workers whose nodes are lost out of an elastic gang that can do
// without them. One that cannot starts again, from its queue.
func bereaved(tx *draft.Tx, d *draft.Draft) error {
	var lost []*core.Task
	others, first := 0, false
	for _, t := range workload.Ranks(d.Tasks) {
		switch {
		case t.State.Ended() && workload.Systemic(t):
			lost = append(lost, t)
			first = first || t.ID.Index == 0
		case t.State.Ended() && t.RestartAt.IsZero():
			return nil // its size does not change any more
		default:
			others++
		}
	}
	if len(lost) == 0 {
		return nil
	}
	message := workload.Blame(d.W, lost[0])
	switch decide.AfterRanksLost(d.W.Spec, d.W.Phase, d.W.SystemFailures, others, first) {
	case decide.RanksFail:
		return nil // as of any gang
	case decide.RanksRequeue:
		d.W.SystemFailures++
		message = fmt.Sprintf("%d of at least %d tasks are left: %s", others, d.W.Spec.MinSize(), message)
		return End(tx, d, lifecycle.Input{On: lifecycle.BelowMinimum, Target: lifecycle.Queued, Message: message}, actorBackend(lost[0].Node))
	}
	before := len(workload.Ranks(d.Tasks))
	for _, t := range lost {
		sendAway(tx, d, t)
	}
	tx.State.Dirty = true
	d.Fact(lifecycle.Degraded, true, tx.Now, lifecycle.RanksLost, fmt.Sprintf("%d of %d tasks are left: %s", others, d.W.Spec.Size(), message))
	return Resized(tx, d, before, lifecycle.Input{Message: message}, actorBackend(lost[0].Node))
}
