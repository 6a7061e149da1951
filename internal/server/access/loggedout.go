package access

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/wholefile"
)

// endedMost bounds how many sessions that were ended are remembered one by one.
const endedMost = 10_000

// loggedOut are the sessions that were ended before their time. They are kept in
// a file: their cookies are signed, and would be good again after a restart.
type loggedOut struct {
	path  string // empty: in memory only
	log   *slog.Logger
	clock func() time.Time

	mu   sync.Mutex
	kept struct {
		// Ended has the nonces of sessions, and until when they would have been
		// good, in Unix seconds.
		Ended map[string]int64 `json:"ended"`
		// Before ends all sessions that are good until then or shorter: there
		// is no room to name them.
		Before int64 `json:"before,omitempty"`
	}
	live map[string]map[*visit]context.CancelFunc // requests by the nonces of their sessions
}

// newLoggedOut reads what is kept at path. What cannot be read ends all sessions
// that there are: somebody may have ended them.
func newLoggedOut(path string, log *slog.Logger, clock func() time.Time) *loggedOut {
	l := &loggedOut{path: path, log: log, clock: clock, live: map[string]map[*visit]context.CancelFunc{}}
	if err := wholefile.ReadJSON(path, &l.kept); err != nil {
		log.Error("which browsers have logged out cannot be read: all have to log in again", "err", err)
		l.kept.Before = clock().Add(sessionLife).Unix()
	}
	if l.kept.Ended == nil {
		l.kept.Ended = map[string]int64{}
	}
	return l
}

// has reports whether a session was ended. It must run under the lock.
func (l *loggedOut) has(v *visit) bool {
	_, out := l.kept.Ended[v.nonce]
	return out || v.until.Unix() <= l.kept.Before
}

// stands reports whether a session was not ended, nor is over.
func (l *loggedOut) stands(v *visit) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.has(v) && l.clock().Before(v.until)
}

// soonest is until when a session must be good that was not ended with others.
func (l *loggedOut) soonest() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Unix(l.kept.Before+1, 0)
}

// during is the context of a request that shows a session: it ends with it.
// done must be called.
func (l *loggedOut) during(ctx context.Context, v *visit) (_ context.Context, done func()) {
	ctx, cancel := context.WithTimeout(ctx, v.until.Sub(l.clock()))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.has(v) {
		cancel()
	}
	if l.live[v.nonce] == nil {
		l.live[v.nonce] = map[*visit]context.CancelFunc{}
	}
	l.live[v.nonce][v] = cancel
	return ctx, func() {
		cancel()
		l.mu.Lock()
		defer l.mu.Unlock()
		if delete(l.live[v.nonce], v); len(l.live[v.nonce]) == 0 {
			delete(l.live, v.nonce)
		}
	}
}

// add ends a session, and with it the requests that show it.
func (l *loggedOut) add(v *visit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock().Unix()
	first, until := "", int64(0)
	for nonce, t := range l.kept.Ended {
		if t < now {
			delete(l.kept.Ended, nonce)
		} else if first == "" || t < until {
			first, until = nonce, t
		}
	}
	if len(l.kept.Ended) >= endedMost {
		delete(l.kept.Ended, first)
		l.kept.Before = max(l.kept.Before, until)
	}
	l.kept.Ended[v.nonce] = v.until.Unix()
	if err := l.save(); err != nil {
		l.log.Error("that a browser has logged out is forgotten when the server starts again", "err", err)
	}
	for _, cancel := range l.live[v.nonce] {
		cancel()
	}
}

func (l *loggedOut) save() error {
	return wholefile.WriteJSON(l.path, &l.kept)
}
