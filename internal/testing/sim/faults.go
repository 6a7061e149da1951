package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/store"
)

// disk is a store whose disk is full now and then.
type disk struct {
	store.Store
	full   func() bool // nil: never
	failed bool        // the last commit did
}

// Commit implements store.Store.
func (d *disk) Commit(ctx context.Context, term store.Term, b *store.Batch) (core.Revision, error) {
	if d.failed = d.full != nil && d.full(); d.failed {
		return 0, fmt.Errorf("commit: %w", store.ErrFull)
	}
	return d.Store.Commit(ctx, term, b)
}

// storm lets faults happen until calmDown.
func (w *World) storm() {
	w.faultless = false
	fullUntil := w.now
	w.disk.full = func() bool {
		if w.happens(0.003) {
			fullUntil = w.now.Add(w.upTo(20 * time.Second))
		}
		return !w.faultless && (w.now.Before(fullUntil) || w.happens(0.01))
	}
	w.trouble()
}

// trouble makes one fault after another.
func (w *World) trouble() {
	w.after(time.Second+w.upTo(2*time.Minute), func() {
		if w.faultless {
			return
		}
		l := w.links[w.chance.IntN(len(w.links))]
		switch n := w.chance.IntN(20); {
		case n >= 19:
			w.trace.note(w.now, "starts are refused on %s", l.backend.Name())
			l.backend.RefuseStarts(1 + w.chance.IntN(4))
		case n >= 18:
			l.evictOne()
		case n >= 16:
			w.stepClock()
		case n >= 15:
			l.cutOff(w.upTo(3 * time.Minute))
		case n >= 12:
			l.silenceOne()
		case n < 2:
			w.trace.note(w.now, "starts fail on %s", l.backend.Name())
			l.backend.FailStarts(1 + w.chance.IntN(3))
		case n < 4:
			l.loseOne()
		case n < 7:
			l.nodeGone()
		case n < 8:
			l.cordonOne()
		case n < 10:
			l.hang()
		case w.engine != nil:
			w.crash()
		}
		w.trouble()
	})
}

// hang lets no action through for a while; observations still come.
func (l *link) hang() {
	if l.world.engine == nil || l.paused {
		return
	}
	l.world.trace.note(l.world.now, "calls of %s hang", l.backend.Name())
	l.paused = true
	l.world.soon(l.world.upTo(time.Minute), func() { l.paused = false; l.carry() })
}

// loseOne makes a task vanish.
func (l *link) loseOne() {
	seen, err := l.backend.Observe(context.Background())
	if err != nil || len(seen) == 0 {
		return
	}
	id := seen[l.world.chance.IntN(len(seen))].ID
	l.world.trace.note(l.world.now, "task %s vanishes", id)
	l.backend.Lose(id)
	l.world.watch.lost[id.Workload] = true
}

// evictOne takes a task away.
func (l *link) evictOne() {
	seen, err := l.backend.Observe(context.Background())
	if err != nil || len(seen) == 0 {
		return
	}
	id := seen[l.world.chance.IntN(len(seen))].ID
	l.world.trace.note(l.world.now, "task %s is evicted", id)
	l.backend.Evict(id)
}

// nodeGone takes a node away for a while.
func (l *link) nodeGone() {
	nodes, err := l.backend.Inventory(context.Background())
	if err != nil {
		l.world.fail("inventory: %w", err)
		return
	}
	id := nodes[l.world.chance.IntN(len(nodes))].ID
	l.world.Kill(id)
	l.world.after(l.world.upTo(5*time.Minute), func() { l.world.Revive(id) })
}

// silenceOne makes a node fall silent for a while, now and then for longer than
// the control plane waits.
func (l *link) silenceOne() {
	nodes, err := l.backend.Inventory(context.Background())
	if err != nil {
		l.world.fail("inventory: %w", err)
		return
	}
	l.fallSilent(nodes[l.world.chance.IntN(len(nodes))].ID, l.world.upTo(3*nodeGrace))
}

func (l *link) cordonOne() {
	nodes, err := l.backend.Inventory(context.Background())
	if err != nil {
		l.world.fail("inventory: %w", err)
		return
	}
	n := nodes[l.world.chance.IntN(len(nodes))]
	l.world.trace.note(l.world.now, "cordon %s: %v", n.ID, !n.Cordon)
	if err := l.backend.Cordon(n.ID, !n.Cordon); err != nil {
		l.world.fail("cordon: %w", err)
	}
	l.world.soon(l.world.upTo(time.Second), func() { l.world.do(l.inventory()) })
}

// Kill takes a node away: what ran there is lost.
func (w *World) Kill(id core.NodeID) {
	w.node(id, "dies", func(l *link) error { return l.backend.Kill(id) })
}

// Revive brings a node back, empty.
func (w *World) Revive(id core.NodeID) {
	w.node(id, "is back", func(l *link) error { return l.backend.Revive(id) })
}

// node changes a node, of which the engine hears a little later.
func (w *World) node(id core.NodeID, what string, change func(*link) error) {
	for _, l := range w.links {
		if change(l) == nil {
			w.trace.note(w.now, "node %s %s", id, what)
			w.soon(w.upTo(3*time.Second), func() { w.do(l.inventory()) })
			return
		}
	}
	w.fail("there is no node %q", id)
}

// stopFaults ends all faults: nodes return, the server stays up.
func (w *World) stopFaults() {
	w.trace.note(w.now, "calm")
	w.faultless = true
	clear(w.signals.sick)
	for _, l := range w.links {
		for _, id := range sortedKeys(l.silent) {
			l.speak(id)
		}
		l.reconnect()
		l.backend.FailStarts(0)
		nodes, err := l.backend.Inventory(context.Background())
		if err != nil {
			w.fail("inventory: %w", err)
		}
		for _, n := range nodes {
			if err := l.backend.Revive(n.ID); err != nil {
				w.fail("revive: %w", err)
			}
			if err := l.backend.Cordon(n.ID, false); err != nil {
				w.fail("uncordon: %w", err)
			}
		}
	}
	if w.engine == nil {
		w.open()
		return
	}
	for _, l := range w.links {
		w.do(l.inventory())
		l.look()
	}
}
