package sim

import (
	"context"
	"time"

	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/plane"
	"github.com/musterhq/muster/internal/plane/fake"
)

// link is what lies between the engine and one plane: actions on their way
// there, observations on their way back.
type link struct {
	world  *World
	plane  *fake.Plane
	queue  []control.Action
	told   map[core.TaskID]plane.Observation // by the watch
	paused bool                              // a failed call is waited out
}

// forget drops what a server that has ended had under way.
func (l *link) forget() {
	l.queue, l.told, l.paused = nil, map[core.TaskID]plane.Observation{}, false
}

// inventory is the command that tells the engine which nodes there are.
func (l *link) inventory() control.Command {
	nodes, err := l.plane.Inventory(context.Background())
	if err != nil {
		l.world.fail("inventory: %w", err)
	}
	return control.Inventory(l.plane.Name(), nodes)
}

// dispatch hands the engine's actions to the links.
func (w *World) dispatch() {
	if w.engine == nil {
		return
	}
	actions := w.engine.TakeActions()
	w.watch.actions(actions)
	for _, a := range actions {
		if a.Kind == control.ActDeleteLogs {
			w.soon(w.upTo(time.Second), func() { w.deleteLogs(a.Workload) })
			continue
		}
		found := false
		for _, l := range w.links {
			if l.plane.Name() == a.Plane {
				l.queue = append(l.queue, a)
				w.soon(w.upTo(2*time.Second), l.carry)
				found = true
			}
		}
		if !found {
			w.fail("action %d of task %s is for plane %q, which does not exist", a.Kind, a.Task, a.Plane)
		}
	}
}

func (w *World) deleteLogs(id core.WorkloadID) {
	var failure error
	for _, l := range w.links {
		if err := l.plane.DeleteLogs(context.Background(), id); err != nil {
			failure = err
		}
	}
	if w.happens(0.1) {
		failure = plane.ErrUnreachable
	}
	w.do(control.Removed(id, failure))
}

// carry carries out what is queued, in order, until something fails.
func (l *link) carry() {
	for life := l.world.life; len(l.queue) > 0 && !l.paused && l.world.life == life; {
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

func (l *link) call(actions []control.Action) error {
	ctx := context.Background()
	var ids []core.TaskID
	var tasks []plane.Assignment
	for _, a := range actions {
		ids = append(ids, a.Task)
		tasks = append(tasks, a.Assignment)
	}
	switch actions[0].Kind {
	case control.ActStart:
		return l.plane.Start(ctx, tasks)
	case control.ActForget:
		return l.plane.Forget(ctx, ids)
	default:
		err := l.plane.Stop(ctx, ids, actions[0].Grace)
		l.world.soon(l.world.upTo(100*time.Millisecond), l.look)
		return err
	}
}

// news sends what the watch has not told yet. Each message may be lost, late,
// doubled and overtaken.
func (l *link) news() {
	if l.world.engine == nil {
		return
	}
	seen, err := l.plane.Observe(context.Background())
	if err != nil {
		l.world.fail("observe: %w", err)
	}
	for _, o := range seen {
		if l.told[o.ID] == o {
			continue
		}
		l.told[o.ID] = o
		if l.world.happens(0.1) {
			continue
		}
		l.send(o, 2*time.Second)
		if l.world.happens(0.2) {
			l.send(o, time.Minute)
		}
	}
}

func (l *link) send(o plane.Observation, most time.Duration) {
	l.world.soon(l.world.upTo(most), func() {
		l.world.observe(control.Observations{Plane: l.plane.Name(), Seen: []plane.Observation{o}})
	})
}

// look asks for everything that the plane holds; as in Control it proves what is
// absent only up to the oldest action that has not been carried out.
func (l *link) look() {
	began := l.world.now
	if len(l.queue) > 0 {
		began = l.queue[0].At
	}
	seen, err := l.plane.Observe(context.Background())
	if err != nil {
		l.world.fail("observe: %w", err)
	}
	l.world.soon(l.world.upTo(30*time.Second), func() {
		l.world.observe(control.Observations{Plane: l.plane.Name(), Seen: seen, Full: true, Began: began})
	})
}

func (l *link) lookNowAndThen() {
	l.world.soon(30*time.Second, func() {
		l.look()
		l.lookNowAndThen()
	})
}

// observe delivers observations; what was not stored is looked at again.
func (w *World) observe(o control.Observations) {
	results := w.do(control.Observe(o))
	switch {
	case results == nil:
		return
	case results[0].Err != nil:
		for _, l := range w.links {
			if l.plane.Name() == o.Plane {
				w.soon(500*time.Millisecond, l.look)
			}
		}
	case w.happens(0.1):
		w.watch.again(o)
	}
}
