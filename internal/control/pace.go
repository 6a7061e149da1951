package control

import (
	"context"
	"log/slog"
	"time"
)

const (
	paceFirst = 500 * time.Millisecond // pause before what failed is tried again
	paceMost  = 5 * time.Second        // pauses grow up to this
	paceSays  = time.Minute            // what fails again and again is logged so often
)

// pace spreads the tries of what fails, so that what is down is not stormed and
// the log not filled. Of one goroutine.
type pace struct {
	wait   time.Duration
	warned time.Time
	unsaid int // failures since the last that was logged
}

// failed logs now and then, and waits before the next try; less where early
// says that it may help now.
func (p *pace) failed(ctx context.Context, log *slog.Logger, what string, err error, early <-chan struct{}) {
	now := time.Now()
	p.unsaid++
	if p.warned.IsZero() || now.Sub(p.warned) >= paceSays {
		log.Warn(what, "err", err, "times", p.unsaid)
		p.warned, p.unsaid = now, 0
	}
	p.wait = min(max(2*p.wait, paceFirst), paceMost)
	timer := time.NewTimer(p.wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-early:
	}
}

// over says that it went well: the next failure begins anew. What was logged
// within the last minute is not logged again.
func (p *pace) over() { p.wait = 0 }
