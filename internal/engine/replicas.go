package engine

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/decide"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// Replicas of an inference workload come and go one by one while it runs. A
// replica that fails is restarted in place, after a wait of its own; one that
// is not wanted any more is ended and its index never used again in this
// attempt. The phase is that of the best of them: Running while one is ready,
// Restarting only when none is up.

// wanted reports whether t still counts as one of the replicas.
func wanted(t *core.Task) bool {
	return !t.Leaving && (t.State.Held() || !t.RestartAt.IsZero())
}

// upToDate reports whether no other replica is to take over from t.
func upToDate(w *core.Workload, t *core.Task) bool { return t.Generation == w.Generation && !t.Away }

// replicasMissing is how many replicas may be placed now: up to what is wanted
// and, during an update, maxSurge more.
func replicasMissing(w *core.Workload, tasks map[int]*core.Task) int {
	all, fresh := 0, 0
	for _, t := range tasks {
		if wanted(t) {
			all++
			if upToDate(w, t) {
				fresh++
			}
		}
	}
	most := w.Replicas
	if all > fresh {
		most += *w.Spec.Update.MaxSurge
	}
	return max(min(w.Replicas-fresh, most-all), 0)
}

// balance draws what follows for an inference workload from its replicas. It
// must run inside change.
func (tx *tx) balance(d *draft) error {
	if err := tx.replicasEnded(d); err != nil || d.w.Phase == lifecycle.Terminating || !d.w.Phase.Held() {
		return err
	}
	tx.dismiss(d)
	up, ready, due := 0, 0, 0
	for _, t := range d.tasks {
		if !wanted(t) {
			continue
		}
		up += core.Bit(t.State.Held())
		ready += core.Bit(t.Ready)
		due += core.Bit(!t.RestartAt.IsZero())
	}
	bad := lastFailed(d)
	in, actor := lifecycle.Input{}, actorControl
	in.On = decide.AfterReplicas(d.w.Phase, decide.Replicas{Wanted: d.w.Replicas, Ready: ready, Up: up, Due: due, Failed: bad != nil})
	if in.On == lifecycle.TaskFail {
		in.To, in.Reason, in.Message, actor = lifecycle.Restarting, ends(bad), blame(d.w, bad), actorBackend(bad.Node)
	}
	if in.On != "" {
		if err := tx.step(d, in, actor); err != nil {
			return err
		}
	}
	tx.serving(d)
	d.close(replacedReplicas(d))
	return nil
}

// replacedReplicas reports of which replicas nothing follows any more. From what
// the backend refused or took away it follows when others are placed, until one
// placed later has come up.
func replacedReplicas(d *draft) func(*core.Task) bool {
	up := lastStart(d.tasks)
	return func(t *core.Task) bool {
		return t.Leaving && (!takenAway(t) || d.w.AskAt.IsZero() && up.After(t.PlacedAt))
	}
}

// serving sets and clears the conditions that follow from the replicas. It must
// run inside change.
func (tx *tx) serving(d *draft) {
	if d.w.Phase == lifecycle.Terminating {
		return // it ends, whatever its replicas were about
	}
	ready, old := 0, 0
	for _, t := range d.tasks {
		if wanted(t) {
			ready += core.Bit(t.Ready)
			old += core.Bit(t.Generation != d.w.Generation)
		}
	}
	d.fact(lifecycle.Updating, old > 0, tx.now, "", fmt.Sprintf("%d of %d replicas are still of the generation before", old, d.w.Replicas))
	here, going := present(d)
	d.fact(lifecycle.Scaling, old == 0 && (here != d.w.Replicas || going > 0), tx.now, "", fmt.Sprintf("%d replicas, %d wanted", here+going, d.w.Replicas))
	message := fmt.Sprintf("%d of %d replicas are ready", ready, d.w.Replicas)
	if t := refused(d.tasks); t != nil && !d.w.AskAt.IsZero() {
		message += "; " + blame(d.w, t)
	}
	d.fact(lifecycle.Degraded, ready < d.w.Replicas && d.w.Phase == lifecycle.Running, tx.now, lifecycle.ReplicasNotReady, message)
}

// present is how many replicas there are that have come up at least once, and
// how many are on their way out.
func present(d *draft) (here, going int) {
	for _, t := range d.tasks {
		switch {
		case wanted(t) && (t.State != core.TaskStarting || t.Restarts > 0):
			here++
		case t.Leaving && t.State.Held():
			going++
		}
	}
	return here, going
}

// lastFailed is the replica whose failure came last.
func lastFailed(d *draft) *core.Task {
	var last *core.Task
	for _, t := range d.tasks {
		if !t.Leaving && t.State.Ended() && (last == nil || t.EndedAt.After(last.EndedAt) || t.EndedAt.Equal(last.EndedAt) && t.ID.Index < last.ID.Index) {
			last = t
		}
	}
	return last
}

// replicasEnded plans the restart of replicas that have ended by themselves. An
// image or command that has never worked ends the workload.
func (tx *tx) replicasEnded(d *draft) error {
	for _, t := range sortedTasks(d.tasks) {
		if !t.State.Ended() || t.Leaving || !t.RestartAt.IsZero() {
			continue
		}
		up := d.w.Phase == lifecycle.Starting && anyUp(d)
		switch decide.AfterReplica(d.w.Phase, failureOf(t), t.Away, up) {
		case decide.ReplicaReplaced:
			c := *t // its place is gone, or going
			c.Leaving = true
			tx.e.dirty = true
			d.setTask(c)
		case decide.ReplicasFail:
			return tx.failed(d, t)
		default:
			tx.restartLater(d, t)
		}
	}
	return nil
}

func anyUp(d *draft) bool {
	for _, t := range d.tasks {
		if t.State.Held() && wanted(t) {
			return true
		}
	}
	return false
}

// restartLater has an ended task started again in place after its back-off.
func (tx *tx) restartLater(d *draft, t *core.Task) {
	c := *t
	c.Failures++
	c.Failures = decide.InRow(c.Failures, since(c.StartedAt, c.EndedAt))
	c.Ready = false
	if exited(t) {
		c.Waiting = crashLoop // it has not failed, and is started again all the same
	}
	c.RestartAt = tx.now.Add(decide.RestartWait(d.w.ID, c.Failures)).Truncate(time.Microsecond)
	d.setTask(c)
}

// dismiss ends replicas that are too many, or of an older generation or on their
// way from a node while enough others are ready.
func (tx *tx) dismiss(d *draft) {
	var old, fresh []*core.Task
	ready := 0
	for _, t := range sortedTasks(d.tasks) {
		if !wanted(t) {
			continue
		}
		if t.Ready {
			ready++
		}
		if upToDate(d.w, t) {
			fresh = append(fresh, t)
		} else {
			old = append(old, t)
		}
	}
	slices.SortFunc(fresh, leastUseful)
	slices.SortFunc(old, leastUseful)
	for len(fresh) > d.w.Replicas {
		tx.leave(d, fresh[0])
		fresh = fresh[1:]
	}
	least := d.w.Replicas - *d.w.Spec.Update.MaxUnavailable
	for _, t := range old {
		switch {
		case !t.Ready:
		case ready > least:
			ready--
		default:
			continue
		}
		tx.leave(d, t)
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

// leave ends a replica for good.
func (tx *tx) leave(d *draft, t *core.Task) {
	c := *t
	c.Leaving, c.Ready, c.RestartAt = true, false, time.Time{}
	if c.State.Held() {
		c.State = core.TaskStopping
		tx.stop(&c, d.w.Grace())
	} else {
		c.ReleasedAt = later(tx.now, c.PlacedAt) // it kept its place to be restarted there
	}
	tx.e.dirty = true // there is room for another, if not its place
	d.setTask(c)
}

// Probed says whether replicas take requests at present.
func Probed(ready map[core.TaskID]bool) Command {
	return func(tx *tx) (any, error) {
		byWorkload := map[core.WorkloadID][]core.TaskID{}
		for id := range ready {
			byWorkload[id.Workload] = append(byWorkload[id.Workload], id)
		}
		for _, id := range SortedKeys(byWorkload) {
			_, tasks, ok := tx.view(id)
			if !ok {
				continue
			}
			fits := func(t core.TaskID) bool {
				x := tasks[t.Index]
				return x != nil && x.ID == t && x.State == core.TaskRunning && !x.Leaving && x.Ready != ready[t]
			}
			if !slices.ContainsFunc(byWorkload[id], fits) {
				continue
			}
			d, _ := tx.open(id)
			err := tx.change(d, func() error {
				for _, t := range byWorkload[id] {
					if fits(t) {
						c := *d.tasks[t.Index]
						c.Ready = ready[t]
						d.setTask(c)
					}
				}
				return tx.conclude(d)
			})
			if err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
}

// ScaleRequest changes how many replicas an inference workload wants.
type ScaleRequest struct {
	Ref      Ref
	Replicas int
	Actor    string
	Message  string
	// Auto says that the autoscaler asks: it stays within the document's
	// bounds and never argues.
	Auto bool
}

// service finds an inference workload whose replicas can be changed, or says
// why they cannot.
func (tx *tx) service(r Ref) (*draft, error) {
	d, err := tx.find(r)
	if err != nil {
		return nil, err
	}
	w := d.w
	if w.Kind != lifecycle.Inference {
		return nil, &Error{Code: CodeInvalid, Field: "kind", Message: fmt.Sprintf("%s is of kind %s; only inference workloads have replicas and are updated", w.Name, w.Kind), Hint: "submit a new workload"}
	}
	if d.changed == nil || w.Phase.End() || w.Phase == lifecycle.Terminating || w.Phase == lifecycle.Deleting {
		return nil, &Error{Code: CodeIllegal, Message: fmt.Sprintf("%s is %s; it has no replicas to change", w.Name, w.Phase), Hint: "muster restart " + w.Name + " runs it again, another document needs a new workload"}
	}
	return d, nil
}

// Scale changes the wanted number of replicas; the value is the workload.
func Scale(r ScaleRequest) Command {
	return func(tx *tx) (any, error) {
		d, err := tx.service(r.Ref)
		if err != nil {
			return nil, err
		}
		w := d.w
		if most := 1000; r.Replicas < 0 || r.Replicas > most {
			return nil, &Error{Code: CodeInvalid, Field: "replicas", Message: fmt.Sprintf("%d is outside 0 to %d", r.Replicas, most), Hint: "write a number from 0 to 1000"}
		}
		if a := w.Spec.Autoscale; a != nil && !r.Auto && (r.Replicas < a.Min || r.Replicas > a.Max) {
			return nil, &Error{Code: CodeInvalid, Field: "replicas", Message: fmt.Sprintf("%d is outside its autoscale bounds, %d to %d", r.Replicas, a.Min, a.Max), Hint: "change autoscale with muster update"}
		}
		if r.Replicas == w.Replicas {
			return w, nil
		}
		err = tx.change(d, func() error {
			was := d.w.Replicas
			d.w.Replicas = r.Replicas
			msg := fmt.Sprintf("replicas %d → %d", was, r.Replicas)
			if r.Message != "" {
				msg += ": " + r.Message
			}
			return tx.replaced(d, lifecycle.ReasonScaled, msg, r.Actor)
		})
		return d.w, err
	}
}

// replaced records that a service is to have others, or another number of
// replicas, and draws what follows. It must run inside change.
func (tx *tx) replaced(d *draft, why lifecycle.Reason, message, actor string) error {
	if d.w.Phase == lifecycle.Running {
		if err := tx.step(d, lifecycle.Input{On: lifecycle.Scale, Reason: why, Message: message}, actor); err != nil {
			return err
		}
	}
	tx.e.dirty = true
	if err := tx.startEmpty(d); err != nil {
		return err
	}
	return tx.conclude(d)
}

// firstReplicas is how many replicas a document begins with.
func firstReplicas(doc *spec.Document) int {
	if doc.Kind != lifecycle.Inference {
		return 0
	}
	n := doc.Size()
	if a := doc.Autoscale; a != nil {
		n = min(max(n, a.Min), a.Max)
	}
	return n
}

// Served notes where the one address of an inference workload is.
func Served(id core.WorkloadID, port int) Command {
	return func(tx *tx) (any, error) {
		d, ok := tx.open(id)
		if !ok || d.w.ServicePort == port || d.w.Phase.End() {
			return nil, nil
		}
		return nil, tx.change(d, func() error { d.w.ServicePort = port; return nil })
	}
}
