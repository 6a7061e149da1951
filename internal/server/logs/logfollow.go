package logs

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
)

const (
	// mergeHold is how long lines are held back while several outputs are
	// followed: of what is written later than that the order is known.
	mergeHold = 200 * time.Millisecond
	// lateEvery is how often it is looked for tasks that have come since.
	lateEvery = 500 * time.Millisecond
	// cursorMost is of how many outputs a cursor says where they are.
	cursorMost = 1000
)

// followed is a line of one output; without one it has ended.
type followed struct {
	rank *rank
	line *api.LogLine
	next int64
}

// following is one who follows several outputs.
type following struct {
	s       *routes
	w       core.WorkloadID
	attempt int
	tasks   string
	rw      http.ResponseWriter
	flush   *http.ResponseController
	lines   chan followed

	ranks   []*rank // that are or were followed, the newest ones
	known   map[core.TaskID]*rank
	open    int
	held    []api.LogLine
	past    int   // tasks of indexes below it will have nothing more to say
	version int64 // of the workload, when its tasks were last looked at
	look    bool  // at the tasks, even though they did not change
}

func (f *following) run(ctx context.Context, ranks []*rank) error {
	if err := f.flush.Flush(); err != nil {
		return err
	}
	if err := f.add(ctx, ranks); err != nil {
		return err
	}
	show, late := time.NewTicker(mergeHold), time.NewTicker(lateEvery)
	defer show.Stop()
	defer late.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case l := <-f.lines:
			if l.line == nil {
				// Its task may go on, started again in place, or its backend has
				// broken the output off.
				l.rank.done, f.look = true, true
				f.open--
				continue
			}
			l.rank.at = l.next
			f.held = append(f.held, *l.line)
		case <-show.C:
			if err := f.send(false); err != nil {
				return err
			}
		case <-late.C:
			w, err := f.s.Store.Workload(ctx, f.w)
			if err != nil {
				return err
			}
			over := w.Attempt > f.attempt || !w.EndedAt.IsZero()
			if err := f.later(ctx, w, over); err != nil {
				return err
			}
			if f.open == 0 && len(f.lines) == 0 && over {
				return f.send(true)
			}
		}
	}
}

// later follows tasks that have begun since, and those again whose output ended
// before they did. over says that nothing will begin any more.
func (f *following) later(ctx context.Context, w *core.Workload, over bool) error {
	if w.Version == f.version && !f.look {
		return nil
	}
	tasks, err := f.s.begun(ctx, w, f.attempt, f.tasks, f.past, 0)
	if err != nil {
		return err
	}
	first := f.version == 0
	if w.Spec.Array != nil && !first {
		tasks = f.pass(tasks)
	}
	f.version, f.look = w.Version, false
	var next []*rank
	for i := range tasks {
		t := &tasks[i]
		have, known := f.known[t.ID]
		switch {
		case !known && first && t.State.Ended() && i >= mergedMost: // it was left out when the following began, and has ended
			f.known[t.ID] = nil
			continue
		case known && (have == nil || !have.done), known && (over || t.State.Ended()) && t.Restarts == have.restarts:
			continue
		case f.open+len(next) >= mergedMost:
			f.look = true
			return f.add(ctx, next)
		case !known:
			have = &rank{id: t.ID}
		}
		have.restarts = t.Restarts
		next = append(next, have)
	}
	return f.add(ctx, next)
}

// pass moves on what is looked at of an array over tasks that have ended and were
// read to their ends: each has its index for itself, and they are placed in order.
// It returns the others.
func (f *following) pass(tasks []core.Task) []core.Task {
	for i := range tasks {
		t := &tasks[i]
		have, known := f.known[t.ID]
		if t.ID.Index != f.past || !known || !t.State.Ended() || have != nil && (!have.done || t.Restarts != have.restarts) {
			return tasks[i:]
		}
		delete(f.known, t.ID)
		f.past++
	}
	return nil
}

// add begins to follow outputs.
func (f *following) add(ctx context.Context, ranks []*rank) error {
	there, err := each(ranks, func(r *rank) error { return f.s.read(ctx, r, true) })
	if err != nil {
		return err
	}
	f.look = f.look || len(there) < len(ranks) // what has no output yet
	f.open += len(there)
	for _, r := range there {
		if _, known := f.known[r.id]; !known {
			f.known[r.id], f.ranks = r, append(f.ranks, r)
		}
		r.done = false
		body, from := r.body, r.r
		stop := context.AfterFunc(ctx, func() { body.Close() })
		reader := &rank{id: r.id, r: from, at: r.at, ended: true} // what its end leaves is a line
		go func() {
			defer stop()
			defer body.Close()
			for reader.next() {
				line := reader.line
				reader.at += reader.size
				select {
				case f.lines <- followed{r, &line, reader.at}:
				case <-ctx.Done():
					return
				}
			}
			select {
			case f.lines <- followed{rank: r}:
			case <-ctx.Done():
			}
		}()
	}
	if n := len(f.ranks) - cursorMost; n > 0 { // a cursor must fit in an address
		f.ranks = f.ranks[n:]
	}
	return nil
}

// send shows what was held back, in the order of time.
func (f *following) send(ended bool) error {
	if len(f.held) == 0 && !ended {
		return nil
	}
	slices.SortStableFunc(f.held, sooner)
	p := api.LogPage{Lines: f.held, After: cursor(f.ranks), Ended: ended}
	if p.Lines == nil {
		p.Lines = []api.LogLine{}
	}
	f.held = nil
	if err := json.NewEncoder(f.rw).Encode(p); err != nil {
		return err
	}
	if err := f.flush.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}
