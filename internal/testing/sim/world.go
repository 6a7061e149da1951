// Package sim runs the real control loop in virtual time: one engine over a
// store in memory and backends without machines, users and faults from a seed.
// After every step it checks what must always hold; once faults stop, it checks
// that everything comes to its end.
//
// The same seed gives the same run, line by line.
package sim

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/naming"
	"github.com/musterhq/muster/internal/testing/fakebackend"
	"github.com/musterhq/muster/internal/testing/memstore"
)

// Epoch is when every simulated world begins.
var Epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// stepsMax ends a run that goes round in circles; the longest need a tenth.
const stepsMax = 500_000

// World is one simulated installation. Not safe for concurrent use.
type World struct {
	now    time.Time // by the clocks of backends and users
	chance *rand.Rand
	// skew is by how much the server's clock is off; clock is that clock.
	skew  time.Duration
	clock func() time.Time
	// faultless: nothing fails, and what is sent arrives at once.
	faultless bool

	memory *memstore.Store
	disk   *disk
	engine *engine.Engine
	// life counts the engines; what one had under way ends with it.
	life   int
	up     bool // the present one has asked again for what one before had under way
	links  []*link
	events events
	deps   draft.Deps

	steps   int
	watch   watch
	users   users
	hands   hands
	signals signals
	trace   trace
	// record is told what the engine publishes, asks for and answers; nil: nobody is.
	record func(what string, v any)
	err    error // the first thing that was not as it must be
}

// New returns a world with these backends, without faults.
func New(seed uint64, backends map[string][]core.Node) (*World, error) {
	return newWorld(seed, backends, schedule.NewPolicy())
}

func newWorld(seed uint64, backends map[string][]core.Node, policy schedule.Policy) (*World, error) {
	w := &World{now: Epoch, chance: rand.New(rand.NewPCG(seed, 1)), faultless: true, memory: memstore.New()}
	w.disk = &disk{Store: w.memory}
	w.watch, w.hands = newWatch(w), hands{w: w}
	w.signals = signals{sick: map[core.TaskID]time.Time{}, idle: map[core.WorkloadID]time.Time{}, well: map[core.TaskID]bool{}}
	names := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16), byte(seed >> 24), 1})
	ports := rand.New(rand.NewPCG(seed, 2))
	w.deps = draft.Deps{
		Store: w.disk, Holder: "sim", Log: slog.New(&errorLog{w}),
		NewID: naming.NewID(names), NewName: naming.NewName(names),
		Port:    func() int { return 20000 + ports.IntN(50) }, // so few that some are proposed twice
		Elapsed: func() time.Duration { return 0 },
		Images:  true, Builds: true, Secrets: keyring{}, Self: func() []string { return []string{"muster"} }, NodeGrace: nodeGrace,
		Policy: policy,
	}
	for _, name := range sortedKeys(backends) {
		l := &link{world: w, silent: map[core.NodeID]*silence{}, started: map[core.TaskID][]string{}, backend: fakebackend.New(name, func() time.Time { return w.now }, backends[name])}
		l.forget()
		w.links = append(w.links, l)
	}
	w.open()
	return w, w.err
}

// fail records the first broken promise.
func (w *World) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("at +%s: %w", w.now.Sub(Epoch), fmt.Errorf(format, args...))
		w.trace.note(w.now, "FAILED: %v", w.err)
	}
}

// nodeGrace is for how long a node may be silent.
const nodeGrace = 2 * time.Minute

// open starts a server on what the store holds, as Control does.
func (w *World) open() {
	w.life++
	w.clock = control.Steady(func() time.Time { return w.now.Add(w.skew) })
	w.hands.forget()
	w.up = false
	opened, err := engine.Open(context.Background(), w.deps, w.watch.published)
	if err != nil {
		w.fail("open: %w", err)
		return
	}
	w.engine = opened
	life := w.life
	var inventories []draft.Work
	for _, l := range w.links {
		l.forget()
		if l.cut || w.happens(0.2) { // the backend does not answer yet
			w.soon(w.upTo(20*time.Second), l.introduce)
			continue
		}
		inventories = append(inventories, l.inventory())
	}
	if w.do(inventories...); w.life != life {
		return // it crashed again on its way up
	}
	w.engine.Resume()
	w.dispatch()
	w.up = true
	w.asked()
	for _, l := range w.links {
		l.look()
		l.lookNowAndThen()
	}
	w.probe()
	w.sample()
}

// crash ends the server at this line and starts it again a while later.
func (w *World) crash() {
	w.trace.note(w.now, "crash")
	w.life++
	w.engine = nil
	w.after(w.upTo(20*time.Second), func() {
		if w.engine == nil {
			w.open()
		}
	})
}

func (w *World) recorded(what string, v any) {
	if w.record != nil {
		w.record(what, v)
	}
}

// do takes commands through one commit and hands on what follows from it. It
// returns nil while the server is down or went down before it could answer.
func (w *World) do(work ...draft.Work) []error {
	if w.engine == nil || w.err != nil {
		return nil
	}
	now := w.clock()
	failed := w.engine.Do(context.Background(), now, work)
	for _, err := range failed {
		if err != nil {
			w.recorded("errors", err)
		}
	}
	w.watch.check()
	if w.disk.failed && due(w.engine.NextWake(), now) {
		w.fail("a commit failed and the engine wants to try again at once, and again")
	}
	if w.happens(0.003) {
		w.crash() // it is durable, and no backend was told
		return nil
	}
	w.dispatch()
	w.asked()
	return failed
}

// Step advances to the next instant at which something happens, and lets it
// happen; false: nothing will.
func (w *World) Step() bool {
	at, ok := w.next()
	if !ok || w.err != nil {
		return false
	}
	if w.steps++; w.steps > stepsMax {
		w.fail("it does not come to rest: %d steps", w.steps)
	}
	if at.After(w.now) {
		w.now = at
	}
	switch {
	case len(w.events) > 0 && !w.events[0].at.After(w.now):
		w.events.pop().run()
	case w.engine != nil && due(w.engine.NextWake(), w.clock()):
		w.do()
	}
	for _, l := range w.links {
		l.news()
	}
	w.inquire()
	return w.err == nil
}

func due(at, now time.Time) bool { return !at.IsZero() && !at.After(now) }

// next is when something happens next.
func (w *World) next() (first time.Time, ok bool) {
	sooner := func(at time.Time) {
		if !at.IsZero() && (!ok || at.Before(first)) {
			first, ok = at, true
		}
	}
	if len(w.events) > 0 {
		sooner(w.events[0].at)
	}
	if w.engine != nil {
		sooner(w.wakes())
	}
	for _, l := range w.links {
		sooner(l.backend.Next())
	}
	return first, ok
}

// wakes is when the server's clock will have come to the engine's next timer.
func (w *World) wakes() time.Time {
	at := w.engine.NextWake()
	switch {
	case at.IsZero():
		return at
	case due(at, w.clock()):
		return w.now
	default:
		return at.Add(-w.skew)
	}
}

// RunUntil steps until that instant, which it then is.
func (w *World) RunUntil(until time.Time) error {
	for w.err == nil {
		at, ok := w.next()
		if !ok || at.After(until) {
			break
		}
		w.Step()
	}
	if w.now.Before(until) {
		w.now = until
	}
	return w.err
}

// Err is the first thing that was not as it must be.
func (w *World) Err() error { return w.err }

// Hash sums up everything that has happened.
func (w *World) Hash() uint64 { return w.trace.hash() }

// Trace is what has happened, line by line.
func (w *World) Trace() string { return w.trace.text() }
