package engine

import (
	"fmt"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// warnBefore is how long before its latest start a workload that still waits is
// warned that its deadline may be missed.
const warnBefore = 30 * time.Minute

// Deadline is by when a workload is to be done, and what follows from it.
type Deadline struct {
	At     time.Time
	Length time.Duration // that it is taken to run; 0: nobody knows
	From   string        // where the length is from: expectedDuration, learnt or maxDuration
	Start  time.Time     // its latest start; zero: nobody knows
}

// deadlineOf is by when w is to be done; false: at any time.
func (e *Engine) deadlineOf(w *core.Workload) (Deadline, bool) {
	if w.Spec.Deadline == "" {
		return Deadline{}, false
	}
	at, err := time.Parse(time.RFC3339, w.Spec.Deadline)
	if err != nil {
		return Deadline{}, false // no document has it
	}
	d := Deadline{At: at.UTC()}
	switch learnt, ok := e.Insight.Lengths.Length(w, 0); {
	case w.Spec.ExpectedDuration > 0:
		d.Length, d.From = w.Spec.ExpectedDuration.Std(), "expectedDuration"
	case ok:
		d.Length, d.From = time.Duration(learnt.Likely)*time.Millisecond, "learnt"
	default:
		d.Length, d.From = e.longest(w), "maxDuration"
	}
	if d.Length <= 0 {
		d.From = ""
		return d, true
	}
	d.Start = d.At.Add(-d.Length)
	return d, true
}

// startBy is the latest start of w for the scheduler, in unix ms; 0: none.
func (e *Engine) startBy(w *core.Workload) int64 {
	d, ok := e.deadlineOf(w)
	if !ok || d.Start.IsZero() || w.Phase.Held() {
		return 0
	}
	return max(d.Start.UnixMilli(), 1)
}

// heeds reports whether the deadline of a workload in this phase is still to be
// looked at.
func heeds(w *core.Workload) bool {
	return w.Spec.Deadline != "" && w.Missed.IsZero() && !w.Phase.End() && w.Phase != lifecycle.None &&
		w.Phase != lifecycle.Terminating && w.Phase != lifecycle.Deleting && w.Phase != lifecycle.Publishing
}

// deadlineWake is when the deadline of w needs attention; zero: never.
func (tx *tx) deadlineWake(w *core.Workload) time.Time {
	if !heeds(w) {
		return time.Time{}
	}
	d, ok := tx.e.deadlineOf(w)
	if !ok {
		return time.Time{}
	}
	if warn := d.Start.Add(-warnBefore); !d.Start.IsZero() && !w.Phase.Held() && w.AtRisk.IsZero() {
		return earliest(d.At, warn)
	}
	return d.At
}

// deadline does what is due of the deadline of a workload, and reports whether
// anything was. It must run inside change.
func (tx *tx) deadline(d *draft) (bool, error) {
	w := d.w
	at := tx.deadlineWake(w)
	if at.IsZero() || at.After(tx.now) {
		return false, nil
	}
	due, _ := tx.e.deadlineOf(w)
	if due.At.After(tx.now) {
		w.AtRisk = tx.now
		d.tell(lifecycle.DeadlineAtRisk, fmt.Sprintf("it is to be done by %s and takes %v (%s): if it does not start by %s it will be late",
			due.At.Format(time.RFC3339), due.Length.Round(time.Second), lengthFrom[due.From], due.Start.Format(time.RFC3339)))
		return true, nil
	}
	w.Missed = tx.now
	message := fmt.Sprintf("its deadline %s has passed", due.At.Format(time.RFC3339))
	if w.Spec.DeadlineAction != spec.DeadlineStop {
		d.tell(lifecycle.DeadlineMissed, message)
		if w.Phase.Held() {
			d.fact(lifecycle.DeadlineMissed, true, tx.now, "", message)
		}
		return true, nil
	}
	if w.Phase.Held() {
		return true, tx.end(d, lifecycle.Input{On: lifecycle.Deadline, Cause: lifecycle.CauseDeadline, Reason: lifecycle.ReasonDeadlineMissed, Message: message}, actorControl)
	}
	return true, tx.end(d, lifecycle.Input{On: lifecycle.Stop, Cause: lifecycle.CauseDeadline, Reason: lifecycle.ReasonDeadlineMissed, Message: message}, actorControl)
}

// lengthFrom says where the length of a workload is from.
var lengthFrom = map[string]string{"expectedDuration": "its expectedDuration", "learnt": "as its likes did", "maxDuration": "its time limit"}

// tell has whoever asked for it told of something that is no phase.
func (d *draft) tell(what lifecycle.ConditionType, message string) {
	d.told = append(d.told, telling{what, message})
}

// telling is a notification of something that is no phase.
type telling struct {
	what    lifecycle.ConditionType
	message string
}

// told makes deliveries of what has happened of that name.
func (n *notices) told(to spec.Notification, on string, what lifecycle.ConditionType) {
	for i, t := range n.d.told {
		if t.what != what {
			continue
		}
		h := n.happening()
		h.Reason, h.Message = lifecycle.Reason(t.what), t.message
		n.put(to, on, len(n.d.trail)+1+i, h) // after all that has happened
	}
}

// DeadlineState is how a workload stands to its deadline.
type DeadlineState struct {
	Deadline
	Left   time.Duration // until it; negative: it has passed
	Missed bool
	// Expected is when it is likely to be done; zero: nobody knows. InTime says
	// that this is not after the deadline.
	Expected time.Time
	InTime   bool
}

// standingTo is how w stands to its deadline if it is to start at that instant,
// or has; zero: nobody knows.
func (d Deadline) standingTo(w *core.Workload, start, now time.Time) *DeadlineState {
	s := &DeadlineState{Deadline: d, Left: d.At.Sub(now), Missed: !w.Missed.IsZero() || d.At.Before(now)}
	if !start.IsZero() && d.Length > 0 {
		s.Expected = start.Add(d.Length)
		if s.Expected.Before(now) {
			s.Expected = now // it takes longer than it was taken to
		}
		s.InTime = !s.Expected.After(d.At)
	}
	return s
}

// deadlineNow is how a workload stands that asks why it waits.
func (s *Study) deadlineNow(y *Why) {
	if s.due == nil {
		return
	}
	start := time.Time{}
	switch a := s.w.Attempts[len(s.w.Attempts)-1]; {
	case s.w.Phase.Held():
		start = a.RunningAt
		if start.IsZero() {
			start = s.now
		}
	case y.Trial != nil && y.Trial.Now:
		start = s.now
	case y.Forecast.Likely > 0:
		start = time.UnixMilli(y.Forecast.Likely).UTC()
	case y.Forecast.Early > 0 && y.Forecast.Late == 0:
		start = time.UnixMilli(y.Forecast.Early).UTC()
	}
	y.Deadline = s.due.standingTo(s.w, start, s.now)
}
