package state

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/musterhq/muster/internal/core/schedule"
)

// licenses are what there is of each, and what is held of it.
type licenses map[string]*license

type license struct{ Total, Used int64 }

// SetLicenses replaces what is counted for the whole site.
func (st *State) SetLicenses(all []schedule.License) {
	st.Changes()
	st.Lic = licenses{}
	for _, l := range all {
		st.Lic[l.Name] = &license{Total: l.Total}
	}
	for _, j := range st.Jobs {
		if j.licensed() {
			st.charge(j, 1)
		}
	}
}

// Licenses are what is counted for the whole site, by name.
func (st *State) Licenses() []schedule.License {
	out := make([]schedule.License, 0, len(st.Lic))
	for name, l := range st.Lic {
		out = append(out, schedule.License{Name: name, Total: l.Total})
	}
	slices.SortFunc(out, func(a, b schedule.License) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// licensed reports whether j holds its licenses: with the first of its tasks,
// until the last has ended, so that one that was told to leave still has them.
func (j *Job) licensed() bool { return len(j.Held) > 0 || len(j.Holds) > 0 }

// charge takes j's licenses (sign 1), or gives them back (-1).
func (st *State) charge(j *Job, sign int64) {
	for _, c := range j.Licenses {
		if l := st.Lic[c.Name]; l != nil {
			l.Used += sign * c.N
		}
	}
}

// chargeFresh does so once a hold was made in this cycle, or taken back.
func (st *State) chargeFresh(j *Job, taken bool) {
	switch {
	case len(j.Licenses) == 0 || len(j.Held) > 0:
	case taken && len(j.Holds) == 1:
		st.charge(j, 1)
	case !taken && len(j.Holds) == 0:
		st.charge(j, -1)
	}
}

// Unlicensed are the licenses that j lacks to start.
func (st *State) Unlicensed(j *Job) []schedule.Reason { return st.UnlicensedAfter(j, nil) }

// UnlicensedAfter are those that it lacks once some have ended.
func (st *State) UnlicensedAfter(j *Job, ended []*Job) []schedule.Reason {
	if len(j.Licenses) == 0 || j.licensed() {
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
		all[i].Holders = st.licensees(all[i].Resource)
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

// licensees are those who hold the most of a license, the most first.
func (st *State) licensees(name string) []schedule.Holder {
	var all []schedule.Holder
	for _, j := range st.Jobs {
		if n := countOf(j.Licenses, name); n > 0 && j.licensed() {
			all = append(all, schedule.Holder{ID: j.ID, N: n})
		}
	}
	slices.SortFunc(all, func(a, b schedule.Holder) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.ID, b.ID)) })
	return all[:min(len(all), holdersShown)]
}

// licensesKey tells apart jobs by the licenses that they need.
func licensesKey(all []schedule.Count) string {
	if len(all) == 0 {
		return ""
	}
	var k []byte
	for _, c := range all {
		k = append(strconv.AppendInt(append(append(k, c.Name...), '='), c.N, 10), ',')
	}
	return string(k)
}
