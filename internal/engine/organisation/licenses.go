package organisation

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/consequence"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/workload"
)

// LicenseState is a license with who holds it.
type LicenseState struct {
	core.License
	Used    int64
	Waiting int64      // that workloads in their queues ask for
	Holders []Licensee // the most first, then by name
}

// Licensee is a workload that holds some of a license.
type Licensee struct {
	Workload *core.Workload
	Count    int64
}

// Licenses reads what is counted for the whole site.
func Licenses() draft.Command[[]LicenseState] {
	return func(tx *draft.Tx) ([]LicenseState, error) { return licenseStates(tx), nil }
}

func licenseStates(tx *draft.Tx) []LicenseState {
	all := tx.Licenses()
	out := make([]LicenseState, 0, len(all))
	at := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		at[name] = len(out)
		out = append(out, LicenseState{License: all[name]})
	}
	for id := range tx.Workloads() {
		w, tasks, ok := tx.View(id)
		if !ok {
			continue
		}
		for name, n := range w.Spec.Licenses {
			i, ok := at[name]
			switch {
			case !ok:
			case workload.HoldsAny(w, tasks):
				out[i].Used += int64(n)
				out[i].Holders = append(out[i].Holders, Licensee{w, int64(n)})
			case w.Phase.InQueue():
				out[i].Waiting += int64(n)
			}
		}
	}
	for i := range out {
		slices.SortFunc(out[i].Holders, func(a, b Licensee) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Workload.Name, b.Workload.Name), cmp.Compare(a.Workload.ID, b.Workload.ID))
		})
	}
	return out
}

func editLicense(tx *draft.Tx, e Edit, out *Edited) error {
	was, there := tx.Licenses()[e.Name]
	if err := e.missing(there); err != nil {
		return err
	}
	if there {
		out.Before.License = &was
	}
	if e.Drop {
		draft.Put(&tx.Org.Licenses, e.Name, nil)
		return nil
	}
	l := was
	if !there {
		l = core.License{Name: e.Name, CreatedAt: tx.Now}
	}
	if err := e.License(&l); err != nil {
		return err
	}
	draft.Put(&tx.Org.Licenses, e.Name, &l)
	out.After.License = &l
	return nil
}

// checkedLicense says whether a license can be as the draft has it. Fewer than
// are held is allowed: whoever holds some keeps them, and nobody else starts.
func checkedLicense(tx *draft.Tx, e Edit) ([]string, error) {
	l, ok := tx.Licenses()[e.Name]
	if !ok {
		return nil, mayDropLicense(tx, e)
	}
	switch {
	case !spec.Named(l.Name):
		return nil, &draft.Error{Code: draft.CodeInvalid, Field: "name", Message: fmt.Sprintf("%q is not a name", l.Name), Hint: "lower-case letters, digits and '-' between them, at most 52 characters"}
	case l.Total < 0 || l.Total > math.MaxInt32:
		return nil, &draft.Error{Code: draft.CodeInvalid, Field: "total", Message: fmt.Sprintf("%d is not a number of licenses", l.Total), Hint: fmt.Sprintf("write 0 to %d", math.MaxInt32)}
	}
	for _, s := range licenseStates(tx) {
		if s.Name == l.Name && s.Used > l.Total {
			return []string{fmt.Sprintf("%d are held, %d more than there are now: who holds them keeps them, and nobody else starts until enough have ended", s.Used, s.Used-l.Total)}, nil
		}
	}
	return nil, nil
}

// mayDropLicense refuses to forget what live workloads ask for: they would wait
// for ever.
func mayDropLicense(tx *draft.Tx, e Edit) error {
	var users []string
	for id := range tx.Workloads() {
		if w, _, ok := tx.View(id); ok && !w.Phase.End() && w.Spec.Licenses[e.Name] > 0 {
			users = append(users, w.Name)
		}
	}
	if slices.Sort(users); len(users) > 0 {
		return &draft.Error{Code: draft.CodeConflict, Message: fmt.Sprintf("license %s is asked for by live workloads (%d): %s", e.Name, len(users), consequence.Few(users)), Hint: "end them, or muster license set " + e.Name + " 0 keeps others from starting"}
	}
	return nil
}
