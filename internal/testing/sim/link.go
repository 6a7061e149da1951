package sim

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/launch"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/testing/fakebackend"
)

// link is what lies between the engine and one backend: actions on their way
// there, observations on their way back.
type link struct {
	world    *World
	backend  *fakebackend.Backend
	queue    []draft.Action
	reported map[core.TaskID]backend.Observation // by the watch
	paused   bool                                // a failed call is waited out
	cut      bool                                // nothing gets through, either way
	blamed   bool                                // the present server has been told so
	silent   map[core.NodeID]*silence
	// started is the environment that each task was last started with.
	started map[core.TaskID][]string
}

// forget drops what a server that has ended had under way.
func (l *link) forget() {
	l.queue, l.reported, l.paused, l.blamed = nil, map[core.TaskID]backend.Observation{}, false, false
}

// inventory is the command that tells the engine which nodes there are.
func (l *link) inventory() draft.Work {
	nodes, err := l.backend.Inventory(context.Background())
	if err != nil {
		l.world.fail("inventory: %w", err)
	}
	for i := range nodes {
		if l.silent[nodes[i].ID] != nil {
			nodes[i].Ready, nodes[i].Message = false, "its agent does not report"
		}
	}
	nodes = slices.DeleteFunc(nodes, func(n core.Node) bool { return l.silent[n.ID] != nil && l.silent[n.ID].gone })
	return engine.Inventory(l.backend.Name(), nodes)
}

// introduce tells a server that has just begun what nodes there are, as soon as
// the backend answers.
func (l *link) introduce() {
	if l.cut {
		l.world.soon(500*time.Millisecond, l.introduce)
		return
	}
	if failed := l.world.do(l.inventory()); failed != nil && failed[0] != nil {
		l.world.soon(500*time.Millisecond, l.introduce)
	}
}

// dispatch hands the engine's actions to the links.
func (w *World) dispatch() {
	if w.engine == nil {
		return
	}
	actions := w.engine.TakeActions()
	w.recorded("actions", actions)
	w.watch.actions(actions)
	for _, a := range actions {
		switch a.Kind {
		case draft.ActDeleteLogs:
			w.soon(w.upTo(time.Second), func() { w.deleteLogs(a.Workload) })
			continue
		case draft.ActOperation:
			w.hands.begin(a.Operation)
			continue
		case draft.ActDropOperations:
			w.hands.drop(a.Workload)
			continue
		}
		found := false
		for _, l := range w.links {
			if l.backend.Name() == a.Backend {
				l.queue = append(l.queue, a)
				w.soon(w.upTo(2*time.Second), l.carry)
				found = true
			}
		}
		if !found {
			w.fail("action %d of task %s is for backend %q, which does not exist", a.Kind, a.Task, a.Backend)
		}
	}
}

func (w *World) deleteLogs(id core.WorkloadID) {
	var failure error
	for _, l := range w.links {
		if err := l.backend.DeleteLogs(context.Background(), id); err != nil {
			failure = err
		}
	}
	if w.happens(0.1) {
		failure = backend.ErrUnreachable
	}
	w.do(submission.Removed(id, failure))
}

// carry carries out what is queued, in order, until something fails.
func (l *link) carry() {
	for life := l.world.life; len(l.queue) > 0 && !l.paused && !l.cut && l.world.life == life; {
		n := 1
		for n < len(l.queue) && l.queue[n].Kind == l.queue[0].Kind && l.queue[n].Grace == l.queue[0].Grace {
			n++
		}
		if err := l.call(l.queue[:n]); err != nil {
			l.paused = true
			l.world.soon(500*time.Millisecond, func() { l.paused = false; l.carry() })
			return
		}
		l.queue = l.queue[n:]
		if l.world.happens(0.002) {
			l.world.crash()
		}
	}
}

func (l *link) call(actions []draft.Action) error {
	ctx := context.Background()
	var ids []core.TaskID
	var tasks []backend.Assignment
	for _, a := range actions {
		ids = append(ids, a.Task)
		if a.Kind == draft.ActStart {
			tasks = l.opened(a, tasks)
		}
	}
	switch actions[0].Kind {
	case draft.ActStart:
		if len(tasks) == 0 {
			return nil
		}
		return l.backend.Start(ctx, tasks)
	case draft.ActForget:
		return l.backend.Forget(ctx, ids)
	default:
		err := l.backend.Stop(ctx, ids, actions[0].Grace)
		l.world.soon(l.world.upTo(100*time.Millisecond), l.look)
		return err
	}
}

// opened adds the assignment of a start with its secrets to tasks; one whose
// secrets are gone is reported as failed instead.
func (l *link) opened(a draft.Action, tasks []backend.Assignment) []backend.Assignment {
	as, err := a.Open(l.world.deps.Secrets)
	if err != nil {
		o := backend.Observation{ID: a.Task, State: core.TaskFailed, Reason: string(lifecycle.ReasonContainerCannot), Message: err.Error(), At: l.world.clock()}
		l.world.soon(0, func() {
			l.world.observe(engine.Observations{Backend: l.backend.Name(), Seen: []backend.Observation{o}})
		})
		return tasks
	}
	l.world.recorded("actions", as)
	if n := len(as.Argv); n > 0 && as.Argv[n-1] == launch.MPIAgentArg {
		as.Argv = []string{"fake", "run=forever"} // the agent waits for its launcher
	} else if at := slices.Index(as.Argv, "fake"); at > 0 { // a program of ours comes before the user's
		as.Argv = as.Argv[at:]
	}
	l.started[a.Task] = as.Env
	return append(tasks, as)
}

// keyring gives values that are no secret.
type keyring struct{}

// Give implements control.Keyring.
func (keyring) Give(a *backend.Assignment, s core.Secret, _ spec.SecretUse) error {
	if string(s.Sealed) == "damaged" {
		return errors.New("it is damaged")
	}
	a.Env = append(a.Env, strings.ToUpper(s.Name)+"=shown")
	return nil
}

// Token implements control.Keyring.
func (keyring) Token(attempt string) string { return "token of " + attempt }

// news sends what the watch has not told yet. Each message may be lost, late,
// doubled and overtaken.
func (l *link) news() {
	if l.world.engine == nil || l.cut {
		return
	}
	for _, o := range l.see() {
		if l.reported[o.ID] == o {
			continue
		}
		l.reported[o.ID] = o
		if l.world.happens(0.1) {
			continue
		}
		l.send(o, 2*time.Second)
		if l.world.happens(0.2) {
			l.send(o, time.Minute)
		}
	}
}

func (l *link) send(o backend.Observation, most time.Duration) {
	l.world.soon(l.world.upTo(most), func() {
		l.world.observe(engine.Observations{Backend: l.backend.Name(), Seen: []backend.Observation{o}})
	})
}

// look asks for everything that the backend holds; as in Control it proves what is
// absent only up to the oldest action that has not been carried out.
func (l *link) look() {
	if l.cut {
		return
	}
	began := l.world.clock()
	if len(l.queue) > 0 {
		began = l.queue[0].At
	}
	seen := l.see()
	l.world.soon(l.world.upTo(30*time.Second), func() {
		l.world.observe(engine.Observations{Backend: l.backend.Name(), Seen: seen, Full: true, Began: began})
	})
}

func (l *link) lookNowAndThen() {
	l.world.soon(30*time.Second, func() {
		l.look()
		l.lookNowAndThen()
	})
}

// observe delivers observations; what was not stored is looked at again.
func (w *World) observe(o engine.Observations) {
	failed := w.do(engine.Observe(o))
	switch {
	case failed == nil:
		return
	case failed[0] != nil:
		for _, l := range w.links {
			if l.backend.Name() == o.Backend {
				w.soon(500*time.Millisecond, l.look)
			}
		}
	case w.happens(0.1):
		w.watch.again(o)
	}
}
