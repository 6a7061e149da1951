package state

import "github.com/musterhq/muster/internal/core/schedule"

const minute = 60_000

// Minute is the instant, in unix ms, as of which it counts what somebody has had
// or has waited: plans that go by such lengths may differ with every minute, and no
// more often.
func Minute(now int64) int64 { return now - now%minute }

// Minutes is how many whole minutes have passed by now since the beginning of unix
// time.
func Minutes(now int64) int64 { return now / minute }

// What would be lost of work that saves nothing counts as of the next ten seconds:
// it matters while that has hardly begun.
const tick = 10_000

// Tick is the end of the ten seconds of that instant, in unix ms.
func Tick(now int64) int64 { return now - now%tick + tick }

// NextLook is when, in unix ms, a plan may differ after now for no other reason
// than that time has passed; 0: of nobody who waits is it known how long it takes,
// nobody waits for a turn, and nobody who runs would lose more by then.
func (st *State) NextLook(now int64) int64 {
	switch {
	case st.unsaved > 0:
		return Tick(now)
	case st.expected > 0 || st.TakesTurns:
		return Minute(now) + minute
	}
	return 0
}

// Who had to leave is left alone, once it runs again, for half of what it had had,
// and for shieldMost (ms) of that at most, unless it had to leave Often. Whoever
// runs is left alone for a part of what it had waited, too: turns are as long as
// the line is. Else all would take short turns under overload, each with another
// such wait behind it. That ends after a day (waitMost, ms), so that who is entitled
// to the room does not wait for longer.
const (
	shieldPart = 2
	shieldMost = 2 * 60 * 60 * 1000
	shieldWait = 15
	waitMost   = 24 * 60 * 60 * 1000
	Often      = 32
)

// Shield is until when, in unix ms, a job that runs is left alone if it had to leave
// often, and until when otherwise; 0: it neither had to leave nor has waited.
func Shield(j *schedule.Job) (often, usually int64) {
	waited := int64(0)
	if j.Since > 0 {
		waited = min(max(j.Started-j.Since, 0)/shieldWait, waitMost)
	}
	if j.Started == 0 || j.Attained == 0 && waited == 0 {
		return 0, 0
	}
	had := j.Attained / shieldPart
	return j.Started + max(had, waited), j.Started + max(min(had, shieldMost), waited)
}
