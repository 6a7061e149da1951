package control

import (
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/plane"
)

// ActionKind says what a plane is asked to do.
type ActionKind int

// The kinds of actions. Actions of one task must be carried out in order.
const (
	ActStart ActionKind = iota
	ActStop
	ActForget
	ActDeleteLogs // on every plane; Workload says whose
)

// Action is something a plane is to do because of what has been committed.
type Action struct {
	Kind       ActionKind
	Plane      string
	Task       core.TaskID
	Assignment plane.Assignment // of ActStart
	Grace      time.Duration    // of ActStop
	Workload   core.WorkloadID  // of ActDeleteLogs
	At         time.Time        // when it was decided; zero: by a server before
}

func (tx *tx) start(w *core.Workload, t *core.Task) {
	var tasks map[int]*core.Task
	if _, all, ok := tx.view(w.ID); ok {
		tasks = all
	}
	tx.actions = append(tx.actions, Action{
		Kind: ActStart, Plane: tx.planeOf(t), Task: t.ID,
		Assignment: assignment(w, t, tx.rendezvous(w, tasks)),
	})
}

func (tx *tx) stop(t *core.Task, grace time.Duration) {
	tx.actions = append(tx.actions, Action{Kind: ActStop, Plane: tx.planeOf(t), Task: t.ID, Grace: grace})
}

func (tx *tx) forget(planeName string, id core.TaskID) {
	tx.actions = append(tx.actions, Action{Kind: ActForget, Plane: planeName, Task: id})
}

// planeOf is the plane that a task was given to; its node may be unknown by now.
func (tx *tx) planeOf(t *core.Task) string { return t.Plane }

// rendezvous is where the ranks of w find each other: at its first rank.
func (tx *tx) rendezvous(w *core.Workload, tasks map[int]*core.Task) endpoint {
	at := endpoint{address: "127.0.0.1", port: w.Attempts[len(w.Attempts)-1].Port}
	if first := tasks[0]; first != nil {
		if a := tx.e.nodes[first.Node].Address; a != "" {
			at.address = a
		}
	}
	return at
}
