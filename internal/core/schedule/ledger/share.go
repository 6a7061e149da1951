package ledger

import (
	"cmp"
	"slices"
)

// Shared reports whether a, a share of devices, has room, now or soon, on devices
// that others have shares of at present.
func (s *Site) Shared(a *Ask) bool {
	if a.Need.Devices == 0 {
		return false
	}
	m := s.Milli(a)
	if m >= 1000 {
		return false
	}
	k := 0
	for d := range s.Soon.Dev {
		if s.Soon.Dev[d] >= m && s.inParts(d) && s.Is(d, a.Need.Type) {
			k++
		}
	}
	return k >= a.Need.Devices
}

// inParts reports whether somebody has a share of a device, though they may all be
// about to leave.
func (s *Site) inParts(d int) bool { return s.Soon.Dev[d] < 1000 || s.Now.parts[d] > 0 }

// Opens reports whether devs, chosen for a task of a, are the fullest with room,
// and still some of them nobody uses yet. Of several devices each the choice may
// have been another, so that more of its kind fit later.
func (s *Site) Opens(a *Ask, devs []int32, later bool) bool {
	if !slices.ContainsFunc(devs, func(d int32) bool { return !s.inParts(int(d)) }) {
		return false
	}
	return a.Need.Devices == 1 || slices.Equal(devs, s.pick(a, true, later))
}

// Join returns the shared devices that a task of a gets, though some have room
// only once others have left: those with room now first, then the fullest. That
// one of them is about to have room counts for more than that a device nobody
// uses has it now; so it does between nodes, see rank.
func (s *Site) Join(a *Ask) []int32 {
	m := s.Milli(a)
	out := make([]int32, 0, len(s.Soon.Dev))
	for d, free := range s.Soon.Dev {
		if free >= m && s.inParts(d) && s.Is(d, a.Need.Type) {
			out = append(out, int32(d))
		}
	}
	slices.SortStableFunc(out, func(x, y int32) int {
		return cmp.Or(Bit(s.Now.Dev[y] >= m)-Bit(s.Now.Dev[x] >= m), int(s.Soon.Dev[x]-s.Soon.Dev[y]))
	})
	return out[:a.Need.Devices]
}
