package displace

import (
	"cmp"
	"slices"

	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// unit is what leaves together: one task that a job can do without, or all of it.
type unit struct {
	job   *ledger.Job
	holds []*ledger.Hold
	leaf  int32
	whole bool
	moved bool           // it has another place in the same plan
	next  []*ledger.Hold // that place
}

// all is the whole of j that is not leaving already.
func all(j *ledger.Job) unit {
	u := unit{job: j, leaf: j.Leaf, whole: true}
	for _, x := range j.Holds {
		if !x.Leaving {
			u.holds = append(u.holds, x)
		}
	}
	return u
}

// unitOf is the least of v that can leave at once: a task above a minimum, a
// group that need not be there, or all of it.
func unitOf(st *state.State, v *ledger.Job) unit {
	if len(v.Holds) == 1 && !v.Holds[0].Fresh && !v.Holds[0].Leaving {
		return unit{job: v, leaf: v.Leaf, whole: true, holds: v.Holds[:1:1]} // what it gets beside that comes after
	}
	u := all(v)
	all := u.holds
	if len(v.Deficits(0, 1)) > 0 {
		return u
	}
	switch groups, every := v.Shrink(0); {
	case groups == nil:
		return u
	case every:
		u.holds = slices.DeleteFunc(slices.Clone(all), func(x *ledger.Hold) bool { return !slices.Contains(groups, int(x.Group)) })
	default:
		for i := len(all) - 1; i >= 0; i-- {
			if int(all[i].Group) == groups[0] {
				u.holds = all[i : i+1]
				break
			}
		}
	}
	u.whole = len(u.holds) == len(all)
	return u
}

// size is how much of devices, or else of cores, the unit has.
func (u *unit) size() int64 {
	amount := u.amount()
	return cmp.Or(amount[quota.GPU], amount[quota.CPU])
}

// near reports whether the units have tasks on one node.
func (u *unit) near(v *unit) bool {
	return slices.ContainsFunc(u.holds, func(x *ledger.Hold) bool {
		return slices.ContainsFunc(v.holds, func(y *ledger.Hold) bool { return x.Site == y.Site })
	})
}

func (u *unit) amount() quota.Amounts {
	var sum quota.Amounts
	for _, x := range u.holds {
		sum = sum.Add(x.Amount)
	}
	return sum
}

// fresh reports whether the unit has its room since this cycle only: it costs
// nothing that it does not start.
func (u *unit) fresh() bool {
	return !slices.ContainsFunc(u.holds, func(x *ledger.Hold) bool { return !x.Fresh })
}

// same reports whether u and v are of the same holds.
func (u *unit) same(v *unit) bool { return u.job == v.job && u.holds[0] == v.holds[0] }

// present is the hold that its task has by now: that of who follows one that is gone
// or was told to go. Two may have followed each other several times.
func present(x *ledger.Hold) *ledger.Hold {
	for range 8 {
		if !x.Gone && !x.Leaving || x.Heir == nil {
			break
		}
		x = x.Heir
	}
	return x
}
