package engine

import (
	"slices"
	"strconv"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
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
	grants     []grant            // of ActStart: secrets that the task is given
	At         time.Time          // when it was decided; zero: by a server before
}

func (tx *tx) start(w *core.Workload, t *core.Task) {
	var tasks map[int]*core.Task
	if _, all, ok := tx.view(w.ID); ok {
		tasks = all
	}
	if w.Kind == lifecycle.External {
		tx.actions = append(tx.actions, Action{Kind: ActStart, Backend: tx.backendOf(t), Task: t.ID, Assignment: boundTo(w, t, tasks)})
		return
	}
	if w.Spec.Elastic() { // what was decided in this round of a former size of it is void
		tx.actions = slices.DeleteFunc(tx.actions, func(a Action) bool { return a.Kind == ActStart && a.Task == t.ID })
	}
	if w.Spec.Gang() && !tx.located(w, tasks) {
		return // its ranks would not find each other; the next look at the backend asks again
	}
	if w.Spec.Elastic() && resizing(tasks) {
		return // all ranks start together
	}
	tx.actions = append(tx.actions, Action{
		Kind: ActStart, Backend: tx.backendOf(t), Task: t.ID,
		Assignment: tx.assignment(w, t, tx.gangOf(w, tasks)), grants: tx.grants(w),
	})
}

// located reports whether it is known where tasks are: a server that has just
// begun may not have heard of every backend yet.
func (tx *tx) located(w *core.Workload, tasks map[int]*core.Task) bool {
	for _, t := range tasks {
		if _, ok := tx.e.nodes[t.Node]; !ok && holds(w, t) {
			return false
		}
	}
	return true
}

func (tx *tx) stop(t *core.Task, grace time.Duration) {
	tx.actions = append(tx.actions, Action{Kind: ActStop, Backend: tx.backendOf(t), Task: t.ID, Grace: grace})
}

func (tx *tx) forget(backendName string, id core.TaskID) {
	tx.actions = append(tx.actions, Action{Kind: ActForget, Backend: backendName, Task: id})
}

// backendOf is the backend that a task was given to; its node may be unknown by now.
func (tx *tx) backendOf(t *core.Task) string { return t.Backend }

// self is how tasks start this program.
func (tx *tx) self() []string {
	if tx.e.D.Self == nil {
		return []string{"muster"}
	}
	return tx.e.D.Self()
}

// gangOf is where the ranks of w find each other.
func (tx *tx) gangOf(w *core.Workload, tasks map[int]*core.Task) gang {
	if !w.Spec.Gang() {
		if w.Spec.Slurm == nil {
			return gang{}
		}
		return gang{self: tx.self()}
	}
	where := func(t *core.Task) endpoint {
		at := endpoint{address: "127.0.0.1", port: t.Port}
		if tx.e.D.Address != nil {
			if a := tx.e.D.Address(t.Backend, t.ID); a != "" {
				at.address, at.own = a, true
				return at
			}
		}
		if a := tx.e.nodes[t.Node].Address; a != "" {
			at.address = a
		}
		return at
	}
	size := w.Spec.Size()
	g := gang{at: endpoint{address: "127.0.0.1", port: w.Attempts[len(w.Attempts)-1].Port}}
	if t := tasks[0]; t != nil { // the first never leaves alone
		g.at.address = where(t).address
	}
	var all []*core.Task
	if w.Spec.Elastic() {
		all = ranks(tasks)
		size, g.ranks = len(all), make(map[int]int, len(all))
		for rank, t := range all {
			g.ranks[t.ID.Index] = rank
		}
	}
	slurm, f := w.Spec.Slurm != nil, w.Spec.Framework
	if (f == "env" || f == "") && !slurm && !toldAddresses(w.Spec, size) {
		return g
	}
	g.all = make([]endpoint, size)
	for i := range g.all {
		t := tasks[i]
		if g.all[i].address = "127.0.0.1"; all != nil {
			t = all[i]
		}
		if t != nil {
			g.all[i] = where(t)
		}
	}
	if f != "mpi" && !slurm {
		return g
	}
	g.self = tx.self()
	if tx.e.D.Secrets != nil {
		g.token = tx.e.D.Secrets.Token(string(w.ID) + "/" + strconv.Itoa(w.Attempt))
	}
	return g
}
