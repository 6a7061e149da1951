package cycle

import (
	"cmp"
	"slices"

	"github.com/musterhq/muster/internal/core/schedule/booking"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
)

// Honour makes room for those whose told time has come: who began later than
// that was told, and after them in line, leaves.
func (c *Pass) Honour() {
	st := c.St
	var due []*ledger.Job
	for _, j := range st.Announced {
		if j.Booked.At <= st.Now && j.Standing == 0 && j.Leaf >= 0 && j.JobClass != nil && st.Gate(j) == nil {
			due = append(due, j)
		}
	}
	slices.SortFunc(due, func(a, b *ledger.Job) int { return cmp.Or(cmp.Compare(a.Booked.At, b.Booked.At), ledger.Older(a, b)) })
	for _, j := range due {
		p := st.Pools[j.Booked.Pool]
		if p == nil || len(p.Sites) == 0 || !slices.Contains(st.PoolsOf(j), p) {
			continue
		}
		b := &booking.Booking{J: j, At: j.Booked.At, Announced: j.Booked}
		var guests []*ledger.Job
		for _, v := range slices.Backward(p.Q[j.Leaf].Victims) {
			if v.Standing > 0 && v.Started >= b.Announced.Since && c.MakesWay(b, v) {
				guests = append(guests, v)
			}
		}
		slices.SortFunc(guests, func(a, b *ledger.Job) int {
			return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(b.Started, a.Started), ledger.Older(b, a))
		})
		c.Relief(p, j, guests, true)
	}
}
