// Package doctor looks at a machine as a server will find it, and says of
// everything that Muster needs whether it is there, what is lost without it, and
// how to mend it. It changes nothing.
package doctor

// Status is what came of one check.
type Status string

// The states of a check, from best to worst.
const (
	OK   Status = "ok"
	Skip Status = "skip" // not needed here, or cannot be told
	Warn Status = "warn" // something does not work, or not as well as it could
	Fail Status = "fail" // a server does not start or does not work
)

// Check is one thing that was looked at.
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	Found  string `json:"found"`           // what is there
	Means  string `json:"means,omitempty"` // what does not work because of it
	Fix    string `json:"fix,omitempty"`   // what to do, a command where there is one
}

// Count returns how many checks have a status.
func Count(checks []Check, s Status) int {
	n := 0
	for _, c := range checks {
		if c.Status == s {
			n++
		}
	}
	return n
}
