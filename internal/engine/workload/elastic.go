package workload

import (
	"time"

	"github.com/musterhq/muster/internal/core"
)

// Ranks are the tasks of a gang that are part of it at present, by rank.
func Ranks(tasks *Tasks) []*core.Task {
	var out []*core.Task
	for _, t := range SortedTasks(tasks) {
		if !t.Leaving {
			out = append(out, t)
		}
	}
	return out
}

// Resizing reports whether ranks are being ended to be started again in another
// number.
func Resizing(tasks *Tasks) bool {
	for _, t := range tasks.All() {
		if !t.Leaving && !t.RestartAt.IsZero() {
			return true
		}
	}
	return false
}

// SizeFinal reports whether the size of a gang is as it is for good: some rank
// has ended by itself, and what the others do belongs to that size.
func SizeFinal(tasks *Tasks) bool {
	for _, t := range tasks.All() {
		if !t.Leaving && t.State.Ended() && t.RestartAt.IsZero() {
			return true
		}
	}
	return false
}

// MissingRanks is how many workers more an elastic gang may have.
func MissingRanks(w *core.Workload, tasks *Tasks) int {
	if SizeFinal(tasks) {
		return 0
	}
	return max(w.Spec.Size()-len(Ranks(tasks)), 0)
}

// WaitingResize is what a rank waits for that has ended to be started again.
const WaitingResize = "Resizing"

// ResizeDue is when the ranks of an elastic gang are to be started again; zero:
// none has ended yet.
func ResizeDue(tasks *Tasks) time.Time {
	var at time.Time
	if EndingRanks(tasks) {
		return at
	}
	for _, t := range tasks.All() {
		if !t.Leaving && t.Waiting == WaitingResize && t.RestartAt.After(at) {
			at = t.RestartAt
		}
	}
	return at
}

// EndingRanks reports whether some rank that is to be restarted has not ended.
func EndingRanks(tasks *Tasks) bool {
	for _, t := range tasks.All() {
		if !t.Leaving && !t.RestartAt.IsZero() && t.State.Held() {
			return true
		}
	}
	return false
}
