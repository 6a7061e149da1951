package policy

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/schema"
)

// Sourced is a policy with where it comes from.
type Sourced struct {
	Source
	*Policy
}

// Effective is what holds for workloads of a kind in a project: all policies along its
// branch in one.
type Effective struct {
	Kind     lifecycle.Kind
	policies []Sourced      // nearest first; of one scope the kind's own first
	defaults *spec.Document // of the nearest that says something, field by field
	usual    *spec.Document // what a document becomes that says nothing
	rules    []bound
	derives  []*bound       // those that work a default out
	house    *spec.Document // what a document becomes that says nothing, were there no policies
}

// bound is a rule with where it comes from.
type bound struct {
	*Rule
	Source
}

// Merge is what policies come to for a kind, nearest scope first. Those for other kinds
// are left out.
func Merge(kind lifecycle.Kind, nearest []Sourced) *Effective {
	e := &Effective{Kind: kind, defaults: new(spec.Document)}
	for _, p := range nearest {
		if p.For == string(kind) || p.For == All {
			e.policies = append(e.policies, p)
		}
	}
	// Of one scope the kind's own goes before that for all kinds; scopes stay in line.
	for i := 1; i < len(e.policies); i++ {
		if a, b := e.policies[i-1], e.policies[i]; a.Scope == b.Scope && a.For == All {
			e.policies[i-1], e.policies[i] = b, a
		}
	}
	for i, p := range e.policies {
		overlay(e.defaults, p.Defaults, kind)
		for k := range p.Rules {
			r := &p.Rules[k]
			if !r.place.field.IsFor(string(kind)) || i > 0 && e.policies[i-1].Scope == p.Scope && e.policies[i-1].rule(r.Path) != nil {
				continue
			}
			e.rules = append(e.rules, bound{r, p.Source})
			if m := ofMaster(r); m != nil && kind.Ranked() && p.rule(m.Path) == nil {
				e.rules = append(e.rules, bound{m, p.Source})
			}
		}
	}
	slices.SortStableFunc(e.rules, func(a, b bound) int { return strings.Compare(a.Path, b.Path) })
	for i := range e.rules {
		if e.rules[i].Checks.DefaultFrom != nil {
			e.derives = append(e.derives, &e.rules[i])
		}
	}
	e.house = spec.WithDefaults(&spec.Document{Kind: kind})
	e.usual = e.defaults.Clone()
	e.usual.Kind = kind
	e.usual.Defaults()
	return e
}

// ofMaster is what a rule for resources demands of a master that has its own: the same
// bounds; nil: nothing.
func ofMaster(r *Rule) *Rule {
	if !strings.HasPrefix(r.Path, "resources.") {
		return nil
	}
	path := "master." + r.Path
	f, key, err := spec.FieldAt(path)
	if err != nil {
		return nil
	}
	c := r.Checks
	return &Rule{Path: path, place: place{field: f, key: key}, Checks: Checks{Min: c.Min, Max: c.Max, Step: c.Step, Options: c.Options}}
}

// None reports whether nothing is said.
func (e *Effective) None() bool { return len(e.policies) == 0 }

// Sources are the policies, nearest first.
func (e *Effective) Sources() (out []Source) {
	for _, p := range e.policies {
		out = append(out, p.Source)
	}
	return out
}

// Imposed is what is imposed, with who imposes it: nearest first.
func (e *Effective) Imposed() (out []struct {
	Source
	Impose
}) {
	for _, p := range e.policies {
		if !p.Impose.Empty() {
			out = append(out, struct {
				Source
				Impose
			}{p.Source, p.Impose})
		}
	}
	return out
}

// sourceOf is the nearest policy that says a default at a path; ok is false where none
// does.
func (e *Effective) sourceOf(path string) (Source, bool) {
	for _, p := range e.policies {
		if says(p.Defaults, path) {
			return p.Source, true
		}
	}
	return Source{}, false
}

// putBy is the policy that has put what is at a path, as errors write it, into a
// document; ok is false where its author has, or nobody.
func (e *Effective) putBy(written, d *spec.Document, path string) (s Source, ok bool) {
	path = keyed(d, path)
	if says(written, path) {
		return s, false
	}
	if s, ok = e.sourceOf(path); ok {
		return s, true
	}
	for _, b := range e.derives {
		if b.Path == path {
			return b.Source, true
		}
	}
	return s, false
}

var indexed = regexp.MustCompile(`^([A-Za-z.]+)\[(\d+)\]`)

// keyed is a path in which an item of a list is named by its key instead of its number,
// without what is below it.
func keyed(d *spec.Document, path string) string {
	m := indexed.FindStringSubmatch(path)
	if m == nil {
		return path
	}
	f, _, err := spec.FieldAt(m[1])
	i, wrong := strconv.Atoi(m[2])
	if err != nil || wrong != nil || f.Kind != schema.List {
		return path
	}
	v := d.Value(f)
	if itemKeys[f.Path] == "" || !v.IsValid() || i >= v.Len() {
		return m[1]
	}
	return m[1] + "." + keyOf(f, v.Index(i))
}

// says reports whether a document says something at a path, or an entry of it.
func says(d *spec.Document, path string) bool {
	f, key, err := spec.FieldAt(path)
	if err != nil {
		return false
	}
	v := d.Value(f)
	if key == "" || !v.IsValid() {
		return v.IsValid()
	}
	_, ok := itemsOf(f, v)[canonicalKey(f, key)]
	return ok
}

// Row is what holds for a field, or an entry of a map or list.
type Row struct {
	Path      string
	Type      string
	Default   string // as JSON; empty: none
	From      Source // of the default
	Rule      *Checks
	RuleFrom  Source
	Fixed     bool   // it stays as it is
	Usual     string // JSON: what a document has that says nothing; empty: nothing
	UsualFrom bool   // a policy says it
}

// Rows are all fields for which something holds, by path.
func (e *Effective) Rows() []Row {
	rows := map[string]*Row{}
	row := func(path string) *Row {
		r := rows[path]
		if r == nil {
			topic, _ := spec.Explain(strings.TrimSuffix(path, "."))
			r = &Row{Path: path, Type: topic.Type}
			rows[path] = r
		}
		return r
	}
	for path, raw := range spec.FieldsOf(e.defaults) {
		r := row(path)
		r.Default = string(raw)
		r.From, _ = e.sourceOf(path)
	}
	usual := spec.FieldsOf(e.usual)
	for _, b := range e.rules {
		r := row(b.Path)
		r.Rule, r.RuleFrom = &b.Checks, b.Source
		r.Fixed = r.Fixed || fixed(b.Checks.CanEdit)
		r.Usual = string(usual[b.Path])
		_, r.UsualFrom = e.sourceOf(b.Path)
		if f := b.place.field; b.place.key == "" && (f.Kind == schema.TextMap || f.Kind == schema.Counts) {
			for _, key := range b.Checks.Locked { // which stand in rows of their own
				path := b.Path + "." + key
				if _, there := rows[path]; there {
					rows[path].Fixed, rows[path].RuleFrom = true, b.Source
				}
			}
		}
	}
	out := make([]Row, 0, len(rows))
	for _, path := range slices.Sorted(maps.Keys(rows)) {
		out = append(out, *rows[path])
	}
	return out
}
