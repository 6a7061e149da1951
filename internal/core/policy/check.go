package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// ownFields are those that no policy decides: a workload's own, and what is imposed
// rather than filled in.
var ownFields = []string{"kind", "name", "namePrefix", "project", "template", "environment", "compute", "data", "exclude"}

// Check says what is wrong with a policy for a kind by itself. It fails with Errors.
func (p *Policy) Check(of string) error {
	var errs codec.Errors
	if !slices.Contains(For(), of) {
		errs.Add(codec.FieldError{Path: "for", Value: of, Problem: "is no kind of workload", Allowed: For(), Hint: "write one of " + strings.Join(For(), ", ")})
		return errs
	}
	fields := spec.FieldsOf(p.Defaults)
	if len(fields)+len(p.Rules) == 0 && p.Impose.Empty() {
		errs.Add(codec.FieldError{Problem: "it says nothing", Hint: "write defaults, rules or impose"})
	}
	named := map[string]bool{}
	for path := range fields {
		name, _, _ := strings.Cut(path, ".")
		if !named[name] {
			named[name] = true
			p.decidable("defaults", name, of, &errs)
		}
	}
	for _, r := range p.Rules {
		name, _, _ := strings.Cut(r.Path, ".")
		p.decidable("rules", name, of, &errs)
		p.possible(&r, &errs)
	}
	p.ring(&errs)
	if len(errs) == 0 {
		p.wellMade(of, named, &errs)
	}
	slices.SortStableFunc(errs, func(a, b codec.FieldError) int { return strings.Compare(a.Path, b.Path) })
	return errs.OrNil()
}

// decidable refuses what no policy, or none for this kind, decides.
func (p *Policy) decidable(section, name, of string, errs *codec.Errors) {
	f := field(name)
	switch {
	case slices.Contains(ownFields, name):
		hint := "leave it out"
		if slices.Contains([]string{"environment", "compute", "data"}, name) {
			hint = "write it below impose"
		}
		errs.Add(codec.FieldError{Path: section + "." + name, Problem: "is nothing that a policy decides", Hint: hint})
	case of != All && !f.IsFor(of):
		errs.Add(codec.FieldError{Path: section + "." + name, Problem: fmt.Sprintf("is for kind %s, and the policy for %s", strings.Join(f.Only, " or "), of), Hint: "write it into the policy for " + f.Only[0] + ", or for " + All})
	}
}

// possible refuses a rule that no document could follow, or that the policy's own
// defaults do not follow.
func (p *Policy) possible(r *Rule, errs *codec.Errors) {
	at := "rules." + r.Path
	for _, key := range r.Checks.Locked {
		if !says(p.Defaults, r.place.field.Path+"."+key) {
			errs.Add(codec.FieldError{Path: at + ".instances.locked", Value: key, Problem: "is none of the policy's own default items", Hint: "add it to defaults." + r.place.field.Path})
		}
	}
	var wrong codec.Errors
	b := bound{Rule: r}
	if r.place.sort(false) == items && r.place.key == "" {
		e := &Effective{defaults: p.Defaults, usual: p.Defaults}
		e.judgeItems(new(spec.Document), p.Defaults, &b, &wrong)
	} else if v := p.Defaults.Value(r.place.field); v.IsValid() {
		if r.place.key != "" {
			v = entry(v, r.place.key)
		}
		judgeValue(v, r.place, r.place.key != "", &r.Checks, Source{}, r.Path, &wrong)
	}
	for _, w := range wrong {
		problem, _, _ := strings.Cut(w.Problem, ", the ")
		problem, _, _ = strings.Cut(problem, " of the policy")
		problem, _, _ = strings.Cut(problem, " by the policy")
		errs.Add(codec.FieldError{Path: "defaults." + w.Path, Value: w.Value, Problem: "the policy's own rule does not allow it: " + problem, Hint: w.Hint, Allowed: w.Allowed})
	}
	if v := r.Checks; v.Step != nil && v.Min != nil && v.Max != nil && v.Max.amount-v.Min.amount < v.Step.amount && v.Max.amount != v.Min.amount {
		errs.Add(codec.FieldError{Path: at + ".step", Value: v.Step.Text, Problem: "is more than lies between min and max", Hint: "write a smaller step"})
	}
}

// ring refuses defaults that are worked out from each other.
func (p *Policy) ring(errs *codec.Errors) {
	for _, r := range p.Rules {
		from := r.Checks.DefaultFrom
		for range len(p.Rules) {
			if from == nil {
				break
			}
			if from.Field == r.Path {
				errs.Add(codec.FieldError{Path: "rules." + r.Path + ".defaultFrom.field", Value: r.Checks.DefaultFrom.Field, Problem: "is worked out from " + r.Path + " itself", Hint: "give one of them a default"})
				break
			}
			next := p.rule(from.Field)
			if next == nil {
				break
			}
			from = next.Checks.DefaultFrom
		}
	}
}

// wellMade finds what is wrong with defaults in every document of the kinds they are
// for.
func (p *Policy) wellMade(of string, named map[string]bool, errs *codec.Errors) {
	kinds := []string{of}
	if of == All {
		kinds = For()[1:]
	}
	times, first := map[string]int{}, codec.Errors{}
	for _, kind := range kinds {
		d := &spec.Document{Kind: lifecycle.Kind(kind)}
		overlay(d, p.Defaults, d.Kind)
		if d.Command.String() == "" {
			d.Command = spec.Command{Argv: []string{"true"}} // to which arguments can be appended
		}
		if d.Image == "" && d.Build == nil {
			d.Image = "image"
		}
		if d.Kind.Ranked() && d.Workers == 0 {
			d.Workers = 1
		}
		for _, w := range spec.Validate(spec.WithDefaults(d)) {
			name, _, _ := strings.Cut(w.Path, ".")
			name, _, _ = strings.Cut(name, "[")
			if !named[name] {
				continue
			}
			if times[w.Error()]++; times[w.Error()] == len(kinds) || of != All {
				w.Path = "defaults." + w.Path
				first.Add(w)
			}
		}
	}
	*errs = append(*errs, first...)
}

// Conflict is a field for which a second policy along a branch has a rule.
type Conflict struct {
	Path string
	With Source
}

// Conflicts are the fields of p, of a scope and kind, for which another of the policies
// along a branch has a rule too. Of one scope, the policy for a kind may say what that
// for all kinds says as well.
func (p *Policy) Conflicts(id ID, others []Sourced) (out []Conflict) {
	for _, r := range p.Rules {
		for _, o := range others {
			same := o.For == id.For || o.For == All || id.For == All
			if o.Scope != id.Scope && same && o.rule(r.Path) != nil {
				out = append(out, Conflict{r.Path, o.Source})
			}
		}
	}
	return out
}
