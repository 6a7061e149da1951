// Package notify sends what the control plane has written down for those who
// asked to be told of their workloads: as CloudEvents to webhooks, to Slack, and
// as mail.
//
// What is to be sent waits in an outbox, written in the same commit as what
// happened. The sender takes it from there, and writes there what became of
// each try; after a crash it goes on where the outbox is. A receiver may hear
// something twice, always with the same id.
package notify

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/core"
)

// Outbox is where deliveries wait.
type Outbox interface {
	// Due returns what waits for a try until now: of each target that is not among
	// without what is due for the longest time, of these the longest due first.
	Due(ctx context.Context, now time.Time, without []string, limit int) ([]core.Delivery, error)
	// Next is when the first try after a time is due; zero: none is.
	Next(ctx context.Context, after time.Time) (time.Time, error)
	// Tried records what became of tries.
	Tried(ctx context.Context, ds []core.Delivery) error
	// Secret returns a user's secret, sealed.
	Secret(ctx context.Context, id core.SecretID) (core.Secret, error)
}

// Config is what a Sender needs.
type Config struct {
	Outbox Outbox
	Log    *slog.Logger
	Clock  func() time.Time
	// Open returns the value of a secret of type env or mounted.
	Open func(core.Secret) (string, error)
	// Mail is how mail is sent; without a server none is.
	Mail Mail
	// Woken says that there is something new to send; capacity one.
	Woken <-chan struct{}
	// Source names this server in events, as a URI or a part of one.
	Source string
	// Pauses are the waits after a first failed try, a second …; one more and a
	// delivery is given up. nil: DefaultPauses.
	Pauses []time.Duration
	// Timeout bounds one try; 0: 15 seconds.
	Timeout time.Duration
	// Carry takes requests to addresses that users have named, as the given transport
	// would, and refuses where they must not lead; nil: that transport alone.
	Carry func(base *http.Transport, within time.Duration) http.RoundTripper
	// Rest is the wait where the outbox itself does not answer; 0: 5 seconds.
	Rest time.Duration
}

// DefaultPauses spread the tries of a delivery over a day and a half, as the
// guidance for standard webhooks has it.
func DefaultPauses() []time.Duration {
	return []time.Duration{30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour, 4 * time.Hour, 8 * time.Hour, 24 * time.Hour}
}

const (
	// atOnce is how many receivers are spoken to at the same time, each in
	// order: one that hangs holds up nobody else.
	atOnce = 8
	// failingAtOnce is how many of these may be receivers that failed to take
	// what came before: many that hang hold up nobody who answers.
	failingAtOnce = 4
	// failingMost is how many of those that failed are remembered.
	failingMost = 1000
)

// Sender sends. Make one with New.
type Sender struct {
	c    Config
	http *http.Client
	done chan outcome

	busy    map[string]bool // targets that are spoken to; true: that failed before
	failing map[string]bool // targets whose last try failed
}

// outcome is that a target is free again, and whether it took what was sent.
type outcome struct {
	target string
	failed bool
}

// New returns a sender; Run makes it work.
func New(c Config) *Sender {
	if c.Pauses == nil {
		c.Pauses = DefaultPauses()
	}
	if c.Timeout == 0 {
		c.Timeout = 15 * time.Second
	}
	if c.Rest == 0 {
		c.Rest = 5 * time.Second
	}
	client := Client(c.Timeout)
	if c.Carry != nil {
		client.Transport = c.Carry(client.Transport.(*http.Transport), c.Timeout)
	}
	return &Sender{c: c, http: client, done: make(chan outcome, atOnce), busy: map[string]bool{}, failing: map[string]bool{}}
}

// Run sends until ctx is done. What is under way then is tried again by the
// next Run.
func (s *Sender) Run(ctx context.Context) {
	var trying sync.WaitGroup
	defer trying.Wait()
	for ctx.Err() == nil {
		now := s.c.Clock()
		next, err := s.round(ctx, now, &trying)
		if err != nil && ctx.Err() == nil {
			s.c.Log.Warn("notifications cannot be read; looking again", "err", err)
			next = now.Add(s.c.Rest)
		}
		timer := time.NewTimer(time.Hour) // there is nothing to wait for: any time will do
		if !next.IsZero() {
			timer.Reset(max(next.Sub(now), time.Millisecond))
		}
		select {
		case <-ctx.Done():
		case <-s.c.Woken:
		case o := <-s.done:
			s.freed(o)
		case <-timer.C:
		}
		timer.Stop()
	}
}

// round begins what is due, one delivery for each receiver that is free, and
// returns when to look again by the clock.
func (s *Sender) round(ctx context.Context, now time.Time, trying *sync.WaitGroup) (time.Time, error) {
	failing := 0
	for _, before := range s.busy {
		if before {
			failing++
		}
	}
	for more := true; more && len(s.busy) < atOnce; {
		without := slices.Collect(maps.Keys(s.busy))
		if failing >= failingAtOnce {
			without = slices.AppendSeq(without, maps.Keys(s.failing))
		}
		due, err := s.c.Outbox.Due(ctx, now, without, atOnce-len(s.busy))
		if err != nil {
			return time.Time{}, err
		}
		more = false
		for _, d := range due {
			target := d.Target()
			before := s.failing[target]
			if before && failing >= failingAtOnce {
				more = true // behind it may be others, who have not failed
				continue
			}
			if before {
				failing++
			}
			s.busy[target] = before
			trying.Go(func() {
				s.done <- outcome{target, s.try(ctx, d)} // never full: there are no more than its capacity
			})
		}
	}
	return s.c.Outbox.Next(ctx, now)
}

// freed lets a target hear more, and remembers how it did.
func (s *Sender) freed(o outcome) {
	delete(s.busy, o.target)
	delete(s.failing, o.target)
	if !o.failed {
		return
	}
	for other := range s.failing { // any of them: it is met again
		if len(s.failing) < failingMost {
			break
		}
		delete(s.failing, other)
	}
	s.failing[o.target] = true
}

// fatal is a problem that another try does not solve.
type fatal struct{ error }

// try sends one delivery and records what became of it. It reports whether its
// receiver did not answer as it should: what another try does not solve lies in
// the message, not in who is to hear it.
func (s *Sender) try(ctx context.Context, d core.Delivery) (failed bool) {
	tctx, cancel := context.WithTimeout(ctx, s.c.Timeout)
	err := s.send(tctx, &d)
	cancel()
	if ctx.Err() != nil {
		return false // whoever goes on tries it anew
	}
	now := s.c.Clock()
	d.Tries, d.LastAt, d.NextAt, d.Problem = d.Tries+1, now, time.Time{}, ""
	var f fatal
	failed = err != nil && !errors.As(err, &f)
	switch {
	case err == nil:
		d.State = core.DeliveryDelivered
	case errors.As(err, &f) || d.Tries > len(s.c.Pauses):
		d.State, d.Problem = core.DeliveryFailed, err.Error()
		s.c.Log.Warn("a notification is given up", "id", d.ID, "user", d.User, "tries", d.Tries)
	default:
		d.NextAt, d.Problem = now.Add(s.c.Pauses[d.Tries-1]), err.Error()
	}
	for {
		err := s.c.Outbox.Tried(ctx, []core.Delivery{d})
		if err == nil || ctx.Err() != nil {
			return failed
		}
		// Its receiver is held until this is written: what was delivered would
		// otherwise be sent again and again.
		s.c.Log.Warn("what became of a notification could not be stored; trying again", "id", d.ID, "err", err)
		select {
		case <-ctx.Done():
			return failed
		case <-time.After(s.c.Rest):
		}
	}
}

func (s *Sender) send(ctx context.Context, d *core.Delivery) error {
	switch {
	case d.To.Webhook != "":
		return s.webhook(ctx, d)
	case d.To.Slack != "":
		return s.slack(ctx, d)
	}
	return s.c.Mail.send(ctx, d)
}

// value opens a secret of the delivery's user. What goes wrong tells nothing
// of its value.
func (s *Sender) value(ctx context.Context, d *core.Delivery, name string) (string, error) {
	sealed, err := s.c.Outbox.Secret(ctx, core.SecretID{User: d.User, Name: name})
	if err != nil {
		return "", err
	}
	text, err := s.c.Open(sealed)
	if err != nil {
		return "", fatal{errors.New("the secret " + name + " cannot be opened")}
	}
	return text, nil
}
