package engine

import (
	"fmt"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/decide"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
)

// The number of an elastic gang's workers changes while it runs. A worker that
// has to go is Leaving and no rank any more; one that comes gets an index that
// was never used in the attempt, since charges and logs belong to an index. A
// rank is a task's place among those that are there. Where the others are to be
// restarted, they are told to end with RestartAt set, and all ranks start
// together once the last of these has ended: one that began before would meet
// ranks of the former size.

// ranks are the tasks of a gang that are part of it at present, by rank.
func ranks(tasks map[int]*core.Task) []*core.Task {
	var out []*core.Task
	for _, t := range sortedTasks(tasks) {
		if !t.Leaving {
			out = append(out, t)
		}
	}
	return out
}

// resizing reports whether ranks are being ended to be started again in another
// number.
func resizing(tasks map[int]*core.Task) bool {
	for _, t := range tasks {
		if !t.Leaving && !t.RestartAt.IsZero() {
			return true
		}
	}
	return false
}

// settled reports whether the size of a gang is as it is for good: some rank
// has ended by itself, and what the others do belongs to that size.
func settled(tasks map[int]*core.Task) bool {
	for _, t := range tasks {
		if !t.Leaving && t.State.Ended() && t.RestartAt.IsZero() {
			return true
		}
	}
	return false
}

// missingRanks is how many workers more an elastic gang may have.
func missingRanks(w *core.Workload, tasks map[int]*core.Task) int {
	if settled(tasks) {
		return 0
	}
	return max(w.Spec.Size()-len(ranks(tasks)), 0)
}

// growsAt is from when an elastic gang may have more workers; zero: at any time.
// Growth that restarts the others costs all of them what they did since their
// last checkpoint, so it waits as long after a restart as work rests between
// moves. Those who must go are not asked to wait: others need their room.
func (e *Engine) growsAt(w *core.Workload, tasks map[int]*core.Task) time.Time {
	var at time.Time
	if !w.Spec.Elastic() || w.Spec.Live() || w.Phase != lifecycle.Running {
		return at
	}
	for _, t := range ranks(tasks) {
		if !t.RestartedAt.IsZero() {
			at = later(at, t.RestartedAt.Add(time.Duration(e.D.Policy.MoveRest)*time.Millisecond))
		}
	}
	return at
}

// astray reports whether some rank of an elastic gang is on a node that is not
// known yet. To the scheduler it holds nothing there, and more of it could end
// up in another pool.
func (e *Engine) astray(w *core.Workload, tasks map[int]*core.Task) bool {
	if !w.Spec.Elastic() || !w.Phase.Held() {
		return false
	}
	for _, t := range ranks(tasks) {
		if _, ok := e.nodes[t.Node]; !ok {
			return true
		}
	}
	return false
}

// sheds reports whether n tasks of d can leave while the others go on.
func sheds(d *draft, n int) bool {
	if d.w.Kind == lifecycle.External {
		return shedsMembers(d, n)
	}
	return grows(d.w) || d.w.Spec.Elastic() && !settled(d.tasks) && len(ranks(d.tasks))-n >= d.w.Spec.MinSize()
}

// shed tells single tasks of d to go. It must run inside change.
func (tx *tx) shed(d *draft, ev schedule.Eviction) error {
	tx.e.dirty = true
	if !d.w.Spec.Elastic() && d.w.Phase == lifecycle.Running {
		message := fmt.Sprintf("%d of its tasks leave: %s", len(ev.Tasks), tx.whyEvicted(ev))
		in := lifecycle.Input{On: lifecycle.Scale, Cause: causeOf(ev), For: string(ev.For), Reason: lifecycle.ReasonScaled, Message: message}
		if err := tx.step(d, in, actorScheduler); err != nil {
			return err
		}
	}
	if d.w.Kind == lifecycle.Inference || d.w.Kind == lifecycle.External {
		for _, index := range ev.Tasks {
			if t := d.tasks[index]; t != nil && wanted(t) {
				tx.leave(d, t)
			}
		}
		return tx.conclude(d)
	}
	before := len(ranks(d.tasks))
	for _, index := range ev.Tasks {
		if t := d.tasks[index]; t != nil && !t.Leaving {
			tx.dismissed(d, t)
		}
	}
	if !d.w.Spec.Elastic() {
		return tx.conclude(d)
	}
	in := lifecycle.Input{Cause: causeOf(ev), For: string(ev.For), Message: tx.whyEvicted(ev)}
	if err := tx.resized(d, before, in, actorScheduler); err != nil {
		return err
	}
	return tx.conclude(d)
}

// dismissed makes t a task that is not part of its workload any more.
func (tx *tx) dismissed(d *draft, t *core.Task) {
	c := *t
	c.Leaving, c.RestartAt = true, time.Time{}
	if c.State.Held() {
		if c.State != core.TaskStopping {
			tx.stop(&c, d.w.Grace())
		}
		c.State = core.TaskStopping
	} else {
		c.ReleasedAt = later(tx.now, c.PlacedAt) // it kept its place to be restarted there
	}
	d.setTask(c)
}

// resized records that a gang has another number of ranks than before, and has
// those that are there already restarted where its document says so. It must
// run inside change.
func (tx *tx) resized(d *draft, before int, in lifecycle.Input, actor string) error {
	now := len(ranks(d.tasks))
	if now == before {
		return nil
	}
	if d.w.Phase == lifecycle.Running {
		in.On, in.Reason, in.Message = lifecycle.Scale, lifecycle.ReasonScaled, fmt.Sprintf("tasks %d → %d: %s", before, now, in.Message)
		if err := tx.step(d, in, actor); err != nil {
			return err
		}
	}
	if d.w.Spec.Live() {
		return nil
	}
	under := resizing(d.tasks)
	for _, t := range ranks(d.tasks) {
		started := t.State == core.TaskRunning || t.State == core.TaskStarting && !under && !t.PlacedAt.Equal(tx.now)
		if !started {
			if t.State == core.TaskStarting && t.PlacedAt.Equal(tx.now) {
				tx.start(d.w, t) // it may have been placed by a former round of this plan, in the former size
			}
			continue
		}
		c := *t
		c.State, c.RestartAt = core.TaskStopping, tx.now
		d.setTask(c)
		tx.stop(&c, d.w.Grace())
	}
	return nil
}

// regroup draws what follows for an elastic gang from its ranks: it goes on
// without those whose nodes are lost while enough are left, and starts again
// once all have ended that are to be restarted. It must run inside change.
func (tx *tx) regroup(d *draft) error {
	if err := tx.bereaved(d); err != nil || !d.w.Phase.Held() || d.w.Phase == lifecycle.Terminating {
		return err
	}
	if resizing(d.tasks) && !endingRanks(d.tasks) && tx.rested(d) {
		for _, t := range ranks(d.tasks) {
			if !t.RestartAt.IsZero() {
				again := core.Task{
					ID: t.ID, Role: t.Role, Backend: t.Backend, Node: t.Node, Pool: t.Pool, Devices: t.Devices, CPU: t.CPU, Memory: t.Memory, Counted: t.Counted, Port: t.Port,
					Generation: d.w.Generation, State: core.TaskStarting, PlacedAt: t.PlacedAt,
					RestartedAt: tx.now, Restarts: t.Restarts + 1, SeenAt: t.SeenAt, FormerAt: t.SeenAt,
				}
				d.setTask(again)
				tx.forget(tx.backendOf(t), t.ID)
			}
		}
		for _, t := range ranks(d.tasks) {
			if t.State == core.TaskStarting {
				tx.start(d.w, t)
			}
		}
	}
	tx.scaling(d)
	return nil
}

// resizePause is between the end of the former ranks and the start of the new
// ones: backends date what they see by the second, and must be able to tell them
// apart.
const resizePause = time.Second

// waitingResize is what a rank waits for that has ended to be started again.
const waitingResize = "Resizing"

// rested reports whether all ranks have ended for long enough; the first time
// that it is asked it sees to it that a timer wakes the gang then.
func (tx *tx) rested(d *draft) bool {
	over := true
	for _, t := range ranks(d.tasks) {
		switch {
		case t.RestartAt.IsZero():
		case t.Waiting != waitingResize:
			c := *t
			c.Waiting, c.RestartAt = waitingResize, tx.now.Add(resizePause)
			d.setTask(c)
			over = false
		default:
			over = over && !t.RestartAt.After(tx.now)
		}
	}
	return over
}

// resizeDue is when the ranks of an elastic gang are to be started again; zero:
// none has ended yet.
func resizeDue(tasks map[int]*core.Task) time.Time {
	var at time.Time
	if endingRanks(tasks) {
		return at
	}
	for _, t := range tasks {
		if !t.Leaving && t.Waiting == waitingResize && t.RestartAt.After(at) {
			at = t.RestartAt
		}
	}
	return at
}

// endingRanks reports whether some rank that is to be restarted has not ended.
func endingRanks(tasks map[int]*core.Task) bool {
	for _, t := range tasks {
		if !t.Leaving && !t.RestartAt.IsZero() && t.State.Held() {
			return true
		}
	}
	return false
}

// scaling sets or clears Scaling by whether an elastic gang is on its way to
// another number of ranks.
func (tx *tx) scaling(d *draft) {
	up, going, coming := 0, 0, 0
	for _, t := range d.tasks {
		switch {
		case t.Leaving:
			going += core.Bit(t.State.Held())
		case t.State == core.TaskRunning:
			up++
		case !t.State.Ended() || !t.RestartAt.IsZero():
			coming++
		}
	}
	if c := d.holding(lifecycle.Degraded); c != nil && c.Cause == lifecycle.RanksLost && up == d.w.Spec.Size() {
		d.fact(lifecycle.Degraded, false, tx.now, "", "") // it is whole again
	}
	on := going > 0 || d.w.Phase == lifecycle.Running && coming > 0 || resizing(d.tasks)
	d.fact(lifecycle.Scaling, on, tx.now, "", fmt.Sprintf("%d of %d to %d tasks run, %d are being started, %d leave", up, d.w.Spec.MinSize(), d.w.Spec.Size(), coming, going))
}

// bereaved takes workers whose nodes are lost out of an elastic gang that can do
// without them. One that cannot starts again, from its queue.
func (tx *tx) bereaved(d *draft) error {
	var lost []*core.Task
	others, first := 0, false
	for _, t := range ranks(d.tasks) {
		switch {
		case t.State.Ended() && systemic(t):
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
	message := blame(d.w, lost[0])
	switch decide.AfterRanksLost(d.w.Spec, d.w.Phase, d.w.SystemFailures, others, first) {
	case decide.RanksFail:
		return nil // as of any gang
	case decide.RanksRequeue:
		d.w.SystemFailures++
		message = fmt.Sprintf("%d of at least %d tasks are left: %s", others, d.w.Spec.MinSize(), message)
		return tx.end(d, lifecycle.Input{On: lifecycle.BelowMinimum, Target: lifecycle.Queued, Message: message}, actorBackend(lost[0].Node))
	}
	before := len(ranks(d.tasks))
	for _, t := range lost {
		tx.dismissed(d, t)
	}
	tx.e.dirty = true
	d.fact(lifecycle.Degraded, true, tx.now, lifecycle.RanksLost, fmt.Sprintf("%d of %d tasks are left: %s", others, d.w.Spec.Size(), message))
	return tx.resized(d, before, lifecycle.Input{Message: message}, actorBackend(lost[0].Node))
}
