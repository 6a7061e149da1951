package ledger

import (
	"slices"
)

// Next is what of j is to be placed next, all or nothing, and whether it is
// below its minimum. The second result is empty where it wants no more.
func (j *Job) Next() (below bool, tries []Try) {
	if all := j.Options(); len(all) > 0 {
		tries = all[0]
	}
	return len(j.Deficits(0, 1)) > 0, tries
}

// Wants reports whether j has anything left to be placed.
func (j *Job) Wants() bool { return len(j.Options()) > 0 }

// Options are the ways to go on with j, the best first: below its minimum the
// sets of groups that would make it whole, else one task more of some group.
// Jobs of one job class that hold nothing have the same.
func (j *Job) Options() [][]Try {
	l := j.JobClass
	if len(j.Holds) > 0 || l == nil || l.Key.Own != "" {
		return j.findOptions()
	}
	if k := l.Class; k != nil {
		if !k.known {
			k.Options, k.known = j.findOptions(), true
		}
		return k.Options
	}
	if !l.known {
		l.options, l.known = j.findOptions(), true
	}
	return l.options
}

func (j *Job) findOptions() [][]Try {
	if ways := j.Deficits(0, maxWays); len(ways) > 0 {
		return slices.DeleteFunc(ways, func(tries []Try) bool { return !j.hasAll(tries) })
	}
	return j.growth(0)
}

// hasAll reports whether j has as many tasks left to place as the tries name.
func (j *Job) hasAll(tries []Try) bool {
	for _, t := range tries {
		if int(j.Placed[t.Group])+t.Count > j.Shape.Groups[t.Group].Wants() {
			return false
		}
	}
	return true
}

// maxWays bounds in how many ways a job of which not all groups are needed is
// made whole.
const maxWays = 32

// Deficits are the ways to make a set of j whole, at most limit; none: it is.
func (j *Job) Deficits(set, limit int) [][]Try {
	var open [][][]Try // of each member that is not whole, the ways to make it so
	members, whole := 0, 0
	for s := range j.Shape.Sets {
		if s == 0 || j.Shape.Sets[s].Parent != set {
			continue
		}
		members++
		if ways := j.Deficits(s, limit); len(ways) > 0 {
			open = append(open, ways)
		} else {
			whole++
		}
	}
	for g := range j.Shape.Groups {
		grp := &j.Shape.Groups[g]
		if grp.Set != set {
			continue
		}
		members++
		if short := grp.Min - int(j.Active[g]); short > 0 {
			open = append(open, [][]Try{{{g, short}}})
		} else {
			whole++
		}
	}
	want := members
	if m := j.Shape.Sets[set].MinGroups; m > 0 {
		want = min(m, members)
	}
	if lack := want - whole; lack > 0 {
		return combined(open, lack, limit, nil, nil)
	}
	return nil
}

// combined appends to out the ways to choose so many of open, those in front
// first, each in every way of its own.
func combined(open [][][]Try, lack, limit int, sofar []Try, out [][]Try) [][]Try {
	if lack == 0 {
		return append(out, slices.Clone(sofar))
	}
	for i := 0; i+lack <= len(open); i++ {
		for _, way := range open[i] {
			if len(out) >= limit {
				return out
			}
			out = combined(open[i+1:], lack-1, limit, slices.Concat(sofar, way), out)
		}
	}
	return out
}
