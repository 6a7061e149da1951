package sim

import (
	"context"
	"maps"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/engine/consequence"
	"github.com/musterhq/muster/internal/store"
)

// signals are what the control plane learns beside observations: which replicas
// answer, how busy devices are, whether backends and nodes report.
type signals struct {
	sick map[core.TaskID]time.Time     // replicas that do not answer until then
	idle map[core.WorkloadID]time.Time // whose devices do nothing until then
	well map[core.TaskID]bool          // what was last said of a replica
}

const probeEvery, sampleEvery = 4 * time.Second, 15 * time.Second

// live is every live workload with its tasks, as stored.
func (w *World) live() []store.Entry {
	entries, err := w.memory.Live(context.Background())
	if err != nil {
		w.fail("%w", err)
	}
	return entries
}

// probe asks replicas now and then whether they are ready.
func (w *World) probe() {
	w.soon(probeEvery, func() {
		ready := map[core.TaskID]bool{}
		for _, e := range w.live() {
			if e.Workload.Kind != lifecycle.Inference {
				continue
			}
			for _, t := range e.Tasks {
				if t.State != core.TaskRunning {
					continue
				}
				if w.happens(0.03) {
					w.signals.sick[t.ID] = w.now.Add(w.upTo(time.Minute))
				}
				if well := !w.now.Before(w.signals.sick[t.ID]); well != t.Ready || w.happens(0.05) {
					ready[t.ID] = well
				}
			}
		}
		if len(ready) > 0 {
			w.probed(ready)
			if w.happens(0.1) { // late
				w.soon(w.upTo(20*time.Second), func() { w.probed(ready) })
			}
		}
		w.probe()
	})
}

func (w *World) probed(ready map[core.TaskID]bool) {
	maps.Copy(w.signals.well, ready)
	w.do(consequence.Probed(ready))
}

// sample tells now and then how busy devices are.
func (w *World) sample() {
	w.soon(sampleEvery, func() {
		var samples []backend.Sample
		for _, e := range w.live() {
			if w.happens(0.05) {
				w.signals.idle[e.Workload.ID] = w.now.Add(w.upTo(5 * time.Minute))
			}
			busy := 0.5
			if w.now.Before(w.signals.idle[e.Workload.ID]) {
				busy = 0
			}
			for _, t := range e.Tasks {
				if t.State == core.TaskRunning && len(t.Devices) > 0 && !w.happens(0.02) {
					samples = append(samples, backend.Sample{Task: t.ID, Busy: busy, CPU: backend.Unknown, Memory: backend.Unknown, Network: backend.Unknown})
				}
			}
		}
		if len(samples) > 0 {
			w.do(engine.Activity(samples))
		}
		w.sample()
	})
}

// silence is a node that does not report: what it runs goes on, and what was
// known of it stays as it was.
type silence struct {
	known map[core.TaskID]backend.Observation
	gone  bool // its backend does not even name it
}

// fallSilent makes a node stop reporting for a while.
func (l *link) fallSilent(id core.NodeID, d time.Duration) {
	if l.silent[id] != nil {
		return
	}
	l.world.trace.note(l.world.now, "node %s is silent for %v", id, d)
	s := &silence{known: map[core.TaskID]backend.Observation{}, gone: l.world.happens(0.3)}
	l.world.watch.hidden = l.world.watch.hidden || s.gone
	for _, o := range l.see() {
		if a, ok := l.backend.Assigned(o.ID); ok && a.Node == id {
			s.known[o.ID] = o
		}
	}
	l.silent[id] = s
	l.world.soon(l.world.upTo(3*time.Second), func() { l.world.do(l.inventory()) })
	l.world.after(d, func() { l.speak(id) })
}

// speak lets a silent node report again.
func (l *link) speak(id core.NodeID) {
	if l.silent[id] == nil {
		return
	}
	delete(l.silent, id)
	l.world.trace.note(l.world.now, "node %s reports again", id)
	l.world.soon(l.world.upTo(3*time.Second), func() { l.world.do(l.inventory()) })
	l.world.soon(l.world.upTo(3*time.Second), l.look)
}

// see is what the backend reports: of a silent node, what it had reported before.
func (l *link) see() []backend.Observation {
	seen, err := l.backend.Observe(context.Background())
	if err != nil {
		l.world.fail("observe: %w", err)
	}
	if len(l.silent) == 0 {
		return seen
	}
	for i, o := range seen {
		a, ok := l.backend.Assigned(o.ID)
		if !ok || l.silent[a.Node] == nil {
			continue
		}
		known := l.silent[a.Node].known
		if _, ok := known[o.ID]; !ok { // it was given to the backend, which hears nothing of it
			known[o.ID] = backend.Observation{ID: o.ID, State: core.TaskStarting, At: l.world.now}
		}
		seen[i] = known[o.ID]
	}
	return seen
}

// cutOff takes a whole backend away for a while: no call reaches it, and nothing
// is heard of it.
func (l *link) cutOff(d time.Duration) {
	if l.cut || l.world.engine == nil {
		return
	}
	l.world.trace.note(l.world.now, "backend %s is out of reach for %v", l.backend.Name(), d)
	l.cut = true
	l.world.soon(l.world.upTo(40*time.Second), func() {
		if l.cut {
			l.world.do(engine.Reach(l.backend.Name(), false, "no answer"))
			l.blamed = true
			l.reported = map[core.TaskID]backend.Observation{}
		}
	})
	l.world.after(d, l.reconnect)
}

// reconnect brings a backend back; a server that knows that it was gone says so.
func (l *link) reconnect() {
	if !l.cut {
		return
	}
	l.cut = false
	l.world.trace.note(l.world.now, "backend %s is in reach", l.backend.Name())
	if l.world.engine == nil {
		return
	}
	if l.blamed {
		l.world.do(engine.Reach(l.backend.Name(), true, ""))
		l.blamed = false
	}
	l.carry()
	l.look()
}

// step sets the server's clock by up to a minute; the backends' own stay.
func (w *World) stepClock() {
	w.skew = time.Duration(w.chance.Int64N(int64(2*time.Minute))).Truncate(time.Microsecond) - time.Minute
	w.trace.note(w.now, "the server's clock is off by %v", w.skew)
}
