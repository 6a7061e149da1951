//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/cgroup"
	"github.com/musterhq/muster/internal/backend/local/protocol"
	"github.com/musterhq/muster/internal/backend/local/taskdir"
	"github.com/musterhq/muster/internal/core"
)

// Backend is the server's side: it talks to the supervisor and reads logs.
type Backend struct {
	paths    taskdir.Paths
	opts     Options
	notifier *notifier
	preps    *preparations

	mu     sync.Mutex
	link   *client
	closed bool

	sampling sync.Mutex
	sampler  sampler
}

var (
	_ backend.Backend = (*Backend)(nil)
	_ backend.Sampler = (*Backend)(nil)
	_ backend.Enterer = (*Backend)(nil)
)

// Open makes a backend of a directory. It starts no process: a supervisor comes with
// the first task, or with the first look at the tasks of a former supervisor.
// Several backends, in several processes too, may have the same directory.
func Open(o Options) (*Backend, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	if os.Getenv(protocol.SupervisorEnv) != "" {
		// Without this check a program that forgot would start itself for ever.
		return nil, errors.New("local backend: this process was started to be a supervisor; call supervisor.Main first in main")
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("local backend: %w", err)
	}
	return &Backend{paths: taskdir.Paths{Dir: o.Dir, Logs: o.LogDir}, opts: o, notifier: newNotifier(), preps: newPreparations()}, nil
}

// Close ends the connection. The supervisor and its tasks go on.
func (p *Backend) Close() error {
	p.preps.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.link != nil {
		p.link.close(errBroken)
	}
	return p.notifier.close()
}

// Name is the backend's name.
func (p *Backend) Name() string { return BackendName }

// Describe implements backend.Describer.
func (p *Backend) Describe() backend.Description {
	d := backend.Description{Kind: "local"}
	if p.opts.Images == nil {
		d.Runs = core.RunsProcesses
	}
	return d
}

// call asks the supervisor, and asks again when it died meanwhile: every operation
// may be repeated.
func (p *Backend) call(ctx context.Context, q protocol.Request, need bool) (protocol.Reply, error) {
	var last error
	for wait := time.Millisecond; wait < time.Second; wait *= 2 {
		c, err := p.connect(ctx, need)
		if err != nil {
			return protocol.Reply{}, err
		}
		r, err := c.call(ctx, q)
		if !errors.Is(err, errBroken) && (err == nil || err.Error() != protocol.ErrLeaving.Error()) {
			return r, err
		}
		c.close(errBroken)
		last = err
		select { // it may be on its way out
		case <-time.After(wait):
		case <-ctx.Done():
			return protocol.Reply{}, ctx.Err()
		}
	}
	return protocol.Reply{}, fmt.Errorf("%w: %w; see %s", backend.ErrUnreachable, last, p.paths.Journal())
}

// Start implements backend.Backend.
func (p *Backend) Start(ctx context.Context, tasks []backend.Assignment) error {
	if len(tasks) == 0 {
		return nil
	}
	var plain, boxed []backend.Assignment
	for _, a := range tasks {
		if a.Image != "" {
			boxed = append(boxed, a)
			continue
		}
		plain = append(plain, a)
	}
	jobs, err := p.jobs(plain)
	errs := []error{err}
	if len(boxed) > 0 {
		errs = append(errs, p.prepare(ctx, boxed))
	}
	if len(jobs) > 0 {
		_, err := p.call(ctx, protocol.Request{Op: protocol.OpStart, Tasks: jobs}, true)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Stop implements backend.Backend.
func (p *Backend) Stop(ctx context.Context, ids []core.TaskID, grace time.Duration) error {
	p.stopPreparing(ids, grace)
	return p.about(ctx, protocol.Request{Op: protocol.OpStop, IDs: ids, Grace: grace})
}

// Forget implements backend.Backend.
func (p *Backend) Forget(ctx context.Context, ids []core.TaskID) error {
	p.preps.forget(ids)
	if err := p.about(ctx, protocol.Request{Op: protocol.OpForget, IDs: ids}); err != nil {
		return err
	}
	return p.release(ctx, ids)
}

func (p *Backend) about(ctx context.Context, q protocol.Request) error {
	if len(q.IDs) == 0 {
		return nil
	}
	_, err := p.call(ctx, q, false)
	if errors.Is(err, errNoSupervisor) {
		return nil // no supervisor and no records: all are unknown
	}
	return err
}

// Retire lets the supervisor go as soon as it has no tasks, whoever is connected. Of
// one that was killed, and that nobody has followed, it takes away what is left.
func (p *Backend) Retire(ctx context.Context) error {
	_, err := p.call(ctx, protocol.Request{Op: protocol.OpRetire}, false)
	if errors.Is(err, errNoSupervisor) {
		for wait := time.Millisecond; wait < 4*time.Second && ctx.Err() == nil; wait *= 2 {
			if cgroup.Sweep(taskdir.ShortName(p.paths.Dir)) {
				break
			}
			time.Sleep(wait) // what was killed may take a moment to be gone
		}
		return nil
	}
	return err
}

// Observe implements backend.Backend.
func (p *Backend) Observe(ctx context.Context) ([]backend.Observation, error) {
	r, err := p.call(ctx, protocol.Request{Op: protocol.OpObserve}, false)
	if err != nil && !errors.Is(err, errNoSupervisor) {
		return nil, err
	}
	p.sweep(r.Seen)
	return p.preps.seen(r.Seen), nil
}

// Watch implements backend.Backend. It begins with everything there is, survives
// the death of the supervisor by starting another, and returns only with ctx or
// when no supervisor can be had.
func (p *Backend) Watch(ctx context.Context, seen func([]backend.Observation)) error {
	ctx, cancel := context.WithCancel(ctx)
	var one sync.Mutex
	report := func(all []backend.Observation) {
		one.Lock()
		defer one.Unlock()
		seen(all)
	}
	var second sync.WaitGroup
	second.Go(func() { p.preps.watch(ctx, report) })
	defer second.Wait()
	defer cancel()
	return p.watchSupervisor(ctx, report)
}

func (p *Backend) watchSupervisor(ctx context.Context, seen func([]backend.Observation)) error {
	// Without a supervisor, the next one's socket is the event to wait for.
	wake, done := p.notifier.listen(p.paths.Dir)
	defer done()
	for {
		c, err := p.connect(ctx, false)
		if err == nil {
			err = p.follow(ctx, c, seen)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errNoSupervisor):
			select {
			case <-wake:
			case <-ctx.Done():
				return ctx.Err()
			}
		case err != nil && !errors.Is(err, errBroken):
			return err
		}
	}
}

func (p *Backend) follow(ctx context.Context, c *client, seen func([]backend.Observation)) error {
	answers, done, err := c.open(protocol.Request{Op: protocol.OpWatch})
	if err != nil {
		return err
	}
	defer done()
	for {
		select {
		case r := <-answers:
			if len(r.Seen) > 0 {
				seen(r.Seen)
			}
		case <-c.dead:
			return c.err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
