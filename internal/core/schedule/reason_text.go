package schedule

import (
	"fmt"
	"time"

	"github.com/musterhq/muster/internal/core/amount"
)

// parts says what is free where parts of GPUs are asked for.
func (r Reason) parts() string {
	kind := ""
	if r.Type != "" {
		kind = r.Type + " "
	}
	asks := fmt.Sprintf("%s of a %sGPU", amount.Thousandths(r.Part), kind)
	if r.Needed > 1 {
		asks = fmt.Sprintf("%s of %d %sGPUs each", amount.Thousandths(r.Part), r.Needed, kind)
	}
	if r.Token == Fragmented {
		return fmt.Sprintf("free %s %sGPU in all is enough for the %s that it needs, but in parts of at most %s", amount.Thousandths(r.FreeParts), kind, asks, amount.Thousandths(r.LargestPart))
	}
	out := fmt.Sprintf("waits for gpu: needs %s, free %s of %s", asks, amount.Thousandths(r.FreeParts), r.Amount(r.Total))
	if r.LargestPart > 0 && r.LargestPart < r.FreeParts {
		out += ", in parts of at most " + amount.Thousandths(r.LargestPart)
	}
	return out
}

// segments says how many segments have room.
func (r Reason) segments(when string) string {
	of := fmt.Sprintf("segment of %d tasks", r.Segment)
	if r.Fitting == 0 {
		best := "none has room for any of its tasks"
		if len(r.Blocks) > 0 {
			best = fmt.Sprintf("the best has room for %d", r.Blocks[0].Fitting)
		}
		return fmt.Sprintf("no %s has room for a %s %s: %s", r.Domain, of, when, best)
	}
	where := "each in one " + r.Domain
	if r.Note != "" && r.Note != r.Domain {
		where += ", all in one " + r.Note
	}
	return fmt.Sprintf("its %d segments of %d tasks, %s, have no room: %d of them would fit %s", r.Tasks, r.Segment, where, r.Fitting, when)
}

// smallerSegments is how large a segment could be.
func (r Reason) smallerSegments() string {
	if r.Fitting > 0 || len(r.Blocks) == 0 || r.Blocks[0].Fitting < 2 {
		return ""
	}
	return fmt.Sprintf(": %d tasks of one fit in one %s", r.Blocks[0].Fitting, r.Domain)
}

// Resources of reasons that are not about an amount.
const (
	ResourceNodes = "nodes" // conditions on the labels and taints of nodes
	ResourceApart = "apart" // tasks that must be apart, or near one another
	ResourceNear  = "near"
)

// domains says how many places there are for tasks that must be apart.
func (r Reason) domains() string {
	if r.Free == 1 {
		return fmt.Sprintf("all nodes together have 1 such place: at most %d of them fit", r.Fitting)
	}
	return fmt.Sprintf("all nodes together have %d such places: at most %d of them fit", r.Free, r.Fitting)
}

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

// taken says how many nodes are taken by work that wants them to itself.
func (r Reason) taken() string {
	switch r.Taken {
	case 0:
		return ""
	case 1:
		return "; 1 node is taken by work that wants it to itself"
	default:
		return fmt.Sprintf("; %d nodes are taken by work that wants them to itself", r.Taken)
	}
}

// license says what is short of one.
func (r Reason) license() string {
	switch {
	case r.Total == 0 && r.Allocated == 0:
		return fmt.Sprintf("waits for license %s: needs %d, and there is none", r.Resource, r.Requested)
	case r.Requested > r.Total:
		return fmt.Sprintf("waits for license %s: needs %d, and there are %d in all", r.Resource, r.Requested, r.Total)
	}
	return fmt.Sprintf("waits for license %s: needs %d, free %d of %d", r.Resource, r.Requested, r.Free, r.Total) + suffix(r.Note)
}

// failed says that the scheduler has failed over a job, and what becomes of it.
func (r Reason) failed() string {
	if r.Until == 0 {
		return "the scheduler failed while it worked this out"
	}
	return "the scheduler failed while it looked at this workload, and plans without it until " + time.UnixMilli(r.Until).UTC().Format(time.RFC3339)
}
