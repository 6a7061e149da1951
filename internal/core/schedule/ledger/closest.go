package ledger

// mostSets bounds how many free devices are looked at in all combinations.
const mostSets = 12

// Closest returns the whole devices that a task of a gets on a site whose links
// are known: those whose worst link is the best, of these with the most in all,
// and of these those that are the least close to the ones left free, so that sets
// close to one another stay whole. The lowest indexes win ties. What is free now
// comes before what will be. It is nil where too many are free to try all, or too
// few.
func (s *Site) Closest(a *Ask, later bool) []int32 {
	k := a.Need.Devices
	free := s.unused(a, false)
	if len(free) < k && later {
		free = s.unused(a, true)
	}
	if k == 0 || len(free) < k || len(free) > mostSets {
		return nil
	}
	best, found := closeness{}, uint(0)
	for set := uint(1); set < 1<<len(free); set++ {
		if ones(set) != k {
			continue
		}
		if c := s.closeness(free, set); found == 0 || c.better(best) {
			best, found = c, set
		}
	}
	out := make([]int32, 0, k)
	for i, d := range free {
		if found&(1<<i) != 0 {
			out = append(out, d)
		}
	}
	return out
}

// ones is how many bits of a set are one.
func ones(set uint) (n int) {
	for ; set != 0; set &= set - 1 {
		n++
	}
	return n
}

// unused are the devices that a may have all of, now or soon.
func (s *Site) unused(a *Ask, soon bool) []int32 {
	var out []int32
	for d := range s.Soon.Dev {
		if s.Soon.Dev[d] >= 1000 && (soon || s.Now.Dev[d] >= 1000) && s.Is(d, a.Need.Type) {
			out = append(out, int32(d))
		}
	}
	return out
}

// closeness is how close devices of a set are to one another, and to the rest.
type closeness struct{ worst, inside, across int }

func (c closeness) better(than closeness) bool {
	if c.worst != than.worst {
		return c.worst > than.worst
	}
	if c.inside != than.inside {
		return c.inside > than.inside
	}
	return c.across < than.across
}

func (s *Site) closeness(free []int32, set uint) closeness {
	c, n := closeness{worst: 1 << 10}, len(s.Node.Devices)
	for i, x := range free {
		if set&(1<<i) == 0 {
			continue
		}
		for k, y := range free {
			link := int(s.Node.Links.Between(int(x), int(y), n))
			switch {
			case k == i:
			case set&(1<<k) == 0:
				c.across += 1 << link // one close link counts more than several far ones
			case k > i:
				c.worst = min(c.worst, link)
				c.inside += link
			}
		}
	}
	return c
}
