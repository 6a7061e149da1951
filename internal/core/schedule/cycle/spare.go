package cycle

import (
	"slices"

	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/displace"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/place"
)

// Spare leaves those where they are, in the end, whose room nobody has been
// given: each was told to go because one search could not do without, and a later
// one may have made that needless. Who leaves for somebody that has been given
// nothing after all leaves for the one that has the room.
func (c *Pass) Spare() {
	victims, evicted := c.victims()
	for _, j := range slices.Backward(victims) {
		if !c.spares(j, evicted) {
			c.attribute(j)
		}
	}
	some := false
	for tries, again := 0, true; again && tries < mostReseats; {
		again = false
		for _, j := range slices.Backward(victims) {
			if tries++; c.reseats(j, evicted) {
				some, again = true, true
				break
			}
		}
	}
	if some {
		c.Walk(schedule.Allocate) // a pool that one has left for another may have room
	}
}

// mostReseats bounds for how many victims of a cycle it is tried whether the one
// they leave for finds another place by now.
const mostReseats = 64

// reseats leaves victim j where it is and gives the one it leaves for another
// place, if there is one by now: its search looked for that before later searches
// made room that they did not use up.
func (c *Pass) reseats(j *ledger.Job, evicted map[*ledger.Hold]bool) bool {
	st, by := c.St, c.St.Jobs[c.Cause[j].By]
	if by == nil || by == j || c.Cause[j].Cause == schedule.Consolidate {
		return false
	}
	var left []*ledger.Hold
	for _, x := range j.Holds {
		switch {
		case x.Leaving && evicted[x]:
			left = append(left, x)
		case x.Leaving || x.Fresh:
			return false
		}
	}
	if len(left) == 0 {
		return false
	}
	var tries []ledger.Try
	var held []*ledger.Hold
	waits := false
	for _, x := range by.Holds {
		if !x.Fresh || x.Leaving || x.Moves {
			return false
		}
		held, waits = append(held, x), waits || x.Later
		if i := slices.IndexFunc(tries, func(t ledger.Try) bool { return t.Group == int(x.Group) }); i >= 0 {
			tries[i].Count++
		} else {
			tries = append(tries, ledger.Try{Group: int(x.Group), Count: 1})
		}
	}
	if len(held) == 0 {
		return false
	}
	mark := len(st.Log)
	for _, x := range slices.Backward(held) {
		st.Evict(x)
	}
	if !c.remain(j, left, nil) || !c.seat(by, tries, held[0].Site.Pool) {
		st.Undo(mark)
		return false
	}
	if waits {
		for _, x := range by.Holds {
			st.Wait(x)
		}
	}
	return true
}

// seat gives j a place: in p, or else in another pool that it may use.
func (c *Pass) seat(j *ledger.Job, tries []ledger.Try, p *ledger.Pool) bool {
	st := c.St
	pools := []*ledger.Pool{p}
	for _, name := range st.PoolNames() {
		if q := st.Pools[name]; q != p && (len(j.Pools) == 0 || slices.Contains(j.Pools, name)) {
			pools = append(pools, q)
		}
	}
	if st.Full(j) != nil {
		return false
	}
	mark := len(st.Log)
	for _, q := range pools {
		if st.Permits(j, q, st.Cost(j, q, tries)) && place.PlaceIn(st, q, j, tries) && c.Clear(q, j, j.Holds) {
			return true
		}
		st.Undo(mark)
	}
	return false
}

// victims are those whom searches of this cycle make leave, in the order in which
// they were told to, and which holds were told to go in it.
func (c *Pass) victims() (all []*ledger.Job, evicted map[*ledger.Hold]bool) {
	seen := map[*ledger.Job]bool{}
	evicted = map[*ledger.Hold]bool{}
	for _, e := range c.St.Log {
		if e.Op != ledger.Went {
			continue
		}
		evicted[e.H] = true
		if !e.H.Leaving || seen[e.H.Job] {
			continue
		}
		seen[e.H.Job] = true
		if slices.Contains([]schedule.Action{schedule.Reclaim, schedule.Preempt, displace.Relieve, schedule.Consolidate}, c.Cause[e.H.Job].Cause) {
			all = append(all, e.H.Job)
		}
	}
	return all, evicted
}

// spares leaves j, or of one that only loses some tasks each of these, where it
// is; false: something of it goes all the same.
func (c *Pass) spares(j *ledger.Job, evicted map[*ledger.Hold]bool) bool {
	var left, moved []*ledger.Hold
	for _, x := range j.Holds {
		switch {
		case x.Leaving && evicted[x]:
			left = append(left, x)
		case x.Fresh && x.Moves:
			moved = append(moved, x)
		}
	}
	if c.remain(j, left, moved) {
		return true
	}
	if j.Standing == 0 || len(moved) > 0 || len(j.Deficits(0, 1)) > 0 {
		return false
	}
	all := true
	for _, x := range left {
		all = c.remain(j, []*ledger.Hold{x}, nil) && all
	}
	return all
}

// remain leaves those holds where they are instead of where they were to move
// to, or does nothing.
func (c *Pass) remain(j *ledger.Job, left, moved []*ledger.Hold) bool {
	st := c.St
	mark := len(st.Log)
	for _, y := range moved {
		st.Evict(y)
	}
	var amount quota.Amounts
	for _, x := range left {
		amount = amount.Add(x.Amount)
	}
	ok := st.Crowded(j) == nil && st.Permits(j, left[0].Site.Pool, amount)
	for i := 0; ok && i < len(left); i++ {
		ok = st.Stay(left[i])
	}
	if !ok {
		st.Undo(mark)
		return false
	}
	place.Gather(st, j)
	return true
}

// attribute notes who has the room of j, if that is not the one it was to leave
// for.
func (c *Pass) attribute(j *ledger.Job) {
	if by := c.St.Jobs[c.Cause[j].By]; by != nil && slices.ContainsFunc(by.Holds, func(x *ledger.Hold) bool { return x.Fresh && !x.Leaving }) {
		return
	}
	for _, e := range c.St.Log {
		if e.Op == ledger.Took && !e.H.Gone && e.H.Job != j && slices.ContainsFunc(j.Holds, func(x *ledger.Hold) bool { return x.Leaving && x.Site == e.H.Site }) {
			c.Cause[j] = displace.Verdict{Cause: displace.Between(c.Cause[j].Cause, j, e.H.Job), By: e.H.Job.ID}
			return
		}
	}
}
