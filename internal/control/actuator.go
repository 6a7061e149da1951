package control

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/engine/consequence"
	"github.com/musterhq/muster/internal/engine/draft"
)

const (
	backendRetry = 500 * time.Millisecond // pause before what is the store's fault is tried again
	lastWords    = 2 * time.Second        // for what is to do when the server ends
	observeEvery = 30 * time.Second       // full look at a backend on which something runs
	silentAfter  = 10 * time.Second       // for so long a backend may fail before it counts as unreachable
	firstWithin  = 5 * time.Second        // for so long a server that begins waits for what a backend has
	answerWithin = 15 * time.Second       // for so long a backend may take to say what it has
	sampleEvery  = 10 * time.Second       // look at what is used
)

// actuator carries actions to one backend, in order, and observations back.
type actuator struct {
	backend backend.Backend
	ctl     *Control
	log     *slog.Logger
	queue   actionQueue
	look    chan struct{} // asks for a full observation; capacity one
	// replanned says that what is told of claims may not be true any more;
	// capacity one.
	replanned chan struct{}

	lost     bool        // its nodes are not known yet
	nodes    []core.Node // as last told
	since    time.Time   // of its first failure in a row; zero: it answers
	reported bool        // the engine knows that it is unreachable

	asking, looking pace          // of actions, and of what the backend has
	back            chan struct{} // the backend answers again; capacity one
}

func newActuator(p backend.Backend, c *Control, log *slog.Logger) *actuator {
	return &actuator{backend: p, ctl: c, log: log.With("backend", p.Name()), queue: actionQueue{wake: make(chan struct{}, 1)}, look: make(chan struct{}, 1), replanned: make(chan struct{}, 1), back: make(chan struct{}, 1)}
}

func (a *actuator) inventory(ctx context.Context) ([]core.Node, error) {
	nodes, err := a.backend.Inventory(ctx)
	a.mark(nodes)
	return nodes, err
}

// mark says on nodes whose they are.
func (a *actuator) mark(nodes []core.Node) {
	for i := range nodes {
		n := &nodes[i]
		n.Backend = a.backend.Name()
		labels := make(map[string]string, len(n.Labels)+1) // the backend's own are not to be changed
		maps.Copy(labels, n.Labels)
		labels[core.LabelCluster] = n.Backend
		if d, ok := a.backend.(backend.Describer); ok && len(a.ctl.backends) > 1 {
			if runs := d.Describe().Runs; runs != "" {
				labels[core.LabelRuns] = runs
			}
		}
		n.Labels = labels
	}
}

// actionQueue is an unbounded queue: actions follow from what is durable and
// may not be dropped, and the writer may not wait for a backend.
type actionQueue struct {
	mu    sync.Mutex
	items []draft.Action
	doing []draft.Action // taken, and not carried out yet
	aside map[attemptKey]*aside
	wake  chan struct{}
}

func (q *actionQueue) push(all []draft.Action) {
	q.mu.Lock()
	q.items = append(q.items, all...)
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// back puts items at the head again.
func (q *actionQueue) back(items []draft.Action) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.items, q.doing = append(items, q.items...), nil
}

// carried says that the first n of those that were taken have been carried out.
func (q *actionQueue) carried(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.doing = q.doing[n:]
}

// oldest is when the oldest action was decided that has not been carried out;
// false: all have.
// They are not in the order of their times: what a server finds undone when it
// begins was decided before all else, and comes behind what its first round decides.
func (q *actionQueue) oldest() (at time.Time, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, all := range [][]draft.Action{q.doing, q.items} {
		for i := range all {
			if !ok || all[i].At.Before(at) {
				at, ok = all[i].At, true
			}
		}
	}
	return at, ok
}

func (q *actionQueue) drain() []draft.Action {
	q.mu.Lock()
	defer q.mu.Unlock()
	items := q.items
	q.items, q.doing = nil, items
	return items
}

// run carries actions out until ctx is done; what is then still to do gets a
// moment more, so that a server that was told to end leaves little behind.
func (a *actuator) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
			defer cancel()
			for items := a.queue.drain(); len(items) > 0; {
				n := sameKind(items)
				if errors.Is(a.carry(last, items[:n]), backend.ErrUnreachable) {
					return // the next server asks again
				}
				items = items[n:]
			}
			return
		case <-a.queue.wake:
		case <-a.retry():
			a.again(ctx)
		}
		items := a.queue.drain()
		for len(items) > 0 && ctx.Err() == nil {
			n := sameKind(items)
			if !a.carryOut(ctx, a.queue.admit(slices.Clone(items[:n]))) {
				break
			}
			items = items[n:]
			a.queue.carried(n)
		}
		if len(items) > 0 {
			a.queue.back(items)
		}
	}
}

// carryOut carries out items of one kind, for as long as the backend cannot be
// reached again and again: every action is harmless to repeat. What the backend
// itself fails is set aside. It reports whether it got so far before ctx was done.
func (a *actuator) carryOut(ctx context.Context, items []draft.Action) bool {
	for len(items) > 0 && ctx.Err() == nil {
		err := a.carry(ctx, items)
		if errors.Is(err, backend.ErrUnreachable) {
			a.asking.failed(ctx, a.log, "the backend did not do what it was asked; asking again", err, a.back)
			continue
		}
		if a.asking.over(); err != nil {
			a.apart(ctx, items, err)
		}
		return true
	}
	return ctx.Err() == nil
}

// retry fires when something that is set aside is to be tried again; nil: nothing
// is.
func (a *actuator) retry() <-chan time.Time {
	_, wait := a.queue.due(a.ctl.clock())
	if wait < 0 {
		return nil
	}
	return time.After(wait)
}

// sameKind is how many actions at the head are of one kind (and grace), and so
// can go in one call.
func sameKind(items []draft.Action) int {
	n := 1
	for n < len(items) && items[n].Kind == items[0].Kind && items[n].Grace == items[0].Grace {
		n++
	}
	return n
}

func (a *actuator) carry(ctx context.Context, items []draft.Action) error {
	ids := make([]core.TaskID, len(items))
	for i := range items {
		ids[i] = items[i].Task
	}
	switch items[0].Kind {
	case draft.ActStart:
		tasks := make([]backend.Assignment, 0, len(items))
		var closed []backend.Observation
		for i := range items {
			as, err := items[i].Open(a.ctl.keyring)
			if err != nil {
				closed = append(closed, backend.Observation{ID: as.ID, State: core.TaskFailed, Reason: string(lifecycle.ReasonContainerCannot), Message: err.Error(), At: a.ctl.clock()})
				continue
			}
			tasks = append(tasks, as)
		}
		if len(closed) > 0 {
			a.report(ctx, engine.Observations{Seen: closed})
		}
		if len(tasks) == 0 {
			return nil
		}
		return a.backend.Start(ctx, tasks)
	case draft.ActForget:
		return a.backend.Forget(ctx, ids)
	case draft.ActDisown:
		if p, ok := a.backend.(backend.Claimant); ok {
			return p.Disown(ctx, ids)
		}
		return nil
	case draft.ActStop:
		err := a.backend.Stop(ctx, ids, items[0].Grace)
		if err == nil {
			a.lookAgain() // a task that never arrived there will not be heard of
		}
		return err
	default:
		return nil
	}
}

func (a *actuator) lookAgain() {
	select {
	case a.look <- struct{}{}:
	default:
	}
}

func (a *actuator) pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(backendRetry):
	}
}

// watch brings observations in until ctx is done: news as they come, and
// everything at the start, after a break, when asked, and now and then while
// something runs.
func (a *actuator) watch(ctx context.Context) {
	for ctx.Err() == nil {
		if a.lost {
			within, cancel := context.WithTimeout(ctx, answerWithin)
			nodes, err := a.inventory(within)
			cancel()
			if err != nil {
				if ctx.Err() == nil {
					a.fails(ctx, err)
					a.looking.failed(ctx, a.log, "the backend does not say what nodes it has; asking again", err, nil)
				}
				continue
			}
			a.ctl.Apply(ctx, engine.Inventory(a.backend.Name(), nodes)) //nolint:errcheck // asked again after the next break
			a.lost = false
		}
		wctx, cancel := context.WithCancel(ctx)
		broken := make(chan error, 1)
		fresh := newNews()
		go func() { broken <- a.backend.Watch(wctx, fresh.add) }()
		acknowledged := make(chan struct{})
		go func() {
			defer close(acknowledged)
			for wctx.Err() == nil {
				if seen := fresh.next(wctx); len(seen) > 0 {
					a.report(ctx, engine.Observations{Seen: seen})
				}
			}
		}()
		err := a.observe(ctx, broken)
		cancel()
		<-acknowledged
		if ctx.Err() != nil {
			return
		}
		a.log.Warn("lost sight of the backend; looking again", "err", err)
		a.pause(ctx)
		// What was lost sight of may have come back with other nodes.
		if nodes, err := a.inventory(ctx); err == nil {
			a.ctl.Apply(ctx, engine.Inventory(a.backend.Name(), nodes))
		}
	}
}

// proven is up to when a full observation that begins now can prove that a task
// is absent: what was decided since may still be on its way to the backend.
func (a *actuator) proven() time.Time {
	at := a.ctl.clock()
	if ns := a.ctl.deciding.Load(); ns != 0 && ns < at.UnixNano() {
		at = time.Unix(0, ns)
	}
	if oldest, ok := a.queue.oldest(); ok && oldest.Before(at) {
		at = oldest
	}
	return at.Truncate(time.Microsecond)
}

// observe makes full observations until the watch breaks.
func (a *actuator) observe(ctx context.Context, broken <-chan error) error {
	tick := time.NewTicker(observeEvery)
	defer tick.Stop()
	for {
		began := a.proven()
		within, cancel := context.WithTimeout(ctx, answerWithin)
		seen, err := a.backend.Observe(within)
		cancel()
		if err == nil {
			a.looking.over()
			a.answers(ctx)
			a.report(ctx, engine.Observations{Seen: append(a.queue.absent(seen), seen...), Full: true, Began: began})
		} else if ctx.Err() == nil {
			a.fails(ctx, err)
			a.looking.failed(ctx, a.log, "the backend could not be observed; asking again", err, nil)
			a.lookAgain()
		}
		select {
		case <-ctx.Done():
			return nil
		case err := <-broken:
			return err
		case <-a.look:
		case <-tick.C:
			a.survey(ctx)
		}
	}
}

// survey tells when what the backend has is not what it was.
func (a *actuator) survey(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	nodes, err := a.inventory(within)
	if err != nil || reflect.DeepEqual(nodes, a.nodes) {
		return
	}
	if err := a.ctl.Apply(ctx, engine.Inventory(a.backend.Name(), nodes)); err == nil {
		a.nodes = nodes
	}
}

// announce brings in what the backend says by itself of its nodes, until ctx is done.
func (a *actuator) announce(ctx context.Context, p backend.Announcer) {
	for ctx.Err() == nil {
		err := p.Nodes(ctx, func(changed []core.Node, gone []core.NodeID) {
			a.mark(changed)
			a.ctl.Apply(ctx, engine.NodesChanged(changed, gone)) //nolint:errcheck // the survey tells again
		})
		if err != nil && ctx.Err() == nil {
			a.log.Warn("the backend does not tell of its nodes any more; asking again", "err", err)
		}
		a.pause(ctx)
	}
}

// claims brings in what others make on the backend, until ctx is done.
func (a *actuator) claims(ctx context.Context, p backend.Claimant) {
	for ctx.Err() == nil {
		err := p.Claims(ctx, func(news backend.Claims) error {
			err := a.ctl.Apply(ctx, consequence.Claimed(a.backend.Name(), news))
			a.speakAgain()
			return err
		})
		if err != nil && ctx.Err() == nil && !errors.Is(err, ErrStopped) {
			a.log.Warn("the backend does not tell of claims any more; asking again", "err", err)
		}
		a.pause(ctx)
	}
}

// report hands observations to the engine; what could not be stored is seen
// again in the next full look.
func (a *actuator) report(ctx context.Context, o engine.Observations) {
	o.Backend = a.backend.Name()
	err := a.ctl.Apply(ctx, engine.Observe(o))
	if err != nil && ctx.Err() == nil && !errors.Is(err, ErrStopped) {
		a.log.Warn("observations could not be stored; looking again", "err", err)
		a.pause(ctx)
		a.lookAgain()
	}
}

// fails notes that the backend does not answer, and tells after a while.
func (a *actuator) fails(ctx context.Context, err error) {
	now := a.ctl.clock()
	if a.since.IsZero() {
		a.since = now
	}
	if !a.reported && now.Sub(a.since) >= silentAfter {
		failed := a.ctl.Apply(ctx, engine.Reach(a.backend.Name(), false, err.Error()))
		a.reported = failed == nil
	}
}

// answers notes that the backend answers.
func (a *actuator) answers(ctx context.Context) {
	if !a.since.IsZero() {
		a.since = time.Time{}
		select {
		case a.back <- struct{}{}: // what it did not do it may do now
		default:
		}
	}
	if a.reported {
		failed := a.ctl.Apply(ctx, engine.Reach(a.backend.Name(), true, ""))
		a.reported = failed != nil
	}
}
