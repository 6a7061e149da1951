package watch

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
)

// slow tells at once how many wait, and takes long to say why.
type slow struct {
	now     time.Time
	waiting int
	asked   int
	holds   chan struct{} // nil: reasons come at once
}

func (s *slow) overview(context.Context) (*api.Overview, error) {
	s.now = s.now.Add(10 * time.Millisecond)
	return &api.Overview{Phases: map[string]int{"Queued": s.waiting}}, nil
}

func (s *slow) waits(context.Context) ([]api.Wait, error) {
	s.asked++
	if s.holds != nil {
		<-s.holds
	}
	s.now = s.now.Add(3 * time.Second)
	return []api.Wait{{ID: "first", Position: s.waiting}}, nil
}

// How many wait is told a second after it has changed, however long it takes to say
// why; that follows, and takes a twentieth of the time at most.
func TestCountsAreNotLateForReasons(t *testing.T) {
	s := &slow{now: time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC), waiting: 7}
	c := &overviews{clock: func() time.Time { return s.now }}
	told := func() api.Overview {
		_, now := c.latest(t.Context(), s)
		return *now.of
	}
	c.stale()
	if o := told(); o.Phases["Queued"] != 7 || o.Waits[0].Position != 7 {
		t.Fatalf("at first: %+v", o)
	}
	begun := s.now
	s.waiting = 6
	c.stale()
	s.now = s.now.Add(time.Second)
	if o := told(); o.Phases["Queued"] != 6 || s.asked != 1 {
		t.Errorf("a second after a change %d wait, reasons were asked for %d times; want 6, once", o.Phases["Queued"], s.asked)
	}
	for told().Waits[0].Position != 6 {
		if s.now = s.now.Add(time.Second); s.now.Sub(begun) > 2*time.Minute {
			t.Fatal("why they wait is never told anew")
		}
	}
	if took := s.now.Sub(begun); took < 50*time.Second || s.asked != 2 {
		t.Errorf("reasons that take 3 s were asked for again after %s, %d times in all; want a minute, twice", took, s.asked)
	}
	// Nothing more is owed: while nothing changes they are believed for waitsFor.
	s.now = s.now.Add(waitsFor / 2)
	if told(); s.asked != 2 {
		t.Errorf("asked again without a change")
	}
}

// While it is found out why they wait, what is known is told, with the reasons of
// before; these come once they are there.
func TestReasonsHoldNothingUp(t *testing.T) {
	var mu sync.Mutex // over the time, of which two read
	now := time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC)
	later := func(d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(d)
	}
	s := &slow{waiting: 7, holds: make(chan struct{})}
	c := &overviews{clock: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}}
	told := func() api.Overview {
		_, now := c.latest(t.Context(), s)
		return *now.of
	}
	c.stale()
	if o := told(); o.Phases["Queued"] != 7 || len(o.Waits) != 0 {
		t.Fatalf("while it is asked: %+v", o)
	}
	if c.made.of.Phases["Queued"] != 7 {
		t.Errorf("%+v was told", c.made.of)
	}
	came := c.reasons()
	close(s.holds)
	select {
	case <-came: // without a look at the clock: a second is long to who looks at a queue
	case <-time.After(time.Minute):
		t.Fatal("nobody says that the reasons have come")
	}
	if o := told(); len(o.Waits) == 0 {
		t.Error("they have come, and are told later")
	}
	for deadline := time.Now().Add(time.Minute); len(told().Waits) == 0; time.Sleep(time.Millisecond) {
		if later(time.Second); time.Now().After(deadline) {
			t.Fatal("reasons do not come")
		}
	}
}
