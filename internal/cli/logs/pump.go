package logs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
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
	wish  wish
}

// taskKey is a run of a task of an attempt.
type taskKey struct{ attempt, index, run int }

func newPumps(ctx context.Context, f *follower) *pumps {
	ctx, stop := context.WithCancel(ctx)
	old := map[taskKey]*pump{}
	if f.pumps != nil { // following goes on after an interrupt: from where it was
		old = f.pumps.all
		for _, p := range old {
			p.again = true
		}
	}
	return &pumps{f: f, ctx: ctx, stop: stop, slots: make(chan struct{}, pumpsAtOnce), all: old, wish: f.wish}
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
		for _, t := range slices.Concat(a.Former, a.Tasks) { // runs in their order
			if ps.f.tasks != nil && !slices.Contains(ps.f.tasks, t.Index) || ps.f.skipped[taskKey{attempt, t.Index, t.Run}] {
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
	at := taskKey{attempt, t.Index, t.Run}
	p := ps.all[at]
	if p == nil {
		p = &pump{f: ps.f, project: w.Project, id: w.ID, at: at, wish: ps.wish, again: true, over: make(chan struct{}), finished: make(chan struct{})}
		if n, before := ps.f.shown[at]; before {
			p.offset, p.begun = n, true
		}
		if w.Tasks.Total > 1 && len(ps.f.tasks) != 1 {
			p.prefix = prefixOf(ps.f.s, t.Role, taskRun{t.Index, t.Run})
		}
		if before := ps.all[taskKey{attempt, t.Index, t.Run - 1}]; before != nil {
			p.after = before.finished
		}
		ps.all[at] = p
	}
	if over && !closed(p.over) {
		close(p.over)
	}
	if p.again && !closed(p.finished) {
		p.again = false
		ps.wg.Go(func() {
			if p.after != nil {
				select {
				case <-p.after:
				case <-ps.ctx.Done():
					return
				}
			}
			select {
			case ps.slots <- struct{}{}:
				defer func() { <-ps.slots }()
				p.run(ps.ctx)
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
	ps.wish.tail, ps.wish.since = nil, time.Time{} // the next attempt is shown from its beginning
	return ctx.Err()
}

// pump brings the output of one task to the screen.
type pump struct {
	f           *follower
	project, id string
	at          taskKey
	prefix      []byte
	wish        wish
	offset      int64         // where the output that has not been shown begins
	begun       bool          // some was asked for and came
	lost        bool          // it began with the last lines of a server that did not say where they are
	after       chan struct{} // closed once all of the run before is shown; nil: there is none
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
func (p *pump) run(ctx context.Context) {
	const shortest = 20 * time.Millisecond
	pause := shortest
	for ctx.Err() == nil && p.f.Screen.Failure() == nil {
		// Asked before: what is written until the end is in what follows.
		over, before := closed(p.over), p.offset
		body, err := p.f.c.Logs(ctx, p.project, p.id, p.options())
		if err == nil {
			p.opened(body)
			err = p.copy(body, over)
			body.Close()
		} else if refusedForGood(err) {
			err = nil // it has not written yet, or never did
		}
		if err == nil && (over || p.lost && p.ends(ctx)) {
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

// ends reports whether a stream that began at an unknown place and came to its
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
func (p *pump) options() client.LogOptions {
	o := client.LogOptions{Attempt: &p.at.attempt, Task: p.at.index, Run: &p.at.run, Follow: true, Times: p.wish.times}
	none := 0
	switch {
	case !p.begun:
		o.Tail, o.Since = p.wish.tail, p.wish.since
	case p.lost:
		p.f.Screen.Say("the connection was lost; lines may be missing here")
		o.Tail = &none
	default:
		o.Offset = p.offset
	}
	return o
}

// opened notes where a stream begins.
func (p *pump) opened(body *client.Log) {
	first := !p.begun
	p.begun = true
	switch {
	case body.Offset >= 0:
		p.offset, p.lost = body.Offset, false
	case first:
		p.lost = p.wish.tail != nil || !p.wish.since.IsZero()
	}
}

// refusedForGood reports whether the server answered that there is nothing.
func refusedForGood(err error) bool {
	var p *api.Problem
	return errors.As(err, &p) && p.Status >= 400 && p.Status < 500
}

// copy shows a stream. Without anything in front of lines bytes go through as
// they come, so that progress bars move; else by whole lines. over says that
// the output is complete: else what does not end its line may go on, after a
// server that goes away has ended the stream.
func (p *pump) copy(body io.Reader, over bool) error {
	if p.prefix != nil || p.wish.times {
		return p.copyLines(body, over)
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := body.Read(buf)
		if werr := p.f.Screen.Output(buf[:n]); werr != nil {
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

func (p *pump) copyLines(body io.Reader, over bool) error {
	r := bufio.NewReaderSize(body, 64<<10)
	begin := true
	for {
		line, err := r.ReadSlice('\n')
		if len(line) > 0 && (err == nil || errors.Is(err, bufio.ErrBufferFull) || errors.Is(err, io.EOF) && over) {
			n := len(line)
			if p.wish.times && begin { // the time is not part of the output
				n -= min(n, api.LogTimeWidth)
			}
			text := append(bytes.Clone(p.prefix), line...)
			if begin = text[len(text)-1] == '\n'; !begin {
				text = append(text, '\n')
			}
			if werr := p.f.Screen.Output(text); werr != nil {
				return werr
			}
			p.offset += int64(n)
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
