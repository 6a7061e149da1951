package consequence

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/decide"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/workload"
)

// Replicas of an inference workload come and go one by one while it runs. A
// replica that fails is restarted in place, after a wait of its own; one that
// is not wanted any more is ended and its index never used again in this
// attempt. The phase is that of the best of them: Running while one is ready,
// Restarting only when none is up.

// balance draws what follows for an inference workload from its replicas. It
// must run inside change.
func balance(tx *draft.Tx, d *draft.Draft) error {
	if err := replicasEnded(tx, d); err != nil || d.W.Phase == lifecycle.Terminating || !d.W.Phase.Held() {
		return err
	}
	dismiss(tx, d)
	up, ready, due := 0, 0, 0
	for _, t := range d.Tasks.All() {
		if !workload.Wanted(t) {
			continue
		}
		up += core.Bit(t.State.Held())
		ready += core.Bit(t.Ready)
		due += core.Bit(!t.RestartAt.IsZero())
	}
	bad := lastFailed(d)
	in, actor := lifecycle.Input{}, draft.ActorControl
	in.On = decide.AfterReplicas(d.W.Phase, decide.Replicas{Wanted: d.W.Replicas, Ready: ready, Up: up, Due: due, Failed: bad != nil})
	if in.On == lifecycle.TaskFail {
		in.To, in.Reason, in.Message, actor = lifecycle.Restarting, workload.WhyRestarted(bad), workload.Blame(d.W, bad), actorBackend(bad.Node)
	}
	if in.On != "" {
		if err := tx.Step(d, in, actor); err != nil {
			return err
		}
	}
	Serving(tx, d)
	d.Close(replacedReplicas(d))
	return nil
}

// replacedReplicas reports of which replicas nothing follows any more. From what
// the backend refused or took away it follows when others are placed, until one
// placed later has come up.
func replacedReplicas(d *draft.Draft) func(*core.Task) bool {
	up := workload.LastStart(d.Tasks)
	return func(t *core.Task) bool {
		return t.Leaving && (!workload.TakenAway(t) || d.W.AskAt.IsZero() && up.After(t.PlacedAt))
	}
}

// Serving sets and clears the conditions that follow from the replicas. It must
// run inside change.
func Serving(tx *draft.Tx, d *draft.Draft) {
	if d.W.Phase == lifecycle.Terminating {
		return // it ends, whatever its replicas were about
	}
	ready, old := 0, 0
	for _, t := range d.Tasks.All() {
		if workload.Wanted(t) {
			ready += core.Bit(t.Ready)
			old += core.Bit(t.Generation != d.W.Generation)
		}
	}
	d.Fact(lifecycle.Updating, old > 0, tx.Now, "", fmt.Sprintf("%d of %d replicas are still of the generation before", old, d.W.Replicas))
	here, going := present(d)
	d.Fact(lifecycle.Scaling, old == 0 && (here != d.W.Replicas || going > 0), tx.Now, "", fmt.Sprintf("%d replicas, %d wanted", here+going, d.W.Replicas))
	message := fmt.Sprintf("%d of %d replicas are ready", ready, d.W.Replicas)
	if t := workload.Refused(d.Tasks); t != nil && !d.W.AskAt.IsZero() {
		message += "; " + workload.Blame(d.W, t)
	}
	d.Fact(lifecycle.Degraded, ready < d.W.Replicas && d.W.Phase == lifecycle.Running, tx.Now, lifecycle.ReplicasNotReady, message)
}

// present is how many replicas there are that have come up at least once, and
// how many are on their way out.
func present(d *draft.Draft) (here, going int) {
	for _, t := range d.Tasks.All() {
		switch {
		case workload.Wanted(t) && (t.State != core.TaskStarting || t.Restarts > 0):
			here++
		case t.Leaving && t.State.Held():
			going++
		}
	}
	return here, going
}

// lastFailed is the replica whose failure came last.
func lastFailed(d *draft.Draft) *core.Task {
	var last *core.Task
	for _, t := range d.Tasks.All() {
		if !t.Leaving && t.State.Ended() && (last == nil || t.EndedAt.After(last.EndedAt) || t.EndedAt.Equal(last.EndedAt) && t.ID.Index < last.ID.Index) {
			last = t
		}
	}
	return last
}

// replicasEnded plans the restart of replicas that have ended by themselves. An
// image or command that has never worked ends the workload.
func replicasEnded(tx *draft.Tx, d *draft.Draft) error {
	for _, t := range workload.SortedTasks(d.Tasks) {
		if !t.State.Ended() || t.Leaving || !t.RestartAt.IsZero() {
			continue
		}
		up := d.W.Phase == lifecycle.Starting && anyUp(d)
		switch decide.AfterReplica(d.W.Phase, workload.FailureOf(t), t.Away, up) {
		case decide.ReplicaReplaced:
			c := *t // its place is gone, or going
			c.Leaving = true
			tx.State.Dirty = true
			d.SetTask(c)
		case decide.ReplicasFail:
			return failed(tx, d, t)
		default:
			restartLater(tx, d, t)
		}
	}
	return nil
}

func anyUp(d *draft.Draft) bool {
	for _, t := range d.Tasks.All() {
		if t.State.Held() && workload.Wanted(t) {
			return true
		}
	}
	return false
}

// restartLater has an ended task started again in place after its back-off.
func restartLater(tx *draft.Tx, d *draft.Draft, t *core.Task) {
	c := *t
	c.Failures++
	c.Failures = decide.InRow(c.Failures, workload.Since(c.StartedAt, c.EndedAt))
	c.Ready = false
	if workload.Exited(t) {
		c.Waiting = workload.CrashLoop // it has not failed, and is started again all the same
	}
	c.RestartAt = tx.Now.Add(decide.RestartWait(d.W.ID, c.Failures)).Truncate(time.Microsecond)
	d.SetTask(c)
}

// dismiss ends replicas that are too many, or of an older generation or on their
// way from a node while enough others are ready.
func dismiss(tx *draft.Tx, d *draft.Draft) {
	var old, fresh []*core.Task
	ready := 0
	for _, t := range workload.SortedTasks(d.Tasks) {
		if !workload.Wanted(t) {
			continue
		}
		if t.Ready {
			ready++
		}
		if workload.UpToDate(d.W, t) {
			fresh = append(fresh, t)
		} else {
			old = append(old, t)
		}
	}
	slices.SortFunc(fresh, leastUseful)
	slices.SortFunc(old, leastUseful)
	for len(fresh) > d.W.Replicas {
		Leave(tx, d, fresh[0])
		fresh = fresh[1:]
	}
	least := d.W.Replicas - *d.W.Spec.Update.MaxUnavailable
	for _, t := range old {
		switch {
		case !t.Ready:
		case ready > least:
			ready--
		default:
			continue
		}
		Leave(tx, d, t)
	}
}

// leastUseful orders replicas by who can go first: those that are not ready,
// then the youngest.
func leastUseful(a, b *core.Task) int {
	if a.Ready != b.Ready {
		if b.Ready {
			return -1
		}
		return 1
	}
	return cmp.Compare(b.ID.Index, a.ID.Index)
}

// Leave ends a replica for good.
func Leave(tx *draft.Tx, d *draft.Draft, t *core.Task) {
	c := *t
	c.Leaving, c.Ready, c.RestartAt = true, false, time.Time{}
	if c.State.Held() {
		c.State = core.TaskStopping
		tx.Stop(&c, d.W.Grace())
	} else {
		c.ReleasedAt = workload.Later(tx.Now, c.PlacedAt) // it kept its place to be restarted there
	}
	tx.State.Dirty = true // there is room for another, if not its place
	d.SetTask(c)
}

// Probed says whether replicas take requests at present.
func Probed(ready map[core.TaskID]bool) draft.Command[draft.Nothing] {
	return func(tx *draft.Tx) (draft.Nothing, error) {
		byWorkload := map[core.WorkloadID][]core.TaskID{}
		for id := range ready {
			byWorkload[id.Workload] = append(byWorkload[id.Workload], id)
		}
		for _, id := range slices.Sorted(maps.Keys(byWorkload)) {
			_, tasks, ok := tx.View(id)
			if !ok {
				continue
			}
			fits := func(t core.TaskID) bool {
				x := tasks.At(t.Index)
				return x != nil && x.ID == t && x.State == core.TaskRunning && !x.Leaving && x.Ready != ready[t]
			}
			if !slices.ContainsFunc(byWorkload[id], fits) {
				continue
			}
			d, _ := tx.Open(id)
			err := tx.Change(d, func() error {
				for _, t := range byWorkload[id] {
					if fits(t) {
						c := *d.Tasks.At(t.Index)
						c.Ready = ready[t]
						d.SetTask(c)
					}
				}
				return Conclude(tx, d)
			})
			if err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
}
