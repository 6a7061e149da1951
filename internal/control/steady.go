package control

import (
	"sync"
	"time"
)

// stepMost is how far a clock may be set back for Steady to hold still.
const stepMost = 5 * time.Minute

// Steady returns a clock that never goes back: where the machine's is set back
// by a little it stands still until that has caught up. A larger step is taken
// as it comes, since waiting it out would stop every timer. What is compared
// with the order of events (observations, placements) must read one Steady
// clock.
func Steady(clock func() time.Time) func() time.Time {
	var mu sync.Mutex
	var last time.Time
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now := clock()
		if back := last.Sub(now); back > 0 && back <= stepMost {
			return last
		}
		last = now
		return now
	}
}
