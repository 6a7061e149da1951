package podlog

import (
	"errors"
	"fmt"
	"time"
)

// givenUp begins the remark of a log that is not whole.
const givenUp = "the rest of the output could not be had: "

// errBroke is that a stream was opened, and broke.
var errBroke = errors.New("the stream broke")

// streak is how the streams of one container fare.
type streak struct {
	f     *feed
	name  string
	whole bool      // the last came to its end
	fails int       // in a row
	since time.Time // of the first of them
	err   error
}

// admitted waits until the API server and the node may be asked. may: they may
// now; otherwise something has changed. ok: there is still someone to ask for.
func (s *streak) admitted(x look) (may, ok bool) {
	for _, node := range []string{"", x.node} {
		g := s.f.l.gates.ask(node, !x.since.IsZero())
		switch {
		case g.open:
			continue
		case g.probe && node == "":
			if err := s.f.l.src.Reach(s.f.l.src.Context); err != nil {
				s.f.l.gates.fail(node, err)
			} else {
				s.f.l.gates.pass(node)
			}
		case g.probe:
			err := s.f.probe(s.f.l.src.Context, s.name)
			switch {
			case err != nil && blameFor(err) == ofNode:
				s.f.l.gates.fail(node, err)
			case err != nil && blameFor(err) == ofServer:
				s.f.l.gates.fail(node, err)
				s.f.l.gates.fail("", err)
			default:
				s.f.l.gates.pass(node)
			}
		default:
			s.blocked(node, g.err)
			wait := g.wait
			if !x.since.IsZero() && !s.since.IsZero() {
				wait = min(wait, max(time.Until(later(x.since, s.since).Add(s.f.l.wait.silent)), time.Millisecond))
			}
			return false, s.f.pauseFor(wait, g.news, x.changed)
		}
		return false, s.f.ctx.Err() == nil
	}
	return true, true
}

// blocked notes that someone else found out that it does not work.
func (s *streak) blocked(node string, err error) {
	if node == "" {
		s.since = time.Time{} // nobody knows whether the node is there
		s.f.trouble(true)
		return
	}
	s.failed(err)
}

func (s *streak) failed(err error) {
	if s.since.IsZero() {
		s.since = time.Now()
	}
	s.err = err // of a stream that did not open: what the last brought is as whole as before
	s.f.trouble(true)
}

// after draws conclusions from a stream that has ended, and waits until the
// next is due. got: it brought something. It reports whether to go on.
func (s *streak) after(err error, x look, got bool) bool {
	w := s.f.l.wait
	switch {
	case err == nil:
		s.whole, s.since = true, time.Time{}
		s.fails++
		// It says that the container has ended, and soon the pod will.
		return s.f.pause(min(backoff(w, s.fails), w.urgent), x.changed)
	case errors.Is(err, errBroke):
		if s.whole = false; s.since.IsZero() || got {
			s.since, s.err = time.Now(), err
		}
		if s.fails++; got {
			s.fails = 1
		}
		return s.f.pause(backoff(w, s.fails)/10, x.changed)
	}
	s.fails++
	switch blameFor(err) {
	case ofServer:
		s.f.l.gates.fail("", err)
		s.blocked("", err)
		return s.f.ctx.Err() == nil
	case ofNode:
		s.f.l.gates.fail(x.node, err)
		s.failed(err)
		return s.f.ctx.Err() == nil
	default:
		s.failed(err)
		wait := backoff(w, s.fails)
		if !x.since.IsZero() {
			wait = min(wait, w.urgent)
		}
		return s.f.pause(wait, x.changed)
	}
}

// hopeless reports whether all streams have failed for long enough since the
// task ended.
func (s *streak) hopeless(ended time.Time) bool {
	return !ended.IsZero() && !s.since.IsZero() && time.Since(later(ended, s.since)) >= s.f.l.wait.silent
}

// lost is what is to be said when the pod is gone.
func (s *streak) lost() string {
	if s.whole {
		return ""
	}
	return givenUp + "its pod is gone"
}

func (s *streak) remark() string { return fmt.Sprintf("%s%v", givenUp, s.err) }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// pauseFor waits for so long, or for one of two changes.
func (f *feed) pauseFor(d time.Duration, one, two <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-one:
	case <-two:
	case <-f.ctx.Done():
	}
	return f.ctx.Err() == nil
}
