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

// NextMinute is when, in unix ms, a plan may differ after now for no other reason
// than that time has passed; 0: of nobody who waits is it known how long it takes,
// nobody waits for a turn, and nobody who runs would lose more by then.
func (st *State) NextMinute(now int64) int64 {
	if st.expected == 0 && st.unsaved == 0 && !st.TakesTurns {
		return 0
	}
	return Minute(now) + minute
}

// Who had to leave is left alone, once it runs again, for half of what it had had,
// and for shieldMost (ms) of that at most, unless it had to leave Often.
const (
	shieldPart = 2
	shieldMost = 2 * 60 * 60 * 1000
	Often      = 16
)

// Shield is until when, in unix ms, a job that runs again after it had to leave is
// left alone if it had to leave often, and until when otherwise; 0: it has not had
// to leave.
func Shield(j *schedule.Job) (often, usually int64) {
	if j.Attained == 0 || j.Started == 0 {
		return 0, 0
	}
	return j.Started + j.Attained/shieldPart, j.Started + min(j.Attained/shieldPart, shieldMost)
}
