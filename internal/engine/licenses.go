package engine

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/spec"
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

// Licenses reads what is counted for the whole site; the value is a
// []LicenseState.
func Licenses() Command {
	return func(tx *tx) (any, error) { return tx.licenseStates(), nil }
}

// licenses are those that were made, as the draft has them.
func (tx *tx) licenses() map[string]core.License {
	if len(tx.org.licenses) == 0 {
		return tx.e.licenses
	}
	all := maps.Clone(tx.e.licenses)
	for name, l := range tx.org.licenses {
		if l == nil {
			delete(all, name)
			continue
		}
		all[name] = *l
	}
	return all
}

func (tx *tx) licenseStates() []LicenseState {
	all := tx.licenses()
	out := make([]LicenseState, 0, len(all))
	at := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		at[name] = len(out)
		out = append(out, LicenseState{License: all[name]})
	}
	for id := range tx.workloads() {
		w, tasks, ok := tx.view(id)
		if !ok {
			continue
		}
		for name, n := range w.Spec.Licenses {
			i, ok := at[name]
			switch {
			case !ok:
			case holdsAny(w, tasks):
				out[i].Used += int64(n)
				out[i].Holders = append(out[i].Holders, Licensee{w, int64(n)})
			case w.Phase == lifecycle.Queued || w.Phase == lifecycle.Reserved:
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

// holdsAny reports whether any task of w has a place: from its placement until
// it has ended.
func holdsAny(w *core.Workload, tasks map[int]*core.Task) bool {
	if !w.Phase.Held() {
		return false
	}
	for _, t := range tasks {
		if holds(w, t) {
			return true
		}
	}
	return false
}

// licensesFor are the licenses as the scheduler counts them.
func (tx *tx) licensesFor() []schedule.License {
	var out []schedule.License
	for name, l := range tx.licenses() {
		out = append(out, schedule.License{Name: name, Total: l.Total})
	}
	return out
}

// licensesOf are those that a document asks for, by name.
func licensesOf(doc *spec.Document) []schedule.Count {
	if len(doc.Licenses) == 0 {
		return nil
	}
	out := make([]schedule.Count, 0, len(doc.Licenses))
	for _, name := range slices.Sorted(maps.Keys(doc.Licenses)) {
		out = append(out, schedule.Count{Name: name, N: int64(doc.Licenses[name])})
	}
	return out
}

// licensesExist refuses a document that asks for a license which nobody knows,
// or for more than there are.
func (tx *tx) licensesExist(doc *spec.Document) error {
	all := tx.licenses()
	for _, name := range slices.Sorted(maps.Keys(doc.Licenses)) {
		l, ok := all[name]
		switch n := int64(doc.Licenses[name]); {
		case !ok && len(all) == 0:
			return &Error{Code: CodeInvalid, Field: "licenses." + name, Message: fmt.Sprintf("license %q does not exist: none is counted here", name), Hint: "muster license set " + name + " NUMBER begins to count it"}
		case !ok:
			return &Error{Code: CodeInvalid, Field: "licenses." + name, Message: fmt.Sprintf("license %q does not exist", name), Hint: "there are " + strings.Join(slices.Sorted(maps.Keys(all)), ", ")}
		case n > l.Total:
			return &Error{Code: CodeUnschedulable, Field: "licenses." + name, Message: fmt.Sprintf("it asks for %d of license %s, and there are %d in all", n, name, l.Total), Hint: "ask for fewer"}
		}
	}
	return nil
}

func (tx *tx) editLicense(e Edit, out *Edited) error {
	was, there := tx.licenses()[e.Name]
	if err := e.missing(there); err != nil {
		return err
	}
	if there {
		out.Before = &was
	}
	if e.Drop {
		put(&tx.org.licenses, e.Name, nil)
		return nil
	}
	l := was
	if !there {
		l = core.License{Name: e.Name, CreatedAt: tx.now}
	}
	if err := e.License(&l); err != nil {
		return err
	}
	put(&tx.org.licenses, e.Name, &l)
	out.After = &l
	return nil
}

// checkedLicense says whether a license can be as the draft has it. Fewer than
// are held is allowed: whoever holds some keeps them, and nobody else starts.
func (tx *tx) checkedLicense(e Edit) ([]string, error) {
	l, ok := tx.licenses()[e.Name]
	if !ok {
		return nil, tx.mayDropLicense(e)
	}
	switch {
	case !spec.Named(l.Name):
		return nil, &Error{Code: CodeInvalid, Field: "name", Message: fmt.Sprintf("%q is not a name", l.Name), Hint: "lower-case letters, digits and '-' between them, at most 52 characters"}
	case l.Total < 0 || l.Total > math.MaxInt32:
		return nil, &Error{Code: CodeInvalid, Field: "total", Message: fmt.Sprintf("%d is not a number of licenses", l.Total), Hint: fmt.Sprintf("write 0 to %d", math.MaxInt32)}
	}
	for _, s := range tx.licenseStates() {
		if s.Name == l.Name && s.Used > l.Total {
			return []string{fmt.Sprintf("%d are held, %d more than there are now: who holds them keeps them, and nobody else starts until enough have ended", s.Used, s.Used-l.Total)}, nil
		}
	}
	return nil, nil
}

// mayDropLicense refuses to forget what live workloads ask for: they would wait
// for ever.
func (tx *tx) mayDropLicense(e Edit) error {
	var users []string
	for id := range tx.workloads() {
		if w, _, ok := tx.view(id); ok && !w.Phase.End() && w.Spec.Licenses[e.Name] > 0 {
			users = append(users, w.Name)
		}
	}
	if slices.Sort(users); len(users) > 0 {
		return &Error{Code: CodeConflict, Message: fmt.Sprintf("license %s is asked for by live workloads (%d): %s", e.Name, len(users), few(users)), Hint: "end them, or muster license set " + e.Name + " 0 keeps others from starting"}
	}
	return nil
}

// holdersNote names who holds a license that is short.
func (s *Study) holdersNote(r *schedule.Reason) string {
	var out []string
	for _, h := range r.Holders {
		if w := s.live[h.ID]; w != nil {
			out = append(out, fmt.Sprintf("%s has %d", w.Name, h.N))
		}
	}
	return strings.Join(out, ", ")
}
