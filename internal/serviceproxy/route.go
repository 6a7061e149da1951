package serviceproxy

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/submission"
)

// route is the service of one workload.
type route struct {
	s      *Services
	id     core.WorkloadID
	name   string
	ctx    context.Context
	cancel context.CancelFunc

	mu       sync.Mutex
	doc      *spec.Document
	wanted   int
	replicas map[core.TaskID]*replica
	changed  chan struct{} // closed and replaced whenever a replica becomes ready
	inflight int           // requests, those that wait for a replica too
	peak     int           // most of them since the autoscaler last looked
	measured measured
	next     int // where the search for a free replica begins
}

// replica is one running task of the service.
type replica struct {
	task   core.Task
	host   string // names this run of it for the transport: a restarted one has no connections of the run before
	probed bool   // as its probe last said
	cancel context.CancelFunc
	busy   int // requests under way
}

func (s *Services) newRoute(ctx context.Context, w *core.Workload) *route {
	b := &route{s: s, id: w.ID, name: w.Name, replicas: map[core.TaskID]*replica{}, changed: make(chan struct{}), doc: w.Spec}
	b.ctx, b.cancel = context.WithCancel(ctx)
	s.wg.Go(func() { b.serve(w.ServicePort) })
	s.wg.Go(func() { b.autoscale() })
	s.wg.Go(func() { b.measure() })
	return b
}

// update takes over the workload as it is now. Of tasks only those that are
// told have changed.
func (b *route) update(w *core.Workload, tasks []*core.Task) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.doc, b.wanted = w.Spec, w.Replicas
	for id := range b.replicas {
		if id.Attempt != w.Attempt {
			b.remove(id)
		}
	}
	for _, t := range tasks {
		if t.ID.Attempt != w.Attempt {
			continue
		}
		r := b.replicas[t.ID]
		runs := t.State == core.TaskRunning && !t.Leaving
		switch {
		case !runs:
			b.remove(t.ID)
		case r == nil || !r.task.StartedAt.Equal(t.StartedAt):
			b.remove(t.ID)
			b.add(*t)
		default:
			r.task = *t
		}
	}
}

func (b *route) add(t core.Task) {
	ctx, cancel := context.WithCancel(b.ctx)
	r := &replica{task: t, host: fmt.Sprintf("replica-%d-%d", t.ID.Index, t.StartedAt.UnixMicro()), cancel: cancel, probed: t.Ready}
	b.replicas[t.ID] = r
	if r.probed {
		b.announce()
	}
	b.s.wg.Go(func() { b.probe(ctx, r) })
}

func (b *route) remove(id core.TaskID) {
	if r := b.replicas[id]; r != nil {
		r.cancel()
		delete(b.replicas, id)
	}
}

// announce wakes the requests that wait for a replica.
func (b *route) announce() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// serve listens on the service's address until the workload is gone. The
// address stays the same over restarts of the server, as long as nobody else
// has taken it.
func (b *route) serve(port int) {
	var l net.Listener
	for wait := 100 * time.Millisecond; b.ctx.Err() == nil; wait = min(2*wait, 5*time.Second) {
		var err error
		var lc net.ListenConfig
		if l, err = lc.Listen(b.ctx, "tcp", fmt.Sprintf("%s:%d", b.s.host, port)); err == nil {
			break
		}
		b.s.log.Warn("the address of a service is taken; opening another", "workload", b.name, "port", port, "err", err)
		port = 0
		select {
		case <-time.After(wait):
		case <-b.ctx.Done():
		}
	}
	if l == nil {
		return
	}
	if got := l.Addr().(*net.TCPAddr).Port; got != port {
		b.s.send(b.ctx, submission.Served(b.id, got))
	}
	srv := &http.Server{Handler: b.handler(), ReadHeaderTimeout: 30 * time.Second}
	stop := context.AfterFunc(b.ctx, func() { _ = srv.Close() })
	defer stop()
	_ = srv.Serve(l) // ends with ctx
}

// target is the port on which a replica listens.
func target(t *core.Task, d *spec.Document) int {
	switch {
	case t.Port > 0:
		return t.Port
	case d.Probe != nil && d.Probe.Port > 0:
		return d.Probe.Port
	case len(d.Ports) > 0:
		return d.Ports[0].Port
	default:
		return 0
	}
}
