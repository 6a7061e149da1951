package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/explanation"
)

// of is the workload as it is stored.
func (s *shift) of(w *core.Workload) *core.Workload {
	s.t.Helper()
	live, err := s.st.Live(context.Background())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range live {
		if e.Workload.ID == w.ID {
			return e.Workload
		}
	}
	s.t.Fatalf("%s is not live", w.Name)
	return nil
}

func (s *shift) told(w *core.Workload) *core.Booking {
	s.t.Helper()
	w = s.of(w)
	return w.Attempts[len(w.Attempts)-1].Booked
}

func newBookingShift(t *testing.T, nodes int) *shift {
	s := newShift(t, nodes)
	s.policy = schedule.NewPolicy()
	s.start()
	return s
}

// A gang that was told a time keeps it when preemptible work and work that nobody
// may displace come later, also by the server that leads next.
func TestATimeThatWasToldIsKeptByWhoLeadsNext(t *testing.T) {
	s := newBookingShift(t, 1)
	holder := s.run(`{"name":"holder","command":["fake"],"maxDuration":"30m","resources":{"gpu":3}}`)
	s.report(holder, core.TaskRunning)
	gang := s.run(`{"name":"gang","command":["fake"],"resources":{"gpu":4}}`)
	s.saves(s.now, gang)
	at := s.now.Add(30 * time.Minute)
	want := core.Booking{At: at, Since: s.now, Pool: "default"}
	if b := s.told(gang); b == nil || *b != want {
		t.Fatalf("told %+v, want %+v", b, want)
	}
	s.now = s.now.Add(time.Minute)
	one := s.run(`{"name":"one","command":["fake"],"resources":{"gpu":1}}`)
	if y := s.why(one); len(y.Reasons) != 1 || y.Reasons[0].Token != schedule.Reserved || y.Reasons[0].For != gang.ID || y.Reasons[0].Until != at.UnixMilli() {
		t.Errorf("why one waits: %+v", y.Reasons)
	}
	long := s.run(`{"name":"long","command":["fake"],"preemptible":false,"maxDuration":"2h","resources":{"gpu":1}}`)
	short := s.run(`{"name":"short","command":["fake"],"maxDuration":"10m","resources":{"gpu":1}}`)
	for _, w := range []*core.Workload{one, long, gang} {
		if p := s.of(w).Phase; p != lifecycle.Queued {
			t.Errorf("%s is %s", w.Name, p)
		}
	}
	if p := s.of(short).Phase; p != lifecycle.Starting {
		t.Errorf("who is gone by then starts: it is %s", p)
	}
	s.start()
	s.do(explanation.StudyOf(draft.Ref{ID: gang.ID}))
	if b := s.told(gang); b == nil || *b != want {
		t.Errorf("after a start of the server: %+v, want %+v", b, want)
	}
	if err := s.e.Check(context.Background()); err != nil {
		t.Error(err)
	}
	s.report(short, core.TaskRunning)
	s.report(short, core.TaskSucceeded)
	s.now = at
	s.report(holder, core.TaskSucceeded)
	s.do(explanation.StudyOf(draft.Ref{ID: gang.ID}))
	if p := s.of(gang).Phase; p != lifecycle.Starting {
		t.Errorf("its time has come: the gang is %s, told %+v", p, s.told(gang))
	}
}

// Of work without a limit the time by which nine of ten of its likes had ended is
// known.
func TestATimeRestsOnHowLongSuchWorkRuns(t *testing.T) {
	s := newBookingShift(t, 1)
	const doc = `{"namePrefix":"train","command":["fake"],"resources":{"gpu":4}}`
	for i := range 10 {
		w := s.run(doc)
		s.report(w, core.TaskRunning)
		s.now = s.now.Add(time.Duration(10+i) * time.Minute)
		s.report(w, core.TaskSucceeded)
	}
	w := s.run(doc)
	s.report(w, core.TaskRunning)
	began := s.now
	gang := s.run(`{"name":"gang","command":["fake"],"resources":{"gpu":4}}`)
	want := core.Booking{At: began.Add(18 * time.Minute), Since: began, Pool: "default"}
	if b := s.told(gang); b == nil || *b != want {
		t.Fatalf("told %+v, want %+v", b, want)
	}
	s.now = began.Add(18*time.Minute + time.Second) // one of ten took longer
	s.do(explanation.StudyOf(draft.Ref{ID: gang.ID}))
	if b := s.told(gang); b == nil || *b != want { // by a minute later it is the same

		t.Errorf("told %+v, want %+v", b, want)
	}
	if err := s.e.Check(context.Background()); err != nil {
		t.Error(err)
	}
	s.now = began.Add(25 * time.Minute) // longer than any before
	s.do(explanation.StudyOf(draft.Ref{ID: gang.ID}))
	if b := s.told(gang); b != nil {
		t.Errorf("told %+v, and nobody knows", b)
	}
}
