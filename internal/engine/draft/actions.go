package draft

import (
	"slices"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/admission"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/launch"
	"github.com/musterhq/muster/internal/engine/workload"
)

// ActionKind says what a backend is asked to do.
type ActionKind int

// The kinds of actions. Actions of one task must be carried out in order.
const (
	ActStart ActionKind = iota
	ActStop
	ActForget
	ActDisown         // what is of a claim that is none of ours
	ActDeleteLogs     // on every backend; Workload says whose
	ActOperation      // of the control plane itself
	ActDropOperations // of Workload: their results are not wanted any more
)

// Action is something a backend is to do because of what has been committed.
type Action struct {
	Kind       ActionKind
	Backend    string
	Task       core.TaskID
	Assignment backend.Assignment // of ActStart
	Grace      time.Duration      // of ActStop
	Workload   core.WorkloadID    // of ActDeleteLogs, ActDropOperations
	Operation  Operation          // of ActOperation
	grants     []launch.Grant     // of ActStart: secrets that the task is given
	At         time.Time          // when it was decided; zero: by a server before
}

// Open is the assignment with the secrets that it is given. It fails with one
// sentence that tells nothing of any value.
func (a *Action) Open(k launch.Keyring) (backend.Assignment, error) {
	return launch.OpenSecrets(a.Assignment, a.grants, k)
}

// Start has the backend start a task with what it is given.
func (tx *Tx) Start(w *core.Workload, t *core.Task) {
	var tasks *workload.Tasks
	if _, all, ok := tx.View(w.ID); ok {
		tasks = all
	}
	if w.Kind.Foreign() {
		tx.Actions = append(tx.Actions, Action{Kind: ActStart, Backend: tx.BackendOf(t), Task: t.ID, Assignment: launch.Bound(w, t, tasks)})
		return
	}
	if w.Spec.Elastic() { // what was decided in this round of a former size of it is void
		tx.Actions = slices.DeleteFunc(tx.Actions, func(a Action) bool { return a.Kind == ActStart && a.Task == t.ID })
	}
	if w.Spec.Gang() && !tx.located(w, tasks) {
		return // its ranks would not find each other; the next look at the backend asks again
	}
	if w.Spec.Elastic() && workload.Resizing(tasks) {
		return // all ranks start together
	}
	a := Action{Kind: ActStart, Backend: tx.BackendOf(t), Task: t.ID, Assignment: tx.server().Assignment(w, t, tasks)}
	if tx.State.D.Secrets != nil {
		a.grants = launch.Grants(w, tx.Tree().SecretOwners(w.User, w.Project), tx.State.secrets, tx.Secret)
	}
	tx.Actions = append(tx.Actions, a)
}

// server is what tasks are given by this server.
func (tx *Tx) server() *launch.Server {
	d := &tx.State.D
	return &launch.Server{Nodes: tx.State.Nodes, Address: d.Address, Others: tx.tasksNamed, Self: d.Self, Reach: d.Reach, Secrets: d.Secrets, TaskEnv: d.TaskEnv, Models: d.Models}
}

// tasksNamed are the tasks that the live workload of a name has been given a place for.
func (tx *Tx) tasksNamed(project core.ProjectID, name string) *workload.Tasks {
	w, tasks, ok := tx.View(tx.State.Names[FullName{project, name}])
	if !ok {
		return nil
	}
	held := workload.TasksOf()
	for _, t := range tasks.Open() {
		if workload.Holds(w, t) {
			held.Set(t)
		}
	}
	return held
}

// located reports whether it is known where tasks are: a server that has just
// begun may not have heard of every backend yet.
func (tx *Tx) located(w *core.Workload, tasks *workload.Tasks) bool {
	for _, t := range tasks.Open() {
		if _, ok := tx.State.Nodes[t.Node]; !ok && workload.Holds(w, t) {
			return false
		}
	}
	return true
}

// Stop has the backend end a task.
func (tx *Tx) Stop(t *core.Task, grace time.Duration) {
	tx.Actions = append(tx.Actions, Action{Kind: ActStop, Backend: tx.BackendOf(t), Task: t.ID, Grace: grace})
}

// Forget has the backend forget a task.
func (tx *Tx) Forget(backendName string, id core.TaskID) {
	tx.Actions = append(tx.Actions, Action{Kind: ActForget, Backend: backendName, Task: id})
}

// BackendOf is the backend that a task was given to; its node may be unknown by now.
func (tx *Tx) BackendOf(t *core.Task) string { return t.Backend }

// OperationKind says what the control plane has to do for a workload outside of
// every backend.
type OperationKind int

// The kinds of operations.
const (
	OperationAsk     OperationKind = iota // a question to a check
	OperationBuild                        // its image
	OperationPublish                      // its results
	OperationFollow                       // the service of its published model, until it runs
)

// Operation is one such thing. It is begun at least once, begun again after a
// restart, and its result comes back as a command that fits only the attempt
// that asked.
type Operation struct {
	Kind     OperationKind
	Workload *core.Workload
	Check    core.CheckState // of OperationAsk
}

// Operation has the control plane do something for a workload.
func (tx *Tx) Operation(c Operation) {
	if c.Kind == OperationAsk {
		c.Check = question(tx, c.Check)
	}
	tx.Actions = append(tx.Actions, Action{Kind: ActOperation, Operation: c})
}

// question is a check as a program is asked it: by its rule as it is now, not as it was
// when the workload began to wait.
func question(tx *Tx, c core.CheckState) core.CheckState {
	if c.Scope == "" || c.Type != admission.Webhook {
		return c
	}
	t, ok := tx.Template(CheckID(c.Scope, CheckName(&c)))
	if !ok {
		return c
	}
	if r := ReadCheck(t).Rule; r.Type == admission.Webhook {
		return Asking(c, r)
	}
	return c
}

// busyPhase reports whether operations are under way in p.
func busyPhase(p lifecycle.Phase) bool {
	return p == lifecycle.Reviewing || p == lifecycle.Building || p == lifecycle.Reserved || p == lifecycle.Publishing
}

// ResumeOperations asks again for what a server before may not have finished.
func (tx *Tx) ResumeOperations(w *core.Workload) {
	switch p := w.Phase; {
	case p == lifecycle.Deleting:
		tx.Actions = append(tx.Actions, Action{Kind: ActDeleteLogs, Workload: w.ID})
	case p == lifecycle.Building:
		tx.Operation(Operation{Kind: OperationBuild, Workload: w})
	case p == lifecycle.Publishing:
		kind := OperationPublish
		if w.Published != nil {
			kind = OperationFollow
		}
		tx.Operation(Operation{Kind: kind, Workload: w})
	case p.Checking():
		for _, c := range w.Checks {
			if c.Verdict == core.CheckAsked && c.AskAt.IsZero() {
				tx.Operation(Operation{Kind: OperationAsk, Workload: w, Check: c})
			}
		}
	}
}

// Meter counts what happens. It is called by the one writer, in order, and must
// not wait for anything.
type Meter interface {
	// Committed is told of changes once they are durable.
	Committed(changes []Change)
	// Planned is told how long one run of the scheduler took.
	Planned(took time.Duration)
	// Estimated is told how long after the middle of the range that was first
	// told a workload started; negative: before.
	Estimated(off time.Duration)
	// Displaced is told by which right the scheduler made work leave.
	Displaced(cause lifecycle.Cause)
}
