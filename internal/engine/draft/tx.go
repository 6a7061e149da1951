package draft

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/audit"
	"github.com/musterhq/muster/internal/core/decide"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/workload"
	"github.com/musterhq/muster/internal/store"
)

// Tx is one draft of changes over the committed state.
type Tx struct {
	State  *State
	Ctx    context.Context
	Now    time.Time
	Drafts map[core.WorkloadID]*Draft
	order  []core.WorkloadID     // of drafts, as first touched
	Names  map[FullName]struct{} // of workloads that the draft creates

	Keys    []store.Key
	Org     OrganisationDraft
	Secrets []core.Secret   // made
	Gone    []core.SecretID // secrets that are dropped
	// unsettled are claims whose news could not be taken over.
	PendingClaims []ClaimKey
	TakenOn       map[ClaimKey]core.WorkloadID // workloads that the draft has made for claims
	Notified      notified
	Moved         []core.WorkloadID // that others wait for, and that have come further
	Templated     templated
	Looked        map[core.TemplateID]time.Time // schedules, and when to look at each again; zero: when something changes
	Access        AccessDraft
	Entries       []core.AuditEntry // for the audit log
	record        *record           // of what the present work changes; nil: nobody asks
	sealed        audit.Head        // the last of Entries, once they are sealed
	Actions       []Action
	Causes        []lifecycle.Cause // by which right work was made to leave, see Meter
}

// Draft is a workload as it will be.
type Draft struct {
	W       *core.Workload
	Tasks   *workload.Tasks
	Changed map[int]struct{} // tasks to write
	former  []*core.Task     // changed tasks of the attempt before, and of earlier runs, to write as well
	Trail   []core.Transition
	Base    *Entry // committed; nil: new
	// was and wasTasks are what it was made of; nil: it is new.
	Was      *core.Workload
	wasTasks *workload.Tasks
	Near     *decide.End // that it is warned of
	facts    []telling
	Touched  bool // there is something to write
	Edited   bool // its document too
	Quiet    bool // nothing has changed but what is said of it beside its phase
}

// Open returns the draft of a live workload, making one on first touch.
func (tx *Tx) Open(id core.WorkloadID) (*Draft, bool) {
	if d, ok := tx.Drafts[id]; ok {
		return d, true
	}
	en, ok := tx.State.Live[id]
	if !ok {
		return nil, false
	}
	return tx.draft(en.W, en.Tasks, en), true
}

func (tx *Tx) draft(w *core.Workload, tasks *workload.Tasks, base *Entry) *Draft {
	c := *w
	c.Version++
	c.Attempts = slices.Clone(w.Attempts)
	c.Conditions = slices.Clone(w.Conditions)
	d := &Draft{W: &c, Tasks: tasks.Clone(), Changed: map[int]struct{}{}, Base: base}
	if c.Version > 1 {
		d.Was, d.wasTasks = w, tasks
	}
	tx.Drafts[c.ID] = d
	tx.order = append(tx.order, c.ID)
	return d
}

// View returns a live workload as the draft has it, without opening one.
func (tx *Tx) View(id core.WorkloadID) (*core.Workload, *workload.Tasks, bool) {
	if d, ok := tx.Drafts[id]; ok {
		return d.W, d.Tasks, true
	}
	if en, ok := tx.State.Live[id]; ok {
		return en.W, en.Tasks, true
	}
	return nil, nil, false
}

// Change runs fn on a draft between taking it out of the indexes and putting
// it back, so that every index is a function of the state alone.
func (tx *Tx) Change(d *Draft, fn func() error) error {
	d.Touched, d.Quiet = true, false
	tx.record.sees(d, d.Was == nil)
	tx.State.Unindex(d.W, d.Tasks)
	err := fn()
	// As it will be read back, and not before its time: who is woken too early
	// would be woken again at once.
	d.W.WakeAt = tx.wakeAt(d.W, d.Tasks).Add(time.Microsecond - 1).Truncate(time.Microsecond)
	had := d.W.Counts
	d.W.Counts = workload.Counts(d.W, d.Tasks)
	if d.W.Counts.Succeeded > had.Succeeded && len(tx.State.Awaited[d.W.ID]) > 0 || d.W.Counts != had && awaitsTasks(tx, d.W.ID) {
		tx.Moved = append(tx.Moved, d.W.ID) // others may wait for tasks of it
	}
	d.Attempt().GPUMilli = workload.DevicesHeld(d.W, d.Tasks)
	tx.State.Index(d.W, d.Tasks)
	return err
}

// Reindexed puts a draft into the indexes anew, where what they say of it depends on
// more than itself. Nothing of it is written.
func Reindexed(tx *Tx, d *Draft) {
	tx.State.Unindex(d.W, d.Tasks)
	tx.State.Index(d.W, d.Tasks)
	tx.State.Dirty = true
}

// Step offers one event to the machine and records what it made of it. It must
// run inside change.
func (tx *Tx) Step(d *Draft, in lifecycle.Input, actor string) error {
	next, err := lifecycle.Next(d.W.State, in)
	if err != nil {
		return err
	}
	from, attempt := d.W.Phase, d.W.Attempt
	d.W.State = next
	d.Trail = append(d.Trail, core.Transition{
		Workload: d.W.ID, Attempt: next.Attempt, From: from, Event: in.On, To: next.Phase, Target: next.Target,
		Cause: next.Cause, For: core.WorkloadID(in.For), Reason: next.Reason, Message: next.Message, Actor: actor, At: tx.Now,
	})
	tx.State.Dirty = true
	if from == lifecycle.Terminating && next.Phase != lifecycle.Terminating {
		d.closeAttempt(tx.Now)
	}
	if busyPhase(from) && next.Phase != from {
		tx.Actions = append(tx.Actions, Action{Kind: ActDropOperations, Workload: d.W.ID})
	}
	if next.Phase == lifecycle.Queued || next.Phase == lifecycle.Inadmissible {
		d.renewChecks()
	}
	if next.Attempt != attempt {
		if a := d.Attempt(); a.EndedAt.IsZero() {
			a.EndedAt = tx.Now
		}
		tx.openAttempt(d)
	}
	d.stamp(from, tx.Now)
	if next.Phase != from && len(tx.State.Awaited[d.W.ID]) > 0 {
		tx.Moved = append(tx.Moved, d.W.ID)
	}
	return nil
}

// renewChecks forgets what was said of a reservation: the next one is checked
// anew.
func (d *Draft) renewChecks() {
	d.W.Checks = slices.Clone(d.W.Checks)
	for i := range d.W.Checks {
		if c := &d.W.Checks[i]; c.When == workload.AtReservation {
			c.Verdict, c.By, c.At, c.AskAt = core.CheckWaiting, "", time.Time{}, time.Time{}
		}
	}
}

// Attempt is the present attempt.
func (d *Draft) Attempt() *core.Attempt { return &d.W.Attempts[len(d.W.Attempts)-1] }

// stamp keeps the times that follow from entering a phase.
func (d *Draft) stamp(from lifecycle.Phase, now time.Time) {
	w := d.W
	if w.Phase == from {
		return
	}
	w.PhaseAt = now
	a := d.Attempt()
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

// closeAttempt closes the books of the present attempt, whose resources are being
// given back.
func (d *Draft) closeAttempt(now time.Time) {
	a := d.Attempt()
	a.EndedAt = now
	a.Event, a.Cause, a.Reason, a.Message = d.W.Event, d.W.Cause, d.W.Reason, d.W.Message
	for _, t := range workload.OpenIf(d.Tasks, func(t *core.Task) bool { return t.ReleasedAt.IsZero() }) {
		c := *t
		c.ReleasedAt = workload.Later(now, t.PlacedAt)
		d.SetTask(c)
	}
	d.W.GPUSeconds += workload.Charged(d.Tasks, now)
	d.W.Conditions, d.W.IdleSince, d.W.Warned = nil, time.Time{}, time.Time{}
	a.GPUMilli = 0 // change counts those of the attempt that is then the present one
}

// openAttempt begins a new attempt: no tasks yet; an array goes on with what
// is left of it.
func (tx *Tx) openAttempt(d *Draft) {
	a := core.Attempt{Index: d.W.Attempt, QueuedAt: tx.Now}
	a.Anew = len(d.Trail) > 0 && d.Trail[len(d.Trail)-1].Event == lifecycle.Restart
	if d.W.Spec.Array != nil && len(d.Trail) > 0 && !a.Anew {
		a.Todo = workload.Unfinished(d.W, d.Tasks)
	}
	if d.W.Phase == lifecycle.Reserved {
		a.Earmark = tx.keptBy(d.W, d.Tasks)
	}
	d.W.Attempts = append(d.W.Attempts, a)
	for _, i := range slices.Sorted(maps.Keys(d.Changed)) { // the last words of the former attempt
		d.former = append(d.former, d.Tasks.At(i))
	}
	d.Tasks = workload.TasksOf()
	d.Changed = map[int]struct{}{}
}

// SetTask puts a changed task into the draft. It must run inside change.
func (d *Draft) SetTask(t core.Task) {
	if t.State.Ended() && t.ReleasedAt.IsZero() && workload.FreesEarly(d.W, &t) {
		t.ReleasedAt = t.EndedAt
	}
	d.Tasks.Set(&t)
	d.Changed[t.ID.Index] = struct{}{}
}

// Condition sets or clears a condition beside the phase.
func (d *Draft) Condition(c core.Condition, on bool) {
	i := slices.IndexFunc(d.W.Conditions, func(x core.Condition) bool { return x.Type == c.Type })
	switch {
	case on && i < 0:
		d.W.Conditions = append(d.W.Conditions, c)
	case on:
		c.Since = d.W.Conditions[i].Since
		d.W.Conditions[i] = c
	case i >= 0:
		d.W.Conditions = slices.Delete(d.W.Conditions, i, i+1)
	}
}

// Fact sets or clears a condition that needs no other reason than itself.
func (d *Draft) Fact(t lifecycle.ConditionType, on bool, now time.Time, cause lifecycle.ConditionCause, message string) {
	d.Condition(core.Condition{Type: t, Cause: cause, Reason: string(cause), Message: message, Since: now}, on)
}

// ClearConditions clears the conditions that are about work going on.
func (d *Draft) ClearConditions() {
	d.W.Conditions = slices.DeleteFunc(d.W.Conditions, func(c core.Condition) bool {
		return c.Type != lifecycle.Unreachable && c.Cause != lifecycle.StuckEnding
	})
	d.W.IdleSince, d.W.Warned = time.Time{}, time.Time{}
}

// Ref names a workload: by ID, or by project and name.
type Ref struct {
	ID      core.WorkloadID
	Project core.ProjectID
	Name    string
}

// String is r in a sentence.
func (r Ref) String() string {
	if r.ID != "" {
		return "workload " + string(r.ID)
	}
	return fmt.Sprintf("workload %q in project %q", r.Name, r.Project)
}

// Find returns the draft of the workload that r names, live or ended.
func (tx *Tx) Find(r Ref) (*Draft, error) {
	id := r.ID
	if id == "" {
		id = tx.State.Names[FullName{r.Project, r.Name}]
	}
	if id == "" {
		for _, d := range tx.Drafts {
			if d.W.Project == r.Project && d.W.Name == r.Name && d.W.Phase != lifecycle.Deleted {
				return d, nil
			}
		}
	}
	if id != "" {
		if d, ok := tx.Open(id); ok {
			return d, nil
		}
	}
	var w *core.Workload
	var err error
	if id != "" {
		w, err = tx.State.D.Store.Workload(tx.Ctx, id)
	} else {
		w, err = tx.State.D.Store.ByName(tx.Ctx, r.Project, r.Name)
	}
	if errors.Is(err, store.ErrNotFound) || err == nil && w.Phase == lifecycle.Deleted {
		return nil, NotFound(r.String(), "muster get")
	}
	if err != nil {
		return nil, FromStore(err)
	}
	return &Draft{W: w}, nil // not opened: ended, and perhaps left as it is
}

// Reopen makes a draft of an ended workload that find returned.
func (tx *Tx) Reopen(d *Draft) (*Draft, error) {
	if d.Changed != nil {
		return d, nil
	}
	stored, err := tx.State.D.Store.Tasks(tx.Ctx, d.W.ID, d.W.Attempt)
	if err != nil {
		return nil, FromStore(err)
	}
	return tx.draft(d.W, workload.Latest(stored, d.W.Attempt), nil), nil
}

// Make is a workload of a document that has its name.
func (tx *Tx) Make(doc *spec.Document, user string) *core.Workload {
	w := &core.Workload{
		ID: tx.State.D.NewID(tx.Now), Seq: tx.State.Seq.Workload + doc.SlurmJobs(), Name: doc.Name, Project: core.ProjectID(doc.Project),
		Kind: doc.Kind, User: user, Spec: doc, CreatedAt: tx.Now,
	}
	w.Bounds = BoundsNow(tx, w)
	return w
}

// BoundsNow are what is demanded now of w, for it to keep.
func BoundsNow(tx *Tx, w *core.Workload) *core.Bounds {
	b := tx.Tree().BoundsNow(w.Project, w.Kind)
	return &b
}

// Enter is the draft of a workload that make has made.
func (tx *Tx) Enter(w *core.Workload, actor string) *Draft {
	tx.State.Seq.Workload = w.Seq
	d := tx.draft(w, nil, nil)
	tx.record.sees(d, true)
	d.W.Attempts = []core.Attempt{{Index: 0, QueuedAt: tx.Now}}
	d.W.Replicas = workload.FirstReplicas(w.Spec)
	d.W.Hold = tx.heldFrom(w, actor)
	if tx.Names == nil {
		tx.Names = map[FullName]struct{}{}
	}
	tx.Names[FullName{w.Project, w.Name}] = struct{}{}
	return d
}

// Taken reports whether a name stands for a workload already, in the store too.
func (tx *Tx) Taken(n FullName) (bool, error) {
	if _, ok := tx.Names[n]; ok {
		return true, nil
	}
	if _, ok := tx.State.Names[n]; ok {
		return true, nil
	}
	_, err := tx.State.D.Store.ByName(tx.Ctx, n.Project, n.Name)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, FromStore(err)
}

// heldFrom is the hold that a document asks for.
func (tx *Tx) heldFrom(w *core.Workload, actor string) *core.Hold {
	if !w.Spec.Hold {
		return nil
	}
	return &core.Hold{By: actor, Message: "hold of its document", At: tx.Now}
}

// Roomy refuses what would make more records while the room on the disk is needed
// for those that there are: they must be able to end.
func (tx *Tx) Roomy() error {
	if s, ok := tx.State.D.Store.(store.Scarce); ok && s.Scarce() {
		return &Error{
			Code: CodeFull, Message: "the disk that holds the database is full; nothing was changed",
			Hint: "free some space and try again; what there is can be stopped and deleted meanwhile",
		}
	}
	return nil
}
