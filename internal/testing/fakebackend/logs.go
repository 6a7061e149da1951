package fakebackend

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
)

// broken is where a log breaks off, see BreakLogs.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the disk does not answer") }

// Logs implements backend.Backend.
func (p *Backend) Logs(ctx context.Context, id core.TaskID, opts backend.LogOptions) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	_, unlock := p.lock()
	defer unlock()
	log, ok := p.logs[id]
	if !ok {
		return nil, fmt.Errorf("logs of task %s: %w", id, backend.ErrNoLogs)
	}
	at := min(max(opts.Offset, 0), int64(len(log)))
	if opts.Tail >= 0 {
		at = tail(log, opts.Tail)
	}
	if !opts.Since.IsZero() {
		at = max(at, p.since(id, opts.Since))
	}
	r := &reader{p: p, ctx: ctx, id: id, at: at, follow: opts.Follow, closed: make(chan struct{})}
	if p.breakLogs && !opts.Follow {
		half := log[at:][:(int64(len(log))-at)/2]
		return io.NopCloser(io.MultiReader(bytes.NewReader(half), broken{})), nil
	}
	if opts.Times {
		return backend.Opened(backend.Timed(r, at, func(offset int64) time.Time { return p.writtenAt(id, offset) }), at), nil
	}
	return backend.Opened(r, at), nil
}

// stamp says when the output from an offset on was written.
type stamp struct {
	at     time.Time
	offset int64
}

// since is where the output written from then on begins.
func (p *Backend) since(id core.TaskID, then time.Time) int64 {
	for _, s := range p.stamps[id] {
		if !s.at.Before(then) {
			return s.offset
		}
	}
	return int64(len(p.logs[id]))
}

// writtenAt is when the byte at an offset was written.
func (p *Backend) writtenAt(id core.TaskID, offset int64) (when time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.stamps[id] {
		if s.offset <= offset {
			when = s.at
		}
	}
	return when
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
	p      *Backend
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

// DeleteLogs implements backend.Backend.
func (p *Backend) DeleteLogs(ctx context.Context, id core.WorkloadID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	_, unlock := p.lock()
	defer unlock()
	for k := range p.logs {
		if k.Workload == id {
			delete(p.logs, k)
			delete(p.stamps, k)
		}
	}
	p.wake()
	return nil
}
