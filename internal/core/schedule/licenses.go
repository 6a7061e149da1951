package schedule

import (
	"cmp"
	"slices"
	"strconv"
)

// licenses are what there is of each, and what is held of it.
type licenses map[string]*license

type license struct{ total, used int64 }

// SetLicenses replaces what is counted for the whole site.
func (st *State) SetLicenses(all []License) {
	st.changes()
	st.lic = licenses{}
	for _, l := range all {
		st.lic[l.Name] = &license{total: l.Total}
	}
	for _, j := range st.jobs {
		if j.licensed() {
			st.charge(j, 1)
		}
	}
}

// Licenses are what is counted for the whole site, by name.
func (st *State) Licenses() []License {
	out := make([]License, 0, len(st.lic))
	for name, l := range st.lic {
		out = append(out, License{Name: name, Total: l.total})
	}
	slices.SortFunc(out, func(a, b License) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// licensed reports whether j holds its licenses: with the first of its tasks,
// until the last has ended, so that one that was told to leave still has them.
func (j *job) licensed() bool { return len(j.Held) > 0 || len(j.holds) > 0 }

// charge takes j's licenses (sign 1), or gives them back (-1).
func (st *State) charge(j *job, sign int64) {
	for _, c := range j.Licenses {
		if l := st.lic[c.Name]; l != nil {
			l.used += sign * c.N
		}
	}
}

// chargeFresh does so once a hold was made in this cycle, or taken back.
func (st *State) chargeFresh(j *job, taken bool) {
	switch {
	case len(j.Licenses) == 0 || len(j.Held) > 0:
	case taken && len(j.holds) == 1:
		st.charge(j, 1)
	case !taken && len(j.holds) == 0:
		st.charge(j, -1)
	}
}

// unlicensed are the licenses that j lacks to start.
func (st *State) unlicensed(j *job) []Reason { return st.unlicensedAfter(j, nil) }

// unlicensedAfter are those that it lacks once some have ended.
func (st *State) unlicensedAfter(j *job, ended []*job) []Reason {
	if len(j.Licenses) == 0 || j.licensed() {
		return nil
	}
	var all []Reason
	for _, c := range j.Licenses {
		r := Reason{Token: WaitingForLicense, Resource: c.Name, Requested: c.N}
		if l := st.lic[c.Name]; l != nil {
			r.Total, r.Allocated = l.total, l.used
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

func countOf(all []Count, name string) int64 {
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
func (st *State) licensees(name string) []Holder {
	var all []Holder
	for _, j := range st.jobs {
		if n := countOf(j.Licenses, name); n > 0 && j.licensed() {
			all = append(all, Holder{j.ID, n})
		}
	}
	slices.SortFunc(all, func(a, b Holder) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.ID, b.ID)) })
	return all[:min(len(all), holdersShown)]
}

// licensesKey tells apart jobs by the licenses that they need.
func licensesKey(all []Count) string {
	if len(all) == 0 {
		return ""
	}
	var k []byte
	for _, c := range all {
		k = append(strconv.AppendInt(append(append(k, c.Name...), '='), c.N, 10), ',')
	}
	return string(k)
}
