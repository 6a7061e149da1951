package ledger

import (
	"slices"

	"github.com/musterhq/muster/internal/core/schedule"
)

// Devices chooses which devices of s a task gets.
func (n *Nodes) Devices(s *Site, a *Ask, later bool) []int32 {
	if s.Milli(a) == 1000 && s.Node.Links.Known(len(s.Node.Devices)) {
		if devs := s.Closest(a, later); devs != nil {
			return devs
		}
	}
	if s.Pool.GPU == schedule.Fill && n.Fill != nil && a.Need.Devices == 1 && s.Milli(a) < 1000 {
		if devs := n.Fill.choose(s, a, later); devs != nil {
			return devs
		}
	}
	return s.choose(a, s.Pool.Devices != schedule.Spread, later)
}

// choose returns the devices that a task of a gets, with pack the fullest that
// have room first. What is free now comes before what will be. Of a share of
// several devices each it takes the emptiest where the fullest would leave room
// for fewer of its kind than need be.
func (s *Site) choose(a *Ask, pack, soon bool) []int32 {
	out := s.pick(a, pack, soon)
	if m := s.Milli(a); !pack || a.Need.Devices < 2 || m >= 1000 || out == nil {
		return out
	}
	before := s.roomDevices(a)
	s.shift(out, -s.Milli(a))
	after := s.roomDevices(a)
	s.shift(out, s.Milli(a))
	if after < before-1 {
		return s.pick(a, false, soon)
	}
	return out
}

func (s *Site) shift(devs []int32, by int32) {
	for _, d := range devs {
		s.Soon.Dev[d] += by
	}
}

func (s *Site) pick(a *Ask, pack, soon bool) []int32 {
	n := a.Need.Devices
	if n == 0 {
		return nil
	}
	m := s.Milli(a)
	out := make([]int32, 0, n)
	for len(out) < n {
		best := int32(-1)
		var bestFree int32
		for d := range s.Soon.Dev {
			free, ready := s.Soon.Dev[d], s.Now.Dev[d] >= m
			if free < m || !soon && !ready || !s.Is(d, a.Need.Type) || slices.Contains(out, int32(d)) {
				continue
			}
			if !pack {
				free = 1000 - free
			}
			if !ready {
				free += 4000 // after all that are free now
			}
			if best < 0 || free < bestFree {
				best, bestFree = int32(d), free
			}
		}
		if best < 0 {
			return nil
		}
		out = append(out, best)
	}
	return out
}
