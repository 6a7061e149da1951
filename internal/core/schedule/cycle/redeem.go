package cycle

import (
	"cmp"
	"math"
	"slices"

	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/place"
)

// Redeem places those first for whom others were told to leave: at once where
// all of their room is free, else on the room that is about to be. Who moved
// for them comes after them, or would take its old place again.
func (c *Pass) Redeem() {
	st := c.St
	var promised []*ledger.Job
	for _, k := range st.ClassList {
		if !k.Key.Own {
			continue
		}
		for _, l := range k.JobClasses {
			if l.Jobs[0].Promised || l.Jobs[0].Moved {
				promised = append(promised, l.Jobs[0])
			}
		}
	}
	slices.SortFunc(promised, func(a, b *ledger.Job) int {
		return cmp.Or(cmp.Compare(rank0(a), rank0(b)), cmp.Compare(ledger.Bit(a.Moved), ledger.Bit(b.Moved)), cmp.Compare(b.Priority, a.Priority), ledger.Older(a, b))
	})
	for _, j := range promised {
		if st.Gate(j) != nil {
			continue
		}
		for _, p := range st.PoolsOf(j) {
			if c.redeemIn(p, j) {
				break
			}
		}
	}
}

// redeemIn places as many tasks of j in p as it was promised, step by step; what
// it wants beyond that waits for its turn. It reports whether any were placed.
// Others have left for it by a right that no booking takes away, so that it asks
// for none and keeps out of nobody's way.
func (c *Pass) redeemIn(p *ledger.Pool, j *ledger.Job) bool {
	had := len(j.Holds)
	for c.redeemStep(p, j) && len(j.Holds)-had < j.Owed && j.Wants() {
	}
	return len(j.Holds) > had
}

func (c *Pass) redeemStep(p *ledger.Pool, j *ledger.Job) bool {
	st := c.St
	st.BeginLook(schedule.Allocate, j)
	if st.Crowded(j) != nil {
		return false
	}
	for _, tries := range j.Options() {
		if st.Permits(j, p, st.Cost(j, p, tries)) && place.PlaceIn(st, p, j, tries) {
			return true
		}
	}
	return false
}

// rank0 is a promised job's place in line: as the plan placed them, so that they
// fit again as they did then; those of whom no plan has spoken come last.
func rank0(j *ledger.Job) int {
	if j.Rank == 0 {
		return math.MaxInt
	}
	return j.Rank
}
