// Package serviceproxy gives every inference workload one stable address on this
// machine, balances its requests over the replicas that are ready, finds out
// which are, and changes their number with the requests.
//
// It decides nothing about workloads: what it sees it tells the control plane
// as commands (Probed, Scale, Served).
package serviceproxy

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/store"
)

// Config is what the services need.
type Config struct {
	Control *control.Control
	Log     *slog.Logger
	// Host is where addresses are opened; default 127.0.0.1.
	Host string
	// Hold is how long a request waits for a replica to become ready; default 2 minutes.
	Hold time.Duration
	// Every is how often it is told what requests came to; default 10 s.
	Every time.Duration
}

// Services runs the services of all inference workloads.
type Services struct {
	control *control.Control
	log     *slog.Logger
	host    string
	hold    time.Duration
	every   time.Duration

	wg  sync.WaitGroup
	all map[core.WorkloadID]*route
}

// New returns services over a control plane.
func New(c Config) *Services {
	s := &Services{control: c.Control, log: c.Log, host: c.Host, hold: c.Hold, every: c.Every, all: map[core.WorkloadID]*route{}}
	if s.host == "" {
		s.host = "127.0.0.1"
	}
	if s.hold == 0 {
		s.hold = 2 * time.Minute
	}
	if s.every <= 0 {
		s.every = measureEvery
	}
	return s
}

// Run serves until ctx is done.
func (s *Services) Run(ctx context.Context) {
	defer s.wg.Wait()
	for ctx.Err() == nil {
		if err := s.follow(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("the services lost sight of the workloads; looking again", "err", err)
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		}
	}
	for id := range s.all {
		s.drop(id)
	}
}

var errBehind = errors.New("too many changes at once")

// follow reads what there is and then every change.
func (s *Services) follow(ctx context.Context) error {
	sub := s.control.Subscribe()
	defer sub.Close()
	found := map[core.WorkloadID]bool{}
	for cursor := int64(0); ; {
		page, err := s.control.Store().List(ctx, store.Query{Kinds: lifecycle.KindsThat(lifecycle.Kind.Replicated), Live: true, Cursor: cursor, Limit: 500})
		if err != nil {
			return err
		}
		for _, w := range page.Items {
			tasks, err := s.control.Store().Tasks(ctx, w.ID, w.Attempt)
			if err != nil {
				return err
			}
			found[w.ID] = true
			s.show(ctx, w, pointers(tasks))
		}
		if cursor = page.Next; cursor == 0 {
			break
		}
	}
	for id := range s.all {
		if !found[id] {
			s.drop(id)
		}
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case changes, ok := <-sub.C:
			if !ok {
				return errBehind
			}
			for _, c := range changes {
				if c.Workload.Kind.Replicated() {
					s.show(ctx, c.Workload, c.Tasks)
				}
			}
		}
	}
}

func pointers(tasks []core.Task) []*core.Task {
	out := make([]*core.Task, len(tasks))
	for i := range tasks {
		out[i] = &tasks[i]
	}
	return out
}

// show takes over what a workload is now.
func (s *Services) show(ctx context.Context, w *core.Workload, tasks []*core.Task) {
	b := s.all[w.ID]
	serves := w.Phase.Active()
	switch {
	case !serves:
		s.drop(w.ID)
		return
	case b == nil:
		b = s.newRoute(ctx, w)
		s.all[w.ID] = b
	}
	b.update(w, tasks)
}

func (s *Services) drop(id core.WorkloadID) {
	if b := s.all[id]; b != nil {
		delete(s.all, id)
		b.cancel()
	}
}

// enterer is the backend of a task, where its tasks can be reached.
func (s *Services) enterer(name string) backend.Enterer {
	for _, p := range s.control.Backends() {
		if e, ok := p.(backend.Enterer); ok && p.Name() == name {
			return e
		}
	}
	return nil
}

// send runs a command until it is stored.
func (s *Services) send(ctx context.Context, work draft.Work) {
	for wait := 50 * time.Millisecond; ctx.Err() == nil; wait = min(2*wait, 5*time.Second) {
		if err := s.control.Apply(ctx, work); err == nil || !retryable(err) {
			return
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

func retryable(err error) bool {
	var e *draft.Error
	return !errors.As(err, &e) || e.Code == draft.CodeUnavailable || e.Code == draft.CodeFull
}
