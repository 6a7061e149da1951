// Package chaos lets a real server, its supervisor and real tasks go through kills,
// freezes, restarts and power cuts, keeps a ledger outside of all of them of
// what was answered and of what the tasks themselves saw, and compares.
//
// What the tests of internal/testing/sim do in virtual time with the control loop
// alone, this does with the released program, processes, files and a disk. What
// is chosen follows from a seed; when it happens does not.
package chaos

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// Tick is a time in hundredths of a second since the machine was started, in
// which tasks and driver agree without a fork: the first number of /proc/uptime.
// Zero: never.
type Tick int64

// now is the present tick.
func now() Tick {
	data, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return 0
	}
	t, _ := parseTick(strings.Fields(string(data))[0])
	return t
}

func parseTick(s string) (Tick, error) {
	n, err := strconv.ParseInt(strings.Replace(s, ".", "", 1), 10, 64)
	return Tick(n), err
}

func (t Tick) sub(u Tick) time.Duration { return time.Duration(t-u) * 10 * time.Millisecond }

// Instant is one moment in both of the clocks that are in use: that of the
// tasks, and that of the server's records.
type Instant struct {
	Tick Tick      `json:"tick"`
	Wall time.Time `json:"wall"`
}

func here() Instant { return Instant{now(), time.Now()} }
