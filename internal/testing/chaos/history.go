package chaos

import (
	"fmt"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
)

// History is everything that is known at the end, from all sides.
type History struct {
	Entries []*Entry        // from the ledger: what was asked for and answered
	Deeds   []Deed          // what was done to the programs
	Answers []time.Duration // how long first answers took
	Scans   int             // how often the living were looked at
	Marks   []Mark          // what commands wrote of themselves

	Workloads   []api.Workload           // what the server says, the deleted too
	Transitions []api.Transition         // all, in their order
	Streamed    map[int64]api.Transition // those that it had told who watched
	Logs        map[Run]string
	Charged     map[string]float64 // GPU-seconds by workload, as the usage report has them

	Wrote []string    // what server and supervisor wrote to their logs
	Seen  []Violation // what was found on the way
}

// Kind is what sort of promise was broken.
type Kind string

// The kinds.
const (
	Missing   Kind = "acknowledged submission missing"
	Doubled   Kind = "submission repeated made two"
	RanTwice  Kind = "run twice in one attempt"
	Illegal   Kind = "illegal transition"
	Gap       Kind = "gap in the sequence of events"
	Forgotten Kind = "told, and then not in the history"
	HeldTwice Kind = "device held twice"
	Alive     Kind = "alive after its end"
	WrongCode Kind = "wrong exit code"
	WrongEnd  Kind = "wrong end"
	Books     Kind = "accounting off"
	LogLost   Kind = "lines of a log lost without a notice"
	LogWrong  Kind = "lines of a log repeated or out of order"
	Late      Kind = "begun after an acknowledged stop or delete"
	NotEnded  Kind = "acknowledged stop or delete not carried out"
	Stuck     Kind = "never came to an end"
	Refused   Kind = "refused what is right"
	Fault     Kind = "fault of a program"
	Left      Kind = "left behind"
	Slow      Kind = "no answer within a minute"
)

// Kinds are all of them.
func Kinds() []Kind {
	return []Kind{Missing, Doubled, RanTwice, Illegal, Gap, Forgotten, HeldTwice, Alive, WrongCode, WrongEnd, Books, LogLost, LogWrong, Late, NotEnded, Stuck, Refused, Fault, Left, Slow}
}

// Violation is one broken promise.
type Violation struct {
	Kind   Kind   `json:"violation"`
	Who    string `json:"who"`
	Detail string `json:"detail"`
}

func (v Violation) String() string { return fmt.Sprintf("%s: %s: %s", v.Kind, v.Who, v.Detail) }

// placed is one run of a task as the server tells of it.
type placed struct {
	Run
	task    *api.Task
	attempt *api.Attempt
}

// runsOf are all runs of all tasks of a workload.
func runsOf(w *api.Workload) []placed {
	var all []placed
	for i := range w.Attempts {
		a := &w.Attempts[i]
		for _, list := range [][]api.Task{a.Tasks, a.Former} {
			for j := range list {
				t := &list[j]
				all = append(all, placed{Run{w.ID, a.Index, t.Index, t.Run}, t, a})
			}
		}
	}
	return all
}

// Of is the part of a history that some violations are about, for a look at it.
func (h *History) Of(found []Violation) map[string]any {
	var about []api.Workload
	for _, w := range h.Workloads {
		for _, v := range found {
			if v.Who == w.Name || strings.HasPrefix(v.Who, w.ID) {
				about = append(about, w)
				break
			}
		}
	}
	return map[string]any{"violations": found, "workloads": about}
}
