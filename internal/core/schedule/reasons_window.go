package schedule

import (
	"fmt"
	"time"
)

// instant is how a reason shows a time: it is text for people in any zone.
func instant(ms int64) string { return time.UnixMilli(ms).UTC().Format("Mon 2006-01-02 15:04 MST") }

// span is the time of a reservation.
func (r Reason) span() string { return instant(r.From) + " until " + instant(r.Until) }

// kept is what a reservation keeps from a workload, or it from its reservation.
func (r Reason) kept() string {
	switch {
	case r.OfNodes == 0 && r.From == 0:
		return fmt.Sprintf("it is to run in reservation %s, and %s", r.Reservation, r.Note)
	case r.OfNodes == 0:
		return fmt.Sprintf("it is to run in reservation %s, which is from %s", r.Reservation, r.span())
	}
	nodes := "1 node"
	if r.Nodes != 1 {
		nodes = fmt.Sprintf("%d nodes", r.Nodes)
	}
	text := fmt.Sprintf("reservation %s keeps %s with room for it, from %s", r.Reservation, nodes, r.span())
	switch {
	case r.Note != "":
		return text
	case r.Limit > 0:
		return text + ", and it may run for " + (time.Duration(r.Limit) * time.Millisecond).String()
	default:
		return text + ", and nobody knows when it would end"
	}
}

// afterReservation is what to do about that.
func (r Reason) afterReservation() string {
	switch {
	case r.OfNodes == 0 && r.From == 0:
		return "muster reservation list shows those that there are"
	case r.OfNodes == 0 || r.Note != "":
		return "wait"
	default:
		return "wait, set a maxDuration that ends before it begins, or make it preemptible"
	}
}
