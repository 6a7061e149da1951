// Package control runs the engine in real time: it gathers what callers and
// backends bring, hands the engine's actions to the backends and to what builds
// and publishes, and answers those who ask why something waits.
package control

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/launch"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/nodepast"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/timeseries"
	"github.com/musterhq/muster/internal/waited"
)

// batchMax is how many commands one commit takes at most; it bounds how long a
// command waits for those before it.
const batchMax = 512

// Control drives an Engine in real time: it gathers what callers and backends
// bring, lets the engine commit it in groups, and hands the engine's actions
// to the backends.
type Control struct {
	engine     *engine.Engine
	store      store.Store
	backends   map[string]*actuator
	hub        *hub
	operations *operations
	// studies has a place for each answer that may be worked out at once.
	studies chan struct{}
	// keyring opens secrets on their way to a backend.
	keyring launch.Keyring
	former  []backend.Output
	clock   func() time.Time
	samples *samples

	// deciding is when the round under way began whose actions are not with the
	// backends' queues yet, in nanoseconds; 0: none is.
	deciding atomic.Int64

	inbox chan request
	done  chan struct{}
	wg    sync.WaitGroup
	// ready is closed once every backend has said what nodes it has.
	ready     chan struct{}
	forecasts forecasts
	courses   courses
	rights    atomic.Pointer[rbac.Policy]
}

type request struct {
	work  draft.Work
	reply chan error
}

// ErrStopped says that the control loop has ended.
var ErrStopped = &draft.Error{Code: draft.CodeUnavailable, Message: "the server is shutting down", Hint: "try again"}

// Options are what the engine needs, and what control needs beside.
type Options struct {
	draft.Deps
	// Series keeps what is measured; nil: a store of its own, of the usual size.
	// SampleEvery is how often that is done; 0: every 10 s.
	Series      *timeseries.Store
	SampleEvery time.Duration
	// Waited is told for what workloads wait; nil: one of its own, in memory.
	Waited *waited.Ledger
	// NodePast is told how well nodes are; nil: one of its own, in memory.
	NodePast *nodepast.Ledger
	// Former are the outputs of tasks whose backends are no more.
	Former []backend.Output
}

// New loads the state and readies the backends; Run starts the work.
func New(ctx context.Context, d Options, backends []backend.Backend, hands Hands, clock func() time.Time) (*Control, error) {
	c := &Control{
		keyring: d.Secrets, former: d.Former, samples: newSamples(d),
		store: d.Store, backends: map[string]*actuator{}, hub: newHub(), clock: Steady(clock),
		inbox: make(chan request, batchMax), done: make(chan struct{}), ready: make(chan struct{}), studies: make(chan struct{}, studiesAtOnce),
	}
	c.operations = &operations{hands: hands, log: d.Log, do: c.Apply, cancels: map[core.WorkloadID][]context.CancelFunc{}}
	for _, p := range backends {
		c.backends[p.Name()] = newActuator(p, c, d.Log)
	}
	d.Clusters = slices.Sorted(maps.Keys(c.backends))
	if d.Address == nil {
		d.Address = c.address
	}
	d.Permitted = c.rights.Store
	var err error
	if c.engine, err = engine.Open(ctx, d.Deps, c.hub.publish); err != nil {
		return nil, err
	}
	return c, nil
}

// Run works until ctx is done, or until another process has become the writer,
// which is an error. Nothing is lost by ending it at any line.
func (c *Control) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	c.operations.ctx = ctx
	defer c.wg.Wait()
	defer c.operations.wg.Wait()
	defer cancel()
	defer close(c.done) // first: whoever waits for an answer learns that none comes
	c.engine.Do(ctx, c.clock(), c.inventories(ctx))
	close(c.ready)
	c.engine.Resume()
	c.dispatch()
	for _, a := range c.backends {
		c.wg.Go(func() { a.run(ctx) })
		c.wg.Go(func() { a.watch(ctx) })
		if s, ok := a.backend.(backend.Sampler); ok {
			c.wg.Go(func() { a.sample(ctx, s) })
		}
		if p, ok := a.backend.(backend.Announcer); ok {
			c.wg.Go(func() { a.announce(ctx, p) })
		}
		if p, ok := a.backend.(backend.Claimant); ok {
			c.wg.Go(func() { a.claims(ctx, p) })
			c.wg.Go(func() { a.speak(ctx, p) })
		}
	}
	c.wg.Go(func() { c.beat(ctx) })
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		c.arm(timer)
		var first *request
		select {
		case <-ctx.Done():
			return nil
		case r := <-c.inbox:
			first = &r
		case <-timer.C:
		}
		c.round(ctx, first)
		if err := c.engine.Deposed(); err != nil {
			return fmt.Errorf("the control loop has ended: %w", err)
		}
	}
}

// inventories asks all backends what they have, for a while: one that is silent
// keeps nobody from the others. All are taken over at once, as a timer that is
// due may need a node of any.
func (c *Control) inventories(ctx context.Context) []draft.Work {
	within := firstWithin
	if len(c.backends) == 1 { // there is nobody to be kept
		within = answerWithin
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	names := slices.Sorted(maps.Keys(c.backends))
	out := make([]draft.Work, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		a := c.backends[name]
		wg.Go(func() {
			nodes, err := a.inventory(ctx)
			if err == nil {
				out[i] = engine.Inventory(name, nodes)
				return
			}
			a.log.Warn("the backend does not say what nodes it has; asking again", "err", err)
			a.lost, a.reported, a.since, a.looking.warned = true, true, c.clock(), time.Now()
			out[i] = engine.Reach(name, false, err.Error())
		})
	}
	wg.Wait()
	return out
}

// round takes what is waiting through one commit.
func (c *Control) round(ctx context.Context, first *request) {
	var reqs []request
	if first != nil {
		reqs = append(reqs, *first)
	}
	for len(reqs) < batchMax {
		select {
		case r := <-c.inbox:
			reqs = append(reqs, r)
			continue
		default:
		}
		break
	}
	work := make([]draft.Work, len(reqs))
	for i, r := range reqs {
		work[i] = r.work
	}
	now := c.clock()
	c.deciding.Store(now.UnixNano())
	planned := c.engine.Planned
	failed := c.engine.Do(ctx, now, work)
	c.dispatch()
	if c.engine.Planned != planned {
		c.replanned()
	}
	c.deciding.Store(0)
	for i, r := range reqs {
		r.reply <- failed[i]
	}
}

// replanned has those told who wait.
func (c *Control) replanned() {
	if len(c.engine.Claims.Of) == 0 {
		return
	}
	for _, a := range c.backends {
		a.speakAgain()
	}
}

// dispatch hands the engine's actions to the backends.
func (c *Control) dispatch() {
	// What was decided together arrives together: a backend must see a gang whole.
	todo := map[string][]draft.Action{}
	for _, a := range c.engine.TakeActions() {
		switch a.Kind {
		case draft.ActDeleteLogs:
			c.deleteLogs(a)
			continue
		case draft.ActOperation:
			c.operations.begin(a.Operation)
			continue
		case draft.ActDropOperations:
			c.operations.drop(a.Workload)
			continue
		}
		todo[a.Backend] = append(todo[a.Backend], a)
	}
	for name, all := range todo {
		if p, ok := c.backends[name]; ok {
			p.queue.push(all)
		}
	}
}

// deleteLogs removes the logs of a workload on every backend and reports it.
func (c *Control) deleteLogs(a draft.Action) {
	c.wg.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		var failure error
		for _, p := range c.Outputs() {
			failure = errors.Join(failure, p.DeleteLogs(ctx, a.Workload))
		}
		if c.operations.hands != nil {
			failure = errors.Join(failure, c.operations.hands.Clean(ctx, a.Workload))
		}
		c.Apply(ctx, submission.Removed(a.Workload, failure)) //nolint:errcheck // a shutdown: Resume asks again
	})
}

// arm sets the timer to the engine's next wake.
func (c *Control) arm(t *time.Timer) {
	t.Stop()
	if at := c.engine.NextWake(); !at.IsZero() {
		t.Reset(max(at.Sub(c.clock()), time.Millisecond))
	}
}

// Do runs a command and returns what it answers, once that is durable, or why it was
// refused.
func Do[R any](ctx context.Context, c *Control, command draft.Command[R]) (R, error) {
	asked := draft.Question[R]{Command: command}
	if err := c.Apply(ctx, &asked); err != nil {
		var none R
		return none, err
	}
	return asked.Answer, nil
}

// Apply carries out a command for what it changes, and returns once that is durable,
// or refused.
func (c *Control) Apply(ctx context.Context, work draft.Work) error {
	if o := draft.OriginOf(ctx); o != nil {
		work = draft.Audited{Work: work, Origin: o}
	}
	r := request{work: work, reply: make(chan error, 1)}
	select {
	case c.inbox <- r:
	case <-ctx.Done():
		return ctx.Err()
	case <-c.done:
		return ErrStopped
	}
	select {
	case err := <-r.reply:
		return err
	case <-c.done:
		select {
		case err := <-r.reply:
			return err
		default:
			return ErrStopped
		}
	}
}

// address is where a task is reached on a backend that gives each its own.
func (c *Control) address(backendName string, id core.TaskID) string {
	if a := c.backends[backendName]; a != nil {
		if l, ok := a.backend.(backend.Locator); ok {
			return l.Address(id)
		}
	}
	return ""
}

// Rights is who may do what, as it was committed last.
func (c *Control) Rights() *rbac.Policy { return c.rights.Load() }

// Ready is closed once every backend has reported its nodes and the loop runs.
func (c *Control) Ready() <-chan struct{} { return c.ready }

// Store is for readers: what it answers is committed.
func (c *Control) Store() store.Store { return c.store }

// Outputs are where the logs of tasks may be, of former backends first.
func (c *Control) Outputs() []backend.Output {
	all := slices.Clone(c.former)
	for _, a := range c.backends {
		all = append(all, a.backend)
	}
	return all
}

// Backends returns every backend.
func (c *Control) Backends() []backend.Backend {
	all := make([]backend.Backend, 0, len(c.backends))
	for _, a := range c.backends {
		all = append(all, a.backend)
	}
	return all
}

// Subscribe returns a subscription to every change committed from now on.
func (c *Control) Subscribe() *Subscription { return c.hub.subscribe() }
