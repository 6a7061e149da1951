package state

import (
	"cmp"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
)

// Licenses are what there is of each, and what is held of it.
type Licenses map[string]*license

type license struct{ Total, Used int64 }

// All are what is counted for the whole site, by name.
func (ls Licenses) All() []schedule.License {
	out := make([]schedule.License, 0, len(ls))
	for name, l := range ls {
		out = append(out, schedule.License{Name: name, Total: l.Total})
	}
	slices.SortFunc(out, func(a, b schedule.License) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// charge takes j's licenses (sign 1), or gives them back (-1).
func (ls Licenses) charge(j *ledger.Job, sign int64) {
	for _, c := range j.Licenses {
		if l := ls[c.Name]; l != nil {
			l.Used += sign * c.N
		}
	}
}

// chargeFresh does so once a hold was made in this cycle, or taken back.
func (ls Licenses) chargeFresh(j *ledger.Job, taken bool) {
	switch {
	case len(j.Licenses) == 0 || len(j.Held) > 0:
	case taken && len(j.Holds) == 1:
		ls.charge(j, 1)
	case !taken && len(j.Holds) == 0:
		ls.charge(j, -1)
	}
}

// Unlicensed are the licenses that j lacks to start.
func (st *State) Unlicensed(j *ledger.Job) []schedule.Reason { return st.UnlicensedAfter(j, nil) }

// UnlicensedAfter are those that it lacks once some have ended.
func (st *State) UnlicensedAfter(j *ledger.Job, ended []*ledger.Job) []schedule.Reason {
	if len(j.Licenses) == 0 || j.Licensed() {
		return nil
	}
	var all []schedule.Reason
	for _, c := range j.Licenses {
		r := schedule.Reason{Token: schedule.WaitingForLicense, Resource: c.Name, Requested: c.N}
		if l := st.Lic[c.Name]; l != nil {
			r.Total, r.Allocated = l.Total, l.Used
		}
		for _, x := range ended {
			r.Allocated -= countOf(x.Licenses, c.Name)
		}
		if r.Free = max(r.Total-r.Allocated, 0); c.N > r.Free {
			all = append(all, r)
		}
	}
	for i := range all {
		all[i].Holders = st.Lic.holders(all[i].Resource, st.Jobs)
	}
	return all
}

func countOf(all []schedule.Count, name string) int64 {
	for _, c := range all {
		if c.Name == name {
			return c.N
		}
	}
	return 0
}

// holdersShown is how many holders a reason names.
const holdersShown = 5

// holders are those who hold the most of a license, the most first.
func (ls Licenses) holders(name string, jobs map[core.WorkloadID]*ledger.Job) []schedule.Holder {
	var all []schedule.Holder
	for _, j := range jobs {
		if n := countOf(j.Licenses, name); n > 0 && j.Licensed() {
			all = append(all, schedule.Holder{ID: j.ID, N: n})
		}
	}
	slices.SortFunc(all, func(a, b schedule.Holder) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.ID, b.ID)) })
	return all[:min(len(all), holdersShown)]
}
