//go:build linux

package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
)

// hand is one user: it submits, stops and deletes, one request after another.
type hand struct {
	w    *World
	r    *rand.Rand
	make *maker
	name string

	mine    []*Entry // that it may still stop or delete
	unsure  []*Entry // sent, and not answered
	pause   time.Duration
	counter int
}

// most is how many workloads of one user live at once, about.
const most = 12

// work goes on until ctx is done.
func (h *hand) work(ctx context.Context) {
	for ctx.Err() == nil {
		switch n := h.r.IntN(100); {
		case len(h.unsure) > 0 && n < 40:
			h.again(ctx)
		case n < 60 && len(h.mine) < most:
			h.submit(ctx)
		case n < 75:
			h.stop(ctx)
		case n < 85:
			h.remove(ctx)
		default:
			h.look(ctx)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(h.r.Int64N(int64(h.pause)))):
		}
	}
}

// finish gets an answer for what has none: it is there once, however often it
// was sent.
func (h *hand) finish(ctx context.Context) {
	for begun := time.Now(); len(h.unsure) > 0 && time.Since(begun) < within; time.Sleep(10 * time.Millisecond) {
		h.again(ctx)
	}
}

func (h *hand) submit(ctx context.Context) {
	h.counter++
	e := h.make.next(fmt.Sprintf("%s-%d", h.name, h.counter))
	h.w.ledger.note(e, func(e *Entry) { e.Asked = here() })
	h.send(ctx, e)
}

// again repeats a submission that was not answered, or gives it up.
func (h *hand) again(ctx context.Context) {
	e := h.unsure[0]
	h.unsure = h.unsure[1:]
	if ctx.Err() == nil && h.r.IntN(5) == 0 {
		h.w.ledger.note(e, func(e *Entry) { e.Abandoned = true })
		return
	}
	h.send(ctx, e)
}

func (h *hand) send(ctx context.Context, e *Entry) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	out, err := h.w.host.conn.Submit(ctx, e.Document, client.SubmitOptions{Key: e.Key})
	switch {
	case err == nil:
		h.w.ledger.note(e, func(e *Entry) { at := here(); e.ID, e.Acked = out.ID, &at })
		h.mine = append(h.mine, e)
	case passing(err):
		h.unsure = append(h.unsure, e)
	default:
		h.w.found(Violation{Kind: Refused, Who: e.Name, Detail: err.Error()})
	}
}

// passing says that an error is of a server that is gone or cannot write, and
// that it goes away with that.
func passing(err error) bool {
	var p *api.Problem
	return !errors.As(err, &p) || p.Code == client.CodeUnreachable || p.Status >= 500
}

// pick takes one of its workloads, sooner a young one.
func (h *hand) pick() *Entry {
	if len(h.mine) == 0 {
		return nil
	}
	return h.mine[max(h.r.IntN(len(h.mine)), h.r.IntN(len(h.mine)))]
}

func (h *hand) stop(ctx context.Context) {
	e := h.pick()
	if e == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	h.w.ledger.note(e, func(e *Entry) { first(&e.Stop) })
	out, err := h.w.host.conn.Stop(ctx, client.AllProjects, e.ID, api.StopOptions{})
	switch {
	case err == nil:
		h.w.ledger.note(e, func(e *Entry) {
			if e.Stopped == nil {
				e.StopPhase, e.StopTarget = out.Phase, out.Target
			}
			first(&e.Stopped)
		})
		if h.r.IntN(3) > 0 {
			h.drop(e)
		}
	case moot(err):
		h.drop(e)
	case !passing(err):
		h.w.found(Violation{Kind: Refused, Who: e.Name, Detail: "stop: " + err.Error()})
	}
}

func (h *hand) remove(ctx context.Context) {
	e := h.pick()
	if e == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	h.w.ledger.note(e, func(e *Entry) { first(&e.Delete) })
	_, err := h.w.host.conn.Delete(ctx, client.AllProjects, e.ID)
	switch {
	case err == nil:
		h.w.ledger.note(e, func(e *Entry) { first(&e.Deleted) })
		h.drop(e)
	case moot(err): // an earlier one that was not answered has come through
		h.drop(e)
	case !passing(err):
		h.w.found(Violation{Kind: Refused, Who: e.Name, Detail: "delete: " + err.Error()})
	}
}

// moot says that the workload had ended before, or was gone.
func moot(err error) bool {
	var p *api.Problem
	return errors.As(err, &p) && (p.Code == "illegal_phase" || p.Code == "not_found" || p.Status == 409)
}

// look asks for one of its workloads, and lets go of what has ended, some of it
// after a while only so that it may be deleted.
func (h *hand) look(ctx context.Context) {
	e := h.pick()
	if e == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	out, err := h.w.host.conn.Workload(ctx, client.AllProjects, e.ID)
	switch {
	case err == nil && out.EndedAt != nil && h.r.IntN(4) > 0:
		h.drop(e)
	case err != nil && !passing(err) && e.Delete == nil:
		h.w.found(Violation{Kind: Missing, Who: e.Name, Detail: "asked for while all went on: " + err.Error()})
	}
}

func (h *hand) drop(e *Entry) {
	for i, x := range h.mine {
		if x == e {
			h.mine = append(h.mine[:i], h.mine[i+1:]...)
			return
		}
	}
}

func first(to **Instant) {
	if *to == nil {
		at := here()
		*to = &at
	}
}
