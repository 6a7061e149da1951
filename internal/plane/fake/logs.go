package fake

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/plane"
)

// Logs implements plane.Plane.
func (p *Plane) Logs(ctx context.Context, id core.TaskID, opts plane.LogOptions) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	_, unlock := p.lock()
	defer unlock()
	log, ok := p.logs[id]
	if !ok {
		return nil, fmt.Errorf("logs of task %s: %w", id, plane.ErrNoLogs)
	}
	at := min(max(opts.Offset, 0), int64(len(log)))
	if opts.Tail >= 0 {
		at = tail(log, opts.Tail)
	}
	return &reader{p: p, ctx: ctx, id: id, at: at, follow: opts.Follow, closed: make(chan struct{})}, nil
}

// tail is where the last n lines begin.
func tail(log []byte, n int) int64 {
	at := len(log)
	for ; n > 0 && at > 0; n-- {
		at = bytes.LastIndexByte(log[:at-1], '\n') + 1
	}
	return int64(at)
}

// reader reads one log, and waits for more of it while its task lives.
type reader struct {
	p      *Plane
	ctx    context.Context
	id     core.TaskID
	at     int64
	follow bool
	once   sync.Once
	closed chan struct{}
}

// Read implements io.Reader.
func (r *reader) Read(b []byte) (int, error) {
	for {
		select {
		case <-r.closed:
			return 0, io.ErrClosedPipe
		default:
		}
		now, unlock := r.p.lock()
		log := r.p.logs[r.id]
		n := copy(b, log[min(r.at, int64(len(log))):])
		t := r.p.tasks[r.id]
		more := r.follow && t != nil && !t.state.State.Ended()
		wait := r.p.wait(now)
		unlock()
		r.at += int64(n)
		switch {
		case n > 0 || len(b) == 0:
			return n, nil
		case !more:
			return 0, io.EOF
		}
		select {
		case <-r.closed:
			return 0, io.ErrClosedPipe
		case <-r.ctx.Done():
			return 0, r.ctx.Err()
		case <-wait:
		}
	}
}

// Close implements io.Closer.
func (r *reader) Close() error {
	r.once.Do(func() { close(r.closed) })
	return nil
}

// DeleteLogs implements plane.Plane.
func (p *Plane) DeleteLogs(ctx context.Context, id core.WorkloadID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, unlock := p.lock()
	defer unlock()
	for k := range p.logs {
		if k.Workload == id {
			delete(p.logs, k)
		}
	}
	p.wake()
	return nil
}
