package fraction

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// reservation is a pod that holds a device of a slot.
type reservation struct {
	name   string
	uid    types.UID
	number int // 0 is the usual one; others were made to get hold of a device again
	state  state
	gpu    string // of one that holds one
	noted  bool   // the pod says so itself
	why    string // what a waiting one waits for, or why it failed
}

type state int

const (
	hoping state = iota // for its node
	holding
	broken
	leaving
)

// step is what is to be done about a slot.
type step struct {
	gpu  string        // what tasks get; empty: nothing yet
	make int           // number of the reservation to make; -1: none
	drop []reservation // what is not needed
	err  error         // there is no device for it
	lost bool          // the devices that tasks have cannot be held again
}

// errNoneLeft is where a reservation failed without saying why.
var errNoneLeft = errors.New("the node gave it no device")

// decide is what comes next for a slot. used: tasks share it. wanted are the
// devices that they already have: a reservation that was deleted by someone
// must come to hold the same again, or the node would give it to others. Its
// node chooses, so we go on making reservations, at most so many, until one has
// it, and then drop the rest.
func decide(used bool, wanted map[string]bool, all []reservation, most int) step {
	s := step{make: -1}
	var hopeful, has, bad []reservation
	gone := true
	for _, r := range all {
		switch r.state {
		case leaving:
			gone = false
		case hoping:
			hopeful = append(hopeful, r)
		case holding:
			has = append(has, r)
		case broken:
			bad = append(bad, r)
		}
	}
	if s.drop = bad; !used {
		s.drop = slices.Concat(bad, hopeful, has)
		return s
	}
	i := slices.IndexFunc(has, func(r reservation) bool { return len(wanted) == 0 || wanted[r.gpu] })
	switch {
	case i >= 0:
		s.keep(has, hopeful, i)
	case len(hopeful) > 0 || !gone:
	case len(bad) == 0 && len(has) < max(most, 1):
		s.make = unused(all)
	case len(has) > 0: // others have what our tasks use; what is left is as good as any
		s.lost = true
		s.keep(has, hopeful, 0)
	default:
		s.err = errNoneLeft
		if bad[0].why != "" {
			s.err = errors.New(bad[0].why)
		}
	}
	return s
}

// keep chooses one and drops the others.
func (s *step) keep(has, hopeful []reservation, i int) {
	s.gpu = has[i].gpu
	s.drop = slices.Concat(s.drop, has[:i], has[i+1:], hopeful)
}

// unused is the lowest number that no reservation has.
func unused(all []reservation) int {
	n := 0
	for slices.ContainsFunc(all, func(r reservation) bool { return r.number == n }) {
		n++
	}
	return n
}
