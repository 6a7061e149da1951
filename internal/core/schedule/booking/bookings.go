package booking

import (
	"cmp"
	"slices"

	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
)

// Reach is, by pool, the last of the times that somebody has.
func (bs *Books) Reach() map[*ledger.Pool]int64 {
	last := map[*ledger.Pool]int64{}
	for p, list := range bs.Booked {
		for _, b := range list {
			last[p] = max(last[p], b.At, b.Announced.At)
		}
	}
	return last
}

// Bookings are whose time is not what they were told.
func (bs *Books) Bookings() []schedule.Booked {
	st := bs.St
	best := map[*ledger.Job]schedule.Booking{}
	for _, list := range bs.Booked {
		for _, b := range list {
			if b.J.Standing > 0 {
				continue
			}
			x, known := best[b.J]
			kept := b.Announced == b.J.Booked
			if !known || x != b.J.Booked && (kept || cmp.Or(cmp.Compare(b.Announced.At, x.At), cmp.Compare(b.Announced.Pool, x.Pool)) < 0) {
				best[b.J] = b.Announced
			}
		}
	}
	var out []schedule.Booked
	for j, b := range best {
		if b != j.Booked {
			out = append(out, schedule.Booked{ID: j.ID, Booking: b})
		}
	}
	for id, j := range st.Announced {
		if _, still := best[j]; !still && j.Standing == 0 {
			out = append(out, schedule.Booked{ID: id})
		}
	}
	slices.SortFunc(out, func(a, b schedule.Booked) int { return cmp.Compare(a.ID, b.ID) })
	return out
}
