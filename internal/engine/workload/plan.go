package workload

import (
	"maps"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/spec"
)

// BookingOf is the time to start that w was told, in the scheduler's words. What
// holds something has started.
func BookingOf(w *core.Workload) schedule.Booking {
	b := w.Attempts[len(w.Attempts)-1].Booked
	if b == nil || w.Phase.Held() && w.Phase != lifecycle.Reserved {
		return schedule.Booking{}
	}
	return schedule.Booking{At: b.At.UnixMilli(), Since: b.Since.UnixMilli(), Pool: b.Pool}
}

// EarmarkOf is the quota that is reserved for w, or nil.
func EarmarkOf(w *core.Workload) *core.Earmark {
	if w.Phase != lifecycle.Reserved {
		return nil
	}
	return w.Attempts[len(w.Attempts)-1].Earmark
}

// EarmarkFor is earmark in the scheduler's words.
func EarmarkFor(w *core.Workload) schedule.Earmark {
	m := EarmarkOf(w)
	if m == nil {
		return schedule.Earmark{}
	}
	return schedule.Earmark{Pool: m.Pool, Amounts: quota.Amounts{quota.GPU: m.GPU, quota.CPU: m.CPU, quota.Memory: m.Memory}}
}

// Granted is what a plan has given, as it is kept.
func Granted(takes schedule.Earmark) *core.Earmark {
	a := takes.Amounts
	return &core.Earmark{Pool: takes.Pool, GPU: a[quota.GPU], CPU: a[quota.CPU], Memory: a[quota.Memory]}
}

// CauseOf is the cause of an eviction as transitions have it: the scheduler's
// action.
func CauseOf(ev schedule.Eviction) lifecycle.Cause { return lifecycle.Cause(ev.Cause) }

// displaced reports whether an attempt ended for others' sake.
func displaced(by lifecycle.Event) bool { return by == lifecycle.Preempt || by == lifecycle.Move }

// CourseOf is what has become of w so far, in the scheduler's words.
func CourseOf(w *core.Workload) schedule.Course {
	last := len(w.Attempts) - 1
	c := schedule.Course{Submitted: w.CreatedAt.UnixMilli()}
	for i := range last {
		if a := &w.Attempts[i]; !a.StartedAt.IsZero() && a.EndedAt.After(a.StartedAt) {
			c.Attained += a.EndedAt.Sub(a.StartedAt).Milliseconds()
			c.Times += core.Bit(displaced(a.Event))
		}
	}
	c.Unsaved = unsaved(w)
	c.Displaced = last > 0 && displaced(w.Attempts[last-1].Event)
	if at := w.Attempts[last].QueuedAt; !at.IsZero() {
		c.Queued = at.UnixMilli()
	}
	return c
}

// unsaved reports whether w would begin anew if it had to leave, as far as is
// known: it is work that is to be done, and has told of no checkpoint. Of an array
// only single tasks leave.
func unsaved(w *core.Workload) bool {
	return w.Kind.Batch() && w.Spec.Array == nil && w.Checkpoint == nil
}

// LicensesOf are those that a document asks for, by name.
func LicensesOf(doc *spec.Document) []schedule.Count {
	if len(doc.Licenses) == 0 {
		return nil
	}
	out := make([]schedule.Count, 0, len(doc.Licenses))
	for _, name := range slices.Sorted(maps.Keys(doc.Licenses)) {
		out = append(out, schedule.Count{Name: name, N: int64(doc.Licenses[name])})
	}
	return out
}
