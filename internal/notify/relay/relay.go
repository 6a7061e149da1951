// Package relay hands the audit log on as it is written: to syslog, and to webhooks.
//
// Each receiver is sent to by itself, in order, from where it was; one that does not
// answer keeps back nobody else, and never who writes the log. How far a receiver is
// stands in a file, so that a restart goes on there: it may hear an entry twice, always
// with the same number.
package relay

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/audit"
)

// Log is the audit log.
type Log interface {
	// Entries are those after a number, the oldest first.
	Entries(ctx context.Context, after int64, limit int) ([]core.AuditEntry, error)
	// Head is the last of them.
	Head(ctx context.Context) (audit.Head, error)
}

// Receiver is where entries go.
type Receiver interface {
	// Name is what messages and metrics call it, without secrets.
	Name() string
	// Send hands entries over, and returns how many of them it has, from the first on.
	Send(ctx context.Context, all []core.AuditEntry) (int, error)
	// Close lets go of its connection.
	Close()
}

// Config is what a Relay needs.
type Config struct {
	Log       Log
	Receivers []Receiver
	Dir       string // in which it keeps how far each receiver is
	Slog      *slog.Logger
	// Timeout bounds one try; 0: 15 seconds.
	Timeout time.Duration
	// Pause is the wait after so many failed tries in a row; nil: audit.Pause.
	Pause func(failed int) time.Duration
	// Idle is after which the log is looked at although nobody rang; 0: a minute.
	Idle time.Duration
}

// batch is how many entries are read, and sent, at a time.
const batch = 100

// Relay hands the audit log on. Make one with New.
type Relay struct {
	c       Config
	outlets []*outlet
}

// outlet is what leads to one receiver.
type outlet struct {
	to    Receiver
	woken chan struct{}

	mu       sync.Mutex
	at       audit.Head // the last entry that it has
	failed   int        // tries in a row
	failures int        // tries, since the server began
	sent     int64      // entries, since then
}

// New returns a relay; Run makes it work. What it keeps of former runs is read.
func New(c Config) *Relay {
	if c.Timeout == 0 {
		c.Timeout = 15 * time.Second
	}
	if c.Pause == nil {
		c.Pause = audit.Pause
	}
	if c.Idle == 0 {
		c.Idle = time.Minute
	}
	r := &Relay{c: c}
	for _, to := range c.Receivers {
		r.outlets = append(r.outlets, &outlet{to: to, woken: make(chan struct{}, 1)})
	}
	return r
}

// Ring says that there are more entries; it never waits.
func (r *Relay) Ring() {
	for _, l := range r.outlets {
		select {
		case l.woken <- struct{}{}:
		default:
		}
	}
}

// Run hands on until ctx is done.
func (r *Relay) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, l := range r.outlets {
		all.Go(func() {
			defer l.to.Close()
			r.follow(ctx, l)
		})
	}
	all.Wait()
}

// follow hands the log on to one receiver.
func (r *Relay) follow(ctx context.Context, l *outlet) {
	began := false
	for ctx.Err() == nil {
		var more bool
		err := error(nil)
		if !began {
			err = r.begin(ctx, l)
			began = err == nil
		}
		if began {
			more, err = r.step(ctx, l)
		}
		if ctx.Err() != nil {
			return
		}
		wait, woken := r.c.Idle, l.woken
		if err != nil {
			wait, woken = r.c.Pause(r.failed(l, err)), nil // being rung does not mend it
		} else {
			r.mended(l)
		}
		if more {
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-woken:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// begin finds where a receiver was. Where the log is not the one that it was sent, since
// the data directory was restored, it hears all of it.
func (r *Relay) begin(ctx context.Context, l *outlet) error {
	at, err := readPlace(r.c.Dir, l.to.Name())
	if err != nil {
		r.c.Slog.Warn("how far the audit log was handed on cannot be read: it is sent from its beginning", "to", l.to.Name(), "err", err)
	}
	if at.Seq > 0 {
		found, err := r.c.Log.Entries(ctx, at.Seq-1, 1)
		if err != nil {
			return fmt.Errorf("read the audit log: %w", err)
		}
		if len(found) == 0 || found[0].Seq != at.Seq || found[0].Hash != at.Hash {
			r.c.Slog.Warn("the audit log is not the one that was handed on before: it is sent from its beginning", "to", l.to.Name(), "entry", at.Seq)
			at = audit.Head{}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at = at
	return nil
}

// step sends what comes next, if anything does, and reports whether there may be more.
func (r *Relay) step(ctx context.Context, l *outlet) (more bool, err error) {
	some, err := r.c.Log.Entries(ctx, l.place().Seq, batch)
	if err != nil {
		return false, fmt.Errorf("read the audit log: %w", err)
	}
	if len(some) == 0 {
		return false, nil
	}
	tctx, cancel := context.WithTimeout(ctx, r.c.Timeout)
	n, err := l.to.Send(tctx, some)
	cancel()
	if n > 0 {
		at := audit.Head{Seq: some[n-1].Seq, Hash: some[n-1].Hash}
		l.mu.Lock()
		l.at = at
		l.sent += int64(n)
		l.mu.Unlock()
		if kept := writePlace(r.c.Dir, l.to.Name(), at); kept != nil { // a restart would send it again
			r.c.Slog.Warn("how far the audit log was handed on cannot be kept", "to", l.to.Name(), "err", kept)
		}
	}
	return err == nil && (n < len(some) || len(some) == batch), err
}

func (l *outlet) place() audit.Head {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.at
}

// failed counts a failure, and says the first of them in a row.
func (r *Relay) failed(l *outlet, err error) int {
	l.mu.Lock()
	l.failed++
	l.failures++
	n, at := l.failed, l.at
	l.mu.Unlock()
	if n == 1 {
		r.c.Slog.Warn("the audit log is not handed on at present; it is tried again, and nothing is left out", "to", l.to.Name(), "after entry", at.Seq, "err", err)
	}
	return n
}

// mended says that what failed goes on.
func (r *Relay) mended(l *outlet) {
	l.mu.Lock()
	n := l.failed
	l.failed = 0
	l.mu.Unlock()
	if n > 0 {
		r.c.Slog.Info("the audit log is handed on again", "to", l.to.Name(), "failed tries", n)
	}
}
