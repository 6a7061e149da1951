package ledger

import (
	"cmp"
	"math"
	"slices"
)

// member is a set or a group, as a member of the set it is in.
type member struct {
	set, group int // one of them; the other is negative
	first      int // the first group in it, by which members are ordered
	ratio      float64
}

// growth are the ways to go on with a set of j that has its minimum, the best
// first. At each level those come first that are not whole, which then must not
// be there: all they lack, or nothing. Then the member with the least beyond its
// minimum, in proportion to it; in that it goes on the same way.
func (j *Job) growth(set int) [][]Try {
	var out [][]Try
	for _, m := range j.members(set) {
		switch {
		case m.group >= 0:
			grp := &j.Shape.Groups[m.group]
			out = append(out, []Try{{m.group, max(grp.Min-int(j.Active[m.group]), 1)}})
		case m.ratio < 0:
			out = append(out, j.Deficits(m.set, maxWays)...)
		default:
			out = append(out, j.growth(m.set)...)
		}
	}
	return slices.DeleteFunc(out, func(tries []Try) bool { return !j.hasAll(tries) })
}

// members are those of a set that has its minimum, in the order in which they
// grow.
func (j *Job) members(set int) []member {
	var all []member
	for s := range j.Shape.Sets {
		if s > 0 && j.Shape.Sets[s].Parent == set {
			m := member{set: s, group: -1, first: j.firstGroup(s)}
			if have, need := j.filled(s); len(j.Deficits(s, 1)) > 0 {
				m.ratio = -1
			} else {
				m.ratio = float64(have) / float64(max(need, 1))
			}
			all = append(all, m)
		}
	}
	for g := range j.Shape.Groups {
		if grp := &j.Shape.Groups[g]; grp.Set == set {
			m := member{set: -1, group: g, first: g, ratio: float64(j.Active[g]) / float64(max(grp.Min, 1))}
			if int(j.Active[g]) < grp.Min {
				m.ratio = -1
			}
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b member) int { return cmp.Or(cmp.Compare(a.ratio, b.ratio), cmp.Compare(a.first, b.first)) })
	return all
}

func (j *Job) firstGroup(set int) int {
	for g := range j.Shape.Groups {
		if j.InSet(g, set) {
			return g
		}
	}
	return math.MaxInt
}

// filled is how many tasks a set of j has, and how many it needs at least.
func (j *Job) filled(set int) (have, need int) {
	var least []int
	for s := range j.Shape.Sets {
		if s > 0 && j.Shape.Sets[s].Parent == set {
			h, n := j.filled(s)
			have += h
			least = append(least, n)
		}
	}
	for g := range j.Shape.Groups {
		if grp := &j.Shape.Groups[g]; grp.Set == set {
			have += int(j.Active[g])
			least = append(least, grp.Min)
		}
	}
	slices.Sort(least)
	if m := j.Shape.Sets[set].MinGroups; m > 0 && m < len(least) {
		least = least[:m]
	}
	for _, n := range least {
		need += n
	}
	return have, need
}

// Shrink is what j gives up first of a set that has its minimum: a task of one
// group, or, where a member need not be there, all tasks of its groups. It is
// what grew last. Without groups there is nothing.
func (j *Job) Shrink(set int) (groups []int, all bool) {
	ms := j.members(set)
	slices.Reverse(ms)
	for _, m := range ms {
		switch {
		case m.group >= 0 && int(j.Active[m.group]) > j.Shape.Groups[m.group].Min:
			return []int{m.group}, false
		case m.set >= 0 && m.ratio >= 0:
			if groups, all = j.Shrink(m.set); groups != nil {
				return groups, all
			}
		}
	}
	least, whole := j.Shape.Sets[set].MinGroups, 0
	for _, m := range ms {
		if m.ratio >= 0 {
			whole++
		}
	}
	if least == 0 || whole <= least {
		return nil, false
	}
	for _, m := range ms {
		for g := range j.Shape.Groups {
			if j.Active[g] > 0 && (g == m.group || m.set >= 0 && j.InSet(g, m.set)) {
				groups = append(groups, g)
			}
		}
		if groups != nil {
			return groups, true
		}
	}
	return nil, false
}
