package core

import (
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core/lifecycle"
)

// wanted are the events that end an attempt as it or its user wanted.
var wanted = []lifecycle.Event{
	lifecycle.Succeed, lifecycle.Publish, lifecycle.Restart, lifecycle.Scale, lifecycle.Hand, lifecycle.Built,
}

// Vain reports whether what an attempt did since its last checkpoint has to be
// done again: it has ended otherwise than it or its user wanted.
func (a *Attempt) Vain() bool {
	switch {
	case a.EndedAt.IsZero(), slices.Contains(wanted, a.Event), a.Cause == lifecycle.CauseStop, a.Cause == lifecycle.CauseLimit:
		return false
	case a.Event == "": // of an old record, that gave no reason
		return a.ExitCode != nil && *a.ExitCode != 0
	default:
		return true
	}
}

// Lost is how much of the time from one instant to another, in which a task of the
// attempt had its place, has to be spent again. What has succeeded is not lost.
func (a *Attempt) Lost(succeeded bool, from, to time.Time) time.Duration {
	if succeeded || from.IsZero() || !a.Vain() {
		return 0
	}
	if a.SavedAt.After(from) {
		from = a.SavedAt
	}
	return max(to.Sub(from), 0)
}

// LostGPU is the GPU time of one run of a task that has to be spent again, in
// device-seconds.
func (a *Attempt) LostGPU(t *Task) float64 {
	to := t.ReleasedAt
	if to.IsZero() {
		to = a.EndedAt
	}
	milli := 0
	for _, d := range t.Devices {
		milli += d.Milli
	}
	return a.Lost(t.State == TaskSucceeded, t.PlacedAt, to).Seconds() * float64(milli) / 1000
}
