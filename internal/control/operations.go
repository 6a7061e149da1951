package control

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/submission"
)

// Hands does operations. Every method may take long and ends with ctx.
type Hands interface {
	// Ask puts the question of a check.
	Ask(ctx context.Context, w *core.Workload, c core.CheckState) (submission.Answer, error)
	// Build makes the image of w.Spec.Build and returns its name, by digest.
	Build(ctx context.Context, w *core.Workload) (string, error)
	// Publish makes an artifact of w's results and, where it is to be served,
	// the document of the workload that does.
	Publish(ctx context.Context, w *core.Workload) (core.Published, *spec.Document, error)
	// Follow waits until the service of w's published model runs.
	Follow(ctx context.Context, w *core.Workload) error
	// Clean removes what was made for a workload on this machine: the log of its
	// build, and the model that it wrote. What is published stays.
	Clean(ctx context.Context, id core.WorkloadID) error
}

// operations runs what the engine has asked for, each in a goroutine of its own.
type operations struct {
	hands Hands
	log   *slog.Logger
	do    func(context.Context, draft.Work) error

	ctx     context.Context // of Run, which sets it before anything begins
	mu      sync.Mutex
	wg      sync.WaitGroup
	cancels map[core.WorkloadID][]context.CancelFunc
}

// begin starts an operation.
func (c *operations) begin(ch draft.Operation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx == nil || c.ctx.Err() != nil {
		return // the next server resumes it
	}
	ctx, cancel := context.WithCancel(c.ctx)
	id := ch.Workload.ID
	c.cancels[id] = append(c.cancels[id], cancel)
	c.wg.Go(func() {
		defer cancel()
		if result := c.result(ctx, ch); result != nil && ctx.Err() == nil {
			c.report(result)
		}
	})
}

// Ask puts a question to a check now, for somebody who tries it: nothing follows from
// the answer.
func (c *Control) Ask(ctx context.Context, w *core.Workload, check core.CheckState) (a submission.Answer, err error) {
	o := c.operations
	err = guarded(o.log, func() (err error) {
		within, cancel := context.WithTimeout(ctx, check.Timeout)
		defer cancel()
		a, err = o.hands.Ask(within, w, check)
		return err
	})
	return a, err
}

// report hands a result to the engine, which keeps what it cannot store for the
// next try.
func (c *operations) report(result draft.Work) {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 10*time.Second) {
		if err := c.do(c.ctx, result); err == nil || c.ctx.Err() != nil {
			return
		}
		select {
		case <-time.After(wait):
		case <-c.ctx.Done():
			return
		}
	}
}

// drop ends the operations of a workload; nothing of them is reported.
func (c *operations) drop(id core.WorkloadID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cancel := range c.cancels[id] {
		cancel()
	}
	delete(c.cancels, id)
}

func (c *operations) result(ctx context.Context, ch draft.Operation) draft.Work {
	w := ch.Workload
	switch ch.Kind {
	case draft.OperationAsk:
		var a submission.Answer
		err := guarded(c.log, func() (err error) {
			within, cancel := context.WithTimeout(ctx, ch.Check.Timeout)
			defer cancel()
			a, err = c.hands.Ask(within, w, ch.Check)
			return err
		})
		return submission.Answered(w.ID, w.Attempt, ch.Check.Name, a, err)
	case draft.OperationBuild:
		var image string
		err := guarded(c.log, func() (err error) { image, err = c.hands.Build(ctx, w); return err })
		return submission.Built(w.ID, w.Attempt, image, err)
	case draft.OperationPublish:
		var p core.Published
		var serve *spec.Document
		err := guarded(c.log, func() (err error) { p, serve, err = c.hands.Publish(ctx, w); return err })
		return submission.Published(w.ID, w.Attempt, p, serve, err)
	case draft.OperationFollow:
		return submission.Deployed(w.ID, w.Attempt, guarded(c.log, func() error { return c.hands.Follow(ctx, w) }))
	default:
		return nil
	}
}

// guarded makes a failure of an operation's panic: one workload's operation must not
// take the server with it.
func guarded(log *slog.Logger, fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("an operation panicked", "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("the server failed at it (%v); its log says more", p)
		}
	}()
	return fn()
}
