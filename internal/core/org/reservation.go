package org

import (
	"cmp"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
)

// CheckReservation says why a reservation cannot be as it is. Pools is what
// pools there are.
func CheckReservation(r *core.Reservation, pools []string, exists func(core.ProjectID) bool) error {
	if err := named(r.Name); err != nil {
		return err
	}
	every := r.Repeat.Every()
	switch {
	case r.Start.IsZero():
		return wrong("start", "like 2026-12-24T18:00:00Z", "is missing")
	case r.Duration <= 0:
		return wrong("duration", "like 2h", "%v is no length of time", r.Duration)
	case r.Duration > mostReserved:
		return wrong("duration", "at most a year", "%v is too long", r.Duration)
	case r.Repeat != core.Once && every == 0:
		return wrong("repeat", "daily or weekly", "%q is not known", r.Repeat)
	case every > 0 && r.Duration > every:
		return wrong("duration", "it begins again before it has ended", "%v is longer than it takes until it comes again (%v)", r.Duration, every)
	}
	if err := reserves(r, pools); err != nil {
		return err
	}
	for _, id := range r.Projects {
		if !exists(id) {
			return wrong("projects", "muster project list shows the projects", "%q does not exist", id)
		}
	}
	switch whom := len(r.Projects) + len(r.Users); {
	case r.Maintenance && whom > 0:
		return wrong("maintenance", "leave out projects and users, or maintenance", "a maintenance window is for nobody")
	case r.Maintenance && r.Magnetic:
		return wrong("magnetic", "leave it out", "a maintenance window is for nobody")
	case !r.Maintenance && whom == 0:
		return wrong("projects", "name projects or users, or say maintenance", "nobody is named for whom it is")
	}
	return nil
}

// mostReserved is the longest time of a reservation.
const mostReserved = 366 * 24 * time.Hour

// reserves says why r names no nodes.
func reserves(r *core.Reservation, pools []string) error {
	ways := 0
	for _, given := range []bool{len(r.Nodes) > 0, r.Selector.Key != "", r.Pool != ""} {
		if given {
			ways++
		}
	}
	switch {
	case ways == 0:
		return wrong("nodes", "write nodes, selector or pool", "it does not say which nodes it keeps")
	case ways > 1:
		return wrong("nodes", "write one of nodes, selector and pool", "the nodes are named in more than one way")
	case r.NodeCount < 0 || r.GPUs < 0:
		return wrong("nodeCount", "write a number above 0", "a count of nodes or GPUs is negative")
	case r.NodeCount > 0 && r.GPUs > 0:
		return wrong("gpus", "write one of them", "nodeCount and gpus cannot both say how many nodes there are")
	case r.Pool == "" && r.NodeCount+r.GPUs > 0:
		return wrong("pool", "name the pool that they are taken of", "nodeCount and gpus are of a pool, and none is named")
	case r.Pool != "":
		return listed("pool", []string{r.Pool}, pools)
	case r.Selector.Key != "":
		return CheckLabel("selector", r.Selector)
	}
	return nil
}

// ReservedNodes are the nodes that r keeps, sorted.
func ReservedNodes(r *core.Reservation, nodes map[core.NodeID]core.Node) []core.NodeID {
	var out []core.NodeID
	switch {
	case len(r.Nodes) > 0:
		out = slices.Clone(r.Nodes)
	case r.NodeCount+r.GPUs > 0:
		out = slices.Clone(r.Chosen)
	default:
		for id, n := range nodes {
			if r.Pool != "" && n.Pool == r.Pool || r.Selector.Key != "" && n.Labels[r.Selector.Key] == r.Selector.Value {
				out = append(out, id)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Candidate is a node that a reservation might keep.
type Candidate struct {
	Node  core.Node
	Taken bool // another reservation keeps it for some of the time
	Fixed int  // thousandths of GPUs, and tasks, of what is not displaced and does not end in time
	Held  int  // the same of all others
}

// Choose are as many of the candidates as r asks for, those first that cost
// least to keep. The second result is how many nodes, or GPUs, there would be.
func Choose(r *core.Reservation, all []Candidate) ([]core.NodeID, int) {
	free := slices.DeleteFunc(slices.Clone(all), func(c Candidate) bool {
		return c.Taken || !c.Node.Ready || c.Node.Cordon || c.Node.Pool != r.Pool || r.GPUs > 0 && healthy(c.Node) == 0
	})
	slices.SortFunc(free, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(a.Fixed, b.Fixed), cmp.Compare(a.Held, b.Held), cmp.Compare(a.Node.ID, b.Node.ID))
	})
	var out []core.NodeID
	have := 0
	for _, c := range free {
		one := 1
		if r.GPUs > 0 {
			one = healthy(c.Node)
		}
		if have < r.NodeCount+r.GPUs {
			out = append(out, c.Node.ID)
		}
		have += one
	}
	if have < r.NodeCount+r.GPUs {
		return nil, have
	}
	slices.Sort(out)
	return out, have
}

func healthy(n core.Node) int {
	k := 0
	for _, d := range n.Devices {
		if d.Healthy {
			k++
		}
	}
	return k
}

// Overlap reports whether two reservations are at the same time at some time
// after now.
func Overlap(a, b *core.Reservation, now time.Time) bool {
	x, y := a.Repeat.Every(), b.Repeat.Every()
	if x == 0 && y == 0 {
		return now.Before(a.Start.Add(a.Duration)) && now.Before(b.Start.Add(b.Duration)) && a.Start.Before(b.Start.Add(b.Duration)) && b.Start.Before(a.Start.Add(a.Duration))
	}
	if x == 0 {
		a, b, x = b, a, y
		y = 0
	}
	if y == 0 { // one that comes again, and one that does not: the times of the first around the second
		if !now.Before(b.Start.Add(b.Duration)) {
			return false
		}
		from := b.Start
		if from.Before(now) {
			from = now
		}
		start, _, _ := a.At(from)
		return start.Before(b.Start.Add(b.Duration))
	}
	// Both come again: by where they begin in the shorter of their times.
	every := min(x, y)
	gap := b.Start.Sub(a.Start) % every
	if gap < 0 {
		gap += every
	}
	return gap < a.Duration || every-gap < b.Duration
}
