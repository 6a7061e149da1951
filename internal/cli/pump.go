package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
)

// pumpsAtOnce bounds the streams that are open together; an array may have
// more tasks than that.
const pumpsAtOnce = 256

// pumps bring the output of tasks to the screen, one each. The methods are for
// one goroutine.
type pumps struct {
	f     *follower
	ctx   context.Context
	stop  context.CancelFunc
	slots chan struct{}
	wg    sync.WaitGroup
	all   map[taskKey]*pump
	tail  *int
}

// taskKey is a task of an attempt.
type taskKey struct{ attempt, index int }

func newPumps(ctx context.Context, f *follower) *pumps {
	ctx, stop := context.WithCancel(ctx)
	old := map[taskKey]*pump{}
	if f.pumps != nil { // following goes on after an interrupt: from where it was
		old = f.pumps.all
		for _, p := range old {
			p.again = true
		}
	}
	return &pumps{f: f, ctx: ctx, stop: stop, slots: make(chan struct{}, pumpsAtOnce), all: old, tail: f.tail}
}

func (ps *pumps) close() {
	ps.stop()
	ps.wg.Wait()
}

// update starts a pump for each task of the attempt that has begun, and tells
// those of ended tasks that nothing more will come.
func (ps *pumps) update(w *api.Workload, attempt int) {
	for _, a := range w.Attempts {
		if a.Index != attempt {
			continue
		}
		for _, t := range a.Tasks {
			if ps.f.task != nil && t.Index != *ps.f.task {
				continue
			}
			over := t.State == "succeeded" || t.State == "failed" || t.State == "lost"
			if !over && t.StartedAt == nil && t.State != "running" {
				continue
			}
			ps.one(w, attempt, t, over)
		}
	}
}

func (ps *pumps) one(w *api.Workload, attempt int, t api.Task, over bool) {
	at := taskKey{attempt, t.Index}
	p := ps.all[at]
	if p == nil {
		p = &pump{f: ps.f, project: w.Project, id: w.ID, at: at, again: true, over: make(chan struct{}), finished: make(chan struct{})}
		if w.Tasks.Total > 1 && ps.f.task == nil {
			p.prefix = []byte(fmt.Sprintf("[%s %d] ", t.Role, t.Index))
		}
		ps.all[at] = p
	}
	if over && !closed(p.over) {
		close(p.over)
	}
	if p.again && !closed(p.finished) {
		p.again = false
		ps.wg.Go(func() {
			select {
			case ps.slots <- struct{}{}:
				defer func() { <-ps.slots }()
				p.run(ps.ctx, ps.tail)
			case <-ps.ctx.Done():
			}
		})
	}
}

// drain waits until all that runs has been shown. Its tasks have ended, so
// their output does.
func (ps *pumps) drain(ctx context.Context) error {
	for _, p := range ps.all {
		if !closed(p.over) {
			close(p.over)
		}
	}
	ps.wg.Wait()
	ps.tail = nil // the next attempt is shown from its beginning
	return ctx.Err()
}

// pump brings the output of one task to the screen.
type pump struct {
	f           *follower
	project, id string
	at          taskKey
	prefix      []byte
	offset      int64         // bytes shown
	cut         bool          // it began with the last lines: offset counts from there
	over        chan struct{} // closed once the task is known to have ended
	finished    chan struct{} // closed once all is shown
	again       bool          // not running now
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// run shows the output until the task has ended, over lost connections and
// restarts of the server.
func (p *pump) run(ctx context.Context, tail *int) {
	const shortest = 20 * time.Millisecond
	pause := shortest
	for ctx.Err() == nil && p.f.screen.failure() == nil {
		// Asked before: what is written until the end is in what follows.
		over, before := closed(p.over), p.offset
		body, err := p.f.c.Logs(ctx, p.project, p.id, p.options(tail))
		if err == nil {
			err = p.copy(body)
			body.Close()
		} else if refusedForGood(err) {
			err = nil // it has not written yet, or never did
		}
		if err == nil && (over || p.cut && p.ends(ctx)) {
			close(p.finished)
			return
		}
		if p.offset > before {
			pause = shortest
		}
		select {
		case <-time.After(pause):
		case <-p.over: // at once when it has just ended; after failures patiently
			if err != nil {
				time.Sleep(pause)
			}
		case <-ctx.Done():
		}
		pause = min(pause*2, 2*time.Second)
	}
}

// ends reports whether a stream that began with the last lines and came to its
// end did so because the task had ended. A server that goes away ends it, too,
// and the place to resume at is not known: better to wait a moment.
func (p *pump) ends(ctx context.Context) bool {
	select {
	case <-p.over:
		return true
	case <-ctx.Done():
	case <-time.After(3 * time.Second):
	}
	return false
}

// options ask for what has not been shown.
func (p *pump) options(tail *int) client.LogOptions {
	o := client.LogOptions{Attempt: &p.at.attempt, Task: p.at.index, Follow: true}
	none := 0
	switch {
	case p.offset == 0 && !p.cut:
		o.Tail, p.cut = tail, tail != nil
	case p.cut: // the beginning is not known, so neither is the place
		p.f.screen.say("the connection was lost; lines may be missing here")
		o.Tail = &none
	default:
		o.Offset = p.offset
	}
	return o
}

// refusedForGood reports whether the server answered that there is nothing.
func refusedForGood(err error) bool {
	var p *api.Problem
	return errors.As(err, &p) && p.Status >= 400 && p.Status < 500
}

// copy shows a stream. Without a prefix bytes go through as they come, so that
// progress bars move; with one, by whole lines.
func (p *pump) copy(body io.Reader) error {
	if p.prefix == nil {
		buf := make([]byte, 32<<10)
		for {
			n, err := body.Read(buf)
			if werr := p.f.screen.output(buf[:n]); werr != nil {
				return werr
			}
			p.offset += int64(n)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
		}
	}
	r := bufio.NewReaderSize(body, 64<<10)
	for {
		line, err := r.ReadSlice('\n')
		if len(line) > 0 && (err == nil || errors.Is(err, bufio.ErrBufferFull) || errors.Is(err, io.EOF)) {
			n := int64(len(line))
			text := append(bytes.Clone(p.prefix), line...)
			if text[len(text)-1] != '\n' {
				text = append(text, '\n')
			}
			if werr := p.f.screen.output(text); werr != nil {
				return werr
			}
			p.offset += n
		}
		switch {
		case err == nil, errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return nil
		default:
			return err
		}
	}
}
