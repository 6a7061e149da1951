package control

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/plane"
)

// Inventory takes over what a plane says of its nodes.
func Inventory(planeName string, nodes []core.Node) Command {
	return func(tx *tx) (any, error) {
		e := tx.e
		known := map[core.NodeID]bool{}
		for _, n := range nodes {
			known[n.ID] = true
		}
		var gone []core.NodeID
		for id, n := range e.reported {
			if n.Plane == planeName && !known[id] {
				gone = append(gone, id)
			}
		}
		return nil, tx.reports(nodes, gone)
	}
}

// NodesChanged takes over what a plane tells of some of its nodes.
func NodesChanged(changed []core.Node, gone []core.NodeID) Command {
	return func(tx *tx) (any, error) { return nil, tx.reports(changed, gone) }
}

// reports takes nodes over that a plane has told of, and those that it does not
// have any more.
func (tx *tx) reports(nodes []core.Node, gone []core.NodeID) error {
	e := tx.e
	var news []core.NodeID
	for _, n := range nodes {
		if was, ok := e.reported[n.ID]; !ok || !reflect.DeepEqual(was, n) {
			e.reported[n.ID] = n
			news = append(news, n.ID)
		}
	}
	for _, id := range gone {
		if n, ok := e.reported[id]; ok && (n.Ready || n.Message != goneMessage) {
			n.Ready, n.Message = false, goneMessage
			e.reported[id] = n
			news = append(news, id)
		}
	}
	tx.surveyOf(news)
	if err := tx.silent(); err != nil {
		return err
	}
	return tx.handed()
}

const goneMessage = "the plane does not report it any more"

// handed takes workloads on that were submitted before any plane had said what
// nodes it has.
func (tx *tx) handed() error {
	for _, id := range sortedKeys(tx.e.live) {
		w, _, ok := tx.view(id)
		if !ok || w.Phase != lifecycle.Submitted {
			continue
		}
		d, _ := tx.open(id)
		if err := tx.change(d, func() error { return tx.gate(d) }); err != nil {
			return err
		}
	}
	return nil
}

// Observations are what a plane saw. Full ones hold everything that it has: a
// task that is missing from them is not there.
type Observations struct {
	Plane string
	Seen  []plane.Observation
	Full  bool
	// Began is when a full observation was asked for, or earlier: when the
	// oldest action was decided that the plane had not been told yet. It proves
	// the absence only of what was begun before.
	Began time.Time
}

// Observe takes observations over: what a plane reports twice, late or out of
// order changes a task at most once.
func Observe(o Observations) Command {
	return func(tx *tx) (any, error) {
		byWorkload := map[core.WorkloadID][]plane.Observation{}
		for _, ob := range o.Seen {
			byWorkload[ob.ID.Workload] = append(byWorkload[ob.ID.Workload], ob)
		}
		if o.Full {
			if err := tx.reached(o.Plane, true, ""); err != nil {
				return nil, err
			}
			// A server before may have found the plane silent.
			if err := tx.unreachable(func(t *core.Task) bool { return t.Plane == o.Plane }, false, ReasonPlaneUnreachable, ""); err != nil {
				return nil, err
			}
			tx.missing(o, byWorkload)
		}
		for _, id := range slices.Sorted(maps.Keys(byWorkload)) {
			tx.observed(o, id, byWorkload[id])
		}
		return nil, nil
	}
}

// observed applies what was seen of one workload and draws the conclusion.
func (tx *tx) observed(o Observations, id core.WorkloadID, seen []plane.Observation) {
	w, tasks, live := tx.view(id)
	var news []plane.Observation
	for _, ob := range seen {
		t := tasks[ob.ID.Index]
		if !live || t == nil || ob.ID != t.ID || t.State.Ended() || t.Claim != ob.Claim {
			tx.stray(o.Plane, ob)
			continue
		}
		if o.Full && t.RestartedAt.Before(o.Began) && before(t, ob) && ob.State.Ended() {
			// The run before is still there: what was to replace it never arrived.
			tx.forget(o.Plane, ob.ID)
			if t.State == core.TaskStarting {
				tx.start(w, t)
			}
			continue
		}
		if en := tx.e.live[id]; en != nil {
			en.seen[ob.ID.Index] = tx.now
		}
		if differs(t, ob) {
			news = append(news, ob)
		}
	}
	if len(news) == 0 {
		return
	}
	d, _ := tx.open(id)
	err := tx.change(d, func() error {
		for _, ob := range news {
			if t := d.tasks[ob.ID.Index]; differs(t, ob) {
				d.setTask(after(*t, ob, tx.now))
				if t = d.tasks[ob.ID.Index]; ob.State.Ended() {
					tx.spared(d, t)
					tx.forget(o.Plane, ob.ID)
					tx.e.dirty = true // of an array its place is free now, whatever the others do
				}
			}
		}
		return tx.conclude(d)
	})
	if err != nil {
		tx.e.d.Log.Error("observation does not fit the state", "workload", id, "phase", d.w.Phase, "err", err)
	}
}

// stray deals with a task that nobody wants any more: it is ended, then forgotten.
func (tx *tx) stray(planeName string, ob plane.Observation) {
	if ob.State.Ended() {
		delete(tx.e.strays, ob.ID)
		tx.forget(planeName, ob.ID)
		return
	}
	if ob.Claim != "" { // it is another's, and goes on
		tx.actions = append(tx.actions, Action{Kind: ActDisown, Plane: planeName, Task: ob.ID})
		return
	}
	if told, ok := tx.e.strays[ob.ID]; ok && !told.at.After(tx.now) && tx.now.Sub(told.at) < strayGrace {
		return // each stop is looked after at once; asking again then would never rest
	}
	tx.e.strays[ob.ID] = stray{planeName, tx.now}
	tx.actions = append(tx.actions, Action{Kind: ActStop, Plane: planeName, Task: ob.ID, Grace: strayGrace})
}

// strayGrace is what a task gets to end that no workload claims.
const strayGrace = 10 * time.Second

// stray is a task of a plane that was told to end because nobody claims it.
type stray struct {
	plane string
	at    time.Time
}

// missing looks for tasks of the plane that a full observation does not hold.
func (tx *tx) missing(o Observations, byWorkload map[core.WorkloadID][]plane.Observation) {
	present := map[core.TaskID]bool{}
	for _, ob := range o.Seen {
		present[ob.ID] = true
	}
	maps.DeleteFunc(tx.e.strays, func(id core.TaskID, s stray) bool { return s.plane == o.Plane && !present[id] })
	for _, id := range slices.Sorted(maps.Keys(tx.e.held)) {
		w, tasks, ok := tx.view(id)
		if !ok {
			continue
		}
		for _, t := range sortedTasks(tasks) {
			if !t.State.Held() || present[t.ID] || tx.planeOf(t) != o.Plane || !t.PlacedAt.Before(o.Began) || !t.RestartedAt.Before(o.Began) {
				continue
			}
			if en := tx.e.live[id]; en != nil && !en.seen[t.ID.Index].Before(o.Began) {
				continue // it was reported after this observation began
			}
			switch t.State {
			case core.TaskStarting:
				if w.Phase != lifecycle.Restarting {
					tx.start(w, t) // never arrived there; starting twice is harmless
				}
			case core.TaskStopping:
				byWorkload[id] = append(byWorkload[id], plane.Observation{
					ID: t.ID, State: core.TaskLost, // no time: the plane has said nothing
					Reason: string(lifecycle.ReasonKilled), Message: "it was told to end and is gone",
				})
			default:
				byWorkload[id] = append(byWorkload[id], plane.Observation{
					ID: t.ID, State: core.TaskLost, // no time: the plane has said nothing
					Reason: string(lifecycle.ReasonOutcomeUnknown), Message: "the plane does not know it any more, and nobody saw how it ended",
				})
			}
		}
	}
}

// before reports whether an observation is of the run before t was restarted
// in place, by the plane's clock alone: it may not be ours.
func before(t *core.Task, ob plane.Observation) bool {
	return !t.RestartedAt.IsZero() && !ob.At.IsZero() && !ob.At.Truncate(time.Microsecond).After(t.FormerAt)
}

// differs reports whether an observation is news about a task.
func differs(t *core.Task, ob plane.Observation) bool {
	if t.State.Ended() || before(t, ob) {
		return false
	}
	switch ob.State {
	case core.TaskStarting:
		return t.State == core.TaskStarting && (ob.Waiting != t.Waiting || ob.Message != t.Message)
	case core.TaskRunning:
		return t.State == core.TaskStarting || t.State == core.TaskStopping && ob.Message != t.Message
	default:
		return ob.State.Ended()
	}
}

// after is a task after an observation that differs from it.
func after(t core.Task, ob plane.Observation, now time.Time) core.Task {
	at := ob.At
	if at.IsZero() || at.After(now) {
		at = now
	}
	at = at.Truncate(time.Microsecond)
	if !ob.At.IsZero() {
		t.SeenAt = ob.At.UTC().Truncate(time.Microsecond)
	}
	switch ob.State {
	case core.TaskStarting:
		t.Waiting, t.Message = ob.Waiting, ob.Message
	case core.TaskRunning:
		if t.Message = ob.Message; t.State == core.TaskStopping {
			break // why it has not ended yet
		}
		t.State, t.Waiting, t.Message, t.StartedAt = core.TaskRunning, "", ob.Message, at
	default:
		told := t.State == core.TaskStopping
		t.State, t.Waiting, t.EndedAt, t.Ready = ob.State, "", at, false
		if at.Before(t.PlacedAt) {
			t.EndedAt = t.PlacedAt
		}
		t.ExitCode, t.Signal, t.Reason, t.Message = ob.ExitCode, ob.Signal, ob.Reason, ob.Message
		if told && t.Reason == string(lifecycle.ReasonSystem) { // its plane may not know any more by whom it was told
			t.Reason = string(lifecycle.ReasonKilled)
		}
	}
	return t
}

func actorPlane(node core.NodeID) string { return "plane:" + string(node) }

// conclude draws what follows for the workload from the states of its tasks.
// It must run inside change.
func (tx *tx) conclude(d *draft) error {
	switch {
	case d.w.Phase == lifecycle.Terminating:
		return tx.release(d)
	case d.w.Kind == lifecycle.External:
		return tx.concludeExternal(d)
	case !d.w.Phase.Held():
		return nil
	case d.w.Kind == lifecycle.Inference:
		return tx.balance(d)
	case d.w.Phase == lifecycle.Restarting:
		return nil
	}
	if d.w.Spec.Elastic() {
		if err := tx.regroup(d); err != nil || d.w.Phase == lifecycle.Terminating || !d.w.Phase.Held() {
			return err
		}
	}
	if d.w.Spec.Array != nil {
		if over, err := tx.comeBack(d); over || err != nil {
			return err
		}
	}
	c := count(d)
	// First what came first: a task may start and end between two looks.
	if d.w.Phase == lifecycle.Starting && c.ready {
		if err := tx.step(d, lifecycle.Input{On: lifecycle.AllReady}, actorPlane(c.node)); err != nil {
			return err
		}
	}
	if c.bad != nil && (!c.independent || c.left == 0) {
		return tx.failed(d, c.bad)
	}
	if d.w.Phase == lifecycle.Running && (c.succeeded == c.total || c.chief && cleans(d.w)) {
		if d.w.Kind == lifecycle.Workspace && d.w.Spec.Restart == "always" {
			return tx.failed(d, d.tasks[0]) // a clean exit is restarted like an error
		}
		zero := 0
		d.attempt().ExitCode = &zero
		target := lifecycle.Completed
		if d.w.Spec.Publish != nil {
			target = lifecycle.Publishing
		}
		return tx.end(d, lifecycle.Input{On: lifecycle.Succeed, Target: target}, actorPlane(c.node))
	}
	return nil
}

// cleans reports whether the success of the first task is that of the gang,
// whose other tasks are then ended.
func cleans(w *core.Workload) bool {
	return w.Spec.Gang() && (w.Spec.CleanPolicy == "running" || w.Spec.CleanPolicy == "" && (w.Spec.Framework == "mpi" || w.Spec.Slurm != nil))
}

// tally is what the tasks of an attempt add up to.
type tally struct {
	independent bool
	total       int
	left        int // not ended, or not even placed
	succeeded   int
	chief       bool       // the first task has succeeded
	ready       bool       // everything that must have started has
	bad         *core.Task // the first that failed or was lost
	node        core.NodeID
}

func count(d *draft) tally {
	c := tally{independent: d.w.Spec.Array != nil, total: total(d.w)}
	elastic := d.w.Spec.Elastic()
	if elastic {
		c.total = len(ranks(d.tasks))
	}
	started, first, placed := 0, -1, 0
	for index, t := range d.tasks {
		if t.Again {
			continue // it waits, like those that were never placed
		}
		placed++
		if elastic && (t.Leaving || t.State.Ended() && !t.RestartAt.IsZero()) {
			continue // it is none of the ranks, or will be one again
		}
		if first < 0 || index < first {
			first, c.node = index, t.Node
		}
		switch t.State {
		case core.TaskRunning, core.TaskStopping:
			started++
		case core.TaskSucceeded:
			started++
			c.succeeded++
			c.chief = c.chief || index == 0
		case core.TaskFailed, core.TaskLost:
			if c.bad == nil || t.EndedAt.Before(c.bad.EndedAt) || t.EndedAt.Equal(c.bad.EndedAt) && t.ID.Index < c.bad.ID.Index {
				c.bad = t
			}
			if !t.StartedAt.IsZero() {
				started++
			}
		}
		if t.State.Held() {
			c.left++
		}
	}
	if !elastic {
		c.left += c.total - placed
	}
	c.ready = started >= c.total || c.independent && started > 0
	return c
}

// failed decides what becomes of an attempt one of whose tasks failed.
func (tx *tx) failed(d *draft, t *core.Task) error {
	a := d.attempt()
	index := t.ID.Index
	a.Culprit, a.ExitCode = &index, t.ExitCode
	reason := lifecycle.Reason(t.Reason)
	message := blame(d.w, t)
	actor := actorPlane(t.Node)
	retries := lifecycle.Input{On: lifecycle.TaskFail, To: lifecycle.Terminating, Target: lifecycle.Backoff, Reason: reason, Message: message}
	switch tx.ruled(d, t) {
	case ruleRetry:
		return tx.end(d, retries, actor)
	case ruleFail:
		in := retries
		in.Target = lifecycle.Failed
		return tx.end(d, in, actor)
	}
	in := retries
	in.Target = lifecycle.Failed
	switch {
	case systemic(t):
		in = lifecycle.Input{On: lifecycle.NodeLost, Target: lifecycle.Failed, Reason: reason, Message: message}
		if limit := d.w.Spec.Retry.System; limit == nil || d.w.SystemFailures < *limit {
			d.w.SystemFailures++
			in.Target = lifecycle.Queued
			tx.rest(d, t, d.w.SystemFailures)
		}
	case reason == lifecycle.ReasonMaxDuration:
		in = lifecycle.Input{On: lifecycle.Deadline, Reason: reason, Message: message}
	case t.State == core.TaskLost:
		in = lifecycle.Input{On: lifecycle.OutcomeLost, Reason: lifecycle.ReasonOutcomeUnknown, Message: message}
	case reason == lifecycle.ReasonFailedImagePull && d.w.Phase == lifecycle.Starting:
		in = lifecycle.Input{On: lifecycle.PullFail, Reason: reason, Message: message}
	case reason == lifecycle.ReasonContainerCannot && d.w.Phase == lifecycle.Starting:
		in = lifecycle.Input{On: lifecycle.CannotRun, Reason: reason, Message: message}
	case reason == lifecycle.ReasonMountFailed && d.w.Phase == lifecycle.Starting:
		in = lifecycle.Input{On: lifecycle.MountFail, Reason: reason, Message: message}
	case d.w.Kind.Attended() && d.w.Spec.Restart != "never":
		tx.restartLater(d, t)
		d.w.Failures = d.tasks[index].Failures
		return tx.step(d, lifecycle.Input{On: lifecycle.TaskFail, To: lifecycle.Restarting, Reason: reason, Message: message}, actor)
	default:
		d.w.Failures++
		if d.w.Failures <= d.w.Spec.Retry.Limit {
			in.Target = lifecycle.Backoff
		}
	}
	return tx.end(d, in, actor)
}

// ruling is what a retry rule says of a failure.
type ruling int

const (
	ruleNone ruling = iota // none fits: the kind and retry.limit decide
	ruleRetry
	ruleFail
)

// ruled finds the retry rule that fits a failure and counts its use.
func (tx *tx) ruled(d *draft, t *core.Task) ruling {
	rules := d.w.Spec.Retry.Rules
	if d.w.Kind.Attended() {
		return ruleNone
	}
	for i, r := range rules {
		if !fits(r, t) {
			continue
		}
		if r.Action == "fail" {
			return ruleFail
		}
		uses := make([]int, len(rules))
		copy(uses, d.w.RuleUses)
		if r.Limit > 0 && uses[i] >= r.Limit {
			return ruleFail
		}
		if r.Action == "retry" {
			if d.w.Failures++; r.Limit == 0 && d.w.Failures > d.w.Spec.Retry.Limit {
				return ruleFail
			}
		}
		uses[i]++
		d.w.RuleUses = uses
		return ruleRetry
	}
	return ruleNone
}

// fits reports whether a retry rule is about how t failed.
func fits(r spec.RetryRule, t *core.Task) bool {
	return (len(r.ExitCodes) == 0 || t.ExitCode != nil && slices.Contains(r.ExitCodes, *t.ExitCode)) &&
		(len(r.Reasons) == 0 || slices.Contains(r.Reasons, t.Reason))
}

// blame is one sentence on which task failed and how.
func blame(w *core.Workload, t *core.Task) string {
	who := "its task"
	if w.Spec.Size() > 1 {
		who = fmt.Sprintf("%s %d on %s", t.Role, t.ID.Index, t.Node)
	}
	switch {
	case t.State == core.TaskLost:
		return who + " was lost: " + t.Message
	case t.Message != "":
		return who + " failed: " + t.Message
	case t.Signal != 0:
		return fmt.Sprintf("%s was ended by signal %d", who, t.Signal)
	case t.ExitCode != nil:
		return fmt.Sprintf("%s exited with code %d", who, *t.ExitCode)
	default:
		return who + " failed"
	}
}

// restartInPlace starts tasks of an attended workload again where they were,
// each once its back-off is over. It must run inside change.
func (tx *tx) restartInPlace(d *draft) error {
	due := false
	for _, t := range sortedTasks(d.tasks) {
		if t.RestartAt.IsZero() || t.RestartAt.After(tx.now) {
			continue
		}
		if !due && d.w.Phase == lifecycle.Restarting {
			if err := tx.step(d, lifecycle.Input{On: lifecycle.BackoffOver}, actorControl); err != nil {
				return err
			}
		}
		due = true
		again := core.Task{
			ID: t.ID, Role: t.Role, Plane: t.Plane, Node: t.Node, Pool: t.Pool, Devices: t.Devices, CPU: t.CPU, Memory: t.Memory, Port: t.Port,
			Edition: d.w.Edition, Failures: t.Failures, State: core.TaskStarting, PlacedAt: t.PlacedAt,
			RestartedAt: tx.now, Restarts: t.Restarts + 1, SeenAt: t.SeenAt, FormerAt: t.SeenAt,
		}
		d.setTask(again)
		tx.forget(tx.planeOf(t), t.ID)
		tx.start(d.w, &again)
	}
	if d.w.Kind == lifecycle.Inference {
		return tx.balance(d)
	}
	return nil
}
