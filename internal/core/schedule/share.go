package schedule

import (
	"cmp"
	"slices"
)

// joins reports whether a, a share of devices, goes to devices that others have
// shares of already rather than open others. Where Fill knows the work, that is
// for it to judge; so it is for a pool that spreads.
func (st *State) joins(s *site, a *ask) bool {
	return a.need.Milli < 1000 && a.need.Devices > 0 && !st.cfg.NoSharing && s.pool.Devices != Spread && !(s.pool.GPU == Fill && st.fill != nil)
}

// shared reports whether a, a share of devices, has room, now or soon, on devices
// that others have shares of at present.
func (s *site) shared(a *ask) bool {
	if a.need.Devices == 0 {
		return false
	}
	m := s.milli(a)
	if m >= 1000 {
		return false
	}
	k := 0
	for d := range s.soon.dev {
		if s.soon.dev[d] >= m && s.inParts(d) && s.is(d, a.need.Type) {
			k++
		}
	}
	return k >= a.need.Devices
}

// inParts reports whether somebody has a share of a device, though they may all be
// about to leave.
func (s *site) inParts(d int) bool { return s.soon.dev[d] < 1000 || s.now.parts[d] > 0 }

// opens reports whether devs, chosen for a task of a, are the fullest with room,
// and still some of them nobody uses yet. Of several devices each the choice may
// have been another, so that more of its kind fit later.
func (s *site) opens(a *ask, devs []int32, later bool) bool {
	if !slices.ContainsFunc(devs, func(d int32) bool { return !s.inParts(int(d)) }) {
		return false
	}
	return a.need.Devices == 1 || slices.Equal(devs, s.pick(a, true, later))
}

// join returns the shared devices that a task of a gets, though some have room
// only once others have left: those with room now first, then the fullest. That
// one of them is about to have room counts for more than that a device nobody
// uses has it now; so it does between nodes, see rank.
func (s *site) join(a *ask) []int32 {
	m := s.milli(a)
	out := make([]int32, 0, len(s.soon.dev))
	for d, free := range s.soon.dev {
		if free >= m && s.inParts(d) && s.is(d, a.need.Type) {
			out = append(out, int32(d))
		}
	}
	slices.SortStableFunc(out, func(x, y int32) int {
		return cmp.Or(bit(s.now.dev[y] >= m)-bit(s.now.dev[x] >= m), int(s.soon.dev[x]-s.soon.dev[y]))
	})
	return out[:a.need.Devices]
}
