package booking

import (
	"github.com/musterhq/muster/internal/core/schedule/ledger"
)

// occupy keeps the room that b will need; with leave, who has left by then leaves
// it. False: it cannot be had any more. To be undone.
func (bs *Books) occupy(b *Booking, leave bool) bool {
	st := bs.St
	for _, x := range b.placements {
		s := x.Site
		var gone []*ledger.Hold
		for _, holds := range [][]*ledger.Hold{s.Holds, bs.guests[s]} {
			for _, h := range holds {
				if !h.Leaving && !h.Gone && bs.leavesBy(b, h.Job) {
					s.Soon.Move(h, 1)
					gone = append(gone, h)
				}
			}
		}
		var kept []*ledger.Hold
		for range x.Count {
			h := ledger.Draft(b.J, 0, x.Ask, s)
			if !s.Soon.Fits(s, x.Ask) {
				break
			}
			if h.Devs = lastFree(s, x.Ask); len(h.Devs) < x.Ask.Need.Devices {
				break
			}
			s.Soon.Move(h, -1)
			kept = append(kept, h)
		}
		for _, h := range kept {
			s.Soon.Move(h, 1)
		}
		for _, h := range gone {
			s.Soon.Move(h, -1)
		}
		if leave {
			for _, h := range gone {
				st.Do(ledger.Entry{Op: ledger.Went, H: h})
			}
		}
		for _, h := range kept {
			st.Do(ledger.Entry{Op: ledger.Books, H: h})
		}
		if len(kept) < x.Count {
			return false
		}
	}
	return true
}

// lastFree are devices for a task of a that will be free: those that are not yet,
// where there are such.
func lastFree(s *ledger.Site, a *ledger.Ask) []int32 {
	m := s.Milli(a)
	var out []int32
	for _, ready := range []bool{false, true} {
		for d := range s.Soon.Dev {
			if len(out) < a.Need.Devices && s.Soon.Dev[d] >= m && (s.Now.Dev[d] >= m) == ready && s.Is(d, a.Need.Type) {
				out = append(out, int32(d))
			}
		}
	}
	return out
}
