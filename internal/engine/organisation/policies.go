package organisation

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/policy"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
	"github.com/musterhq/muster/internal/engine/asset"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/governance"
)

// PolicyEdit is what an edit makes of a policy.
type PolicyEdit struct {
	Description string
	Says        []byte // YAML or JSON: defaults, rules and impose
	User        string // who makes it so
}

// PolicyName is how an edit names a policy: SCOPE/FOR.
func PolicyName(id policy.ID) string { return string(id.Scope) + "/" + id.For }

// policyID is what a name stands for.
func policyID(name string) policy.ID {
	scope, of, _ := strings.Cut(name, "/")
	return policy.ID{Scope: core.ProjectID(scope), For: of}
}

func editPolicy(tx *draft.Tx, e Edit, out *Edited) error {
	id := policyID(e.Name)
	was, there := governance.Policies(tx)[id]
	source := governance.SourceOf(tx, id)
	switch {
	case there && e.Must == MustBeNew:
		return &draft.Error{Code: draft.CodeConflict, Field: "for", Message: source.String() + " exists already", Hint: "muster policy apply changes it"}
	case !there && (e.Must == MustExist || e.Drop):
		return &draft.Error{Code: draft.CodeNotFound, Message: source.String() + " does not exist", Hint: "muster policy list shows all"}
	}
	if there {
		out.Before.Policy = &was.Template
	}
	if e.Drop {
		draft.Put(&tx.Org.Policies, id, nil)
		return nil
	}
	r, err := e.Policy()
	if err != nil {
		return err
	}
	says, err := policy.Parse(r.Says)
	if err == nil {
		err = says.Check(id.For)
	}
	if err != nil {
		return err
	}
	text, err := json.Marshal(says)
	if err != nil {
		return err
	}
	t := core.Template{Project: id.Scope, Kind: core.TemplatePolicy, Name: id.For, Description: r.Description, User: r.User, CreatedAt: tx.Now}
	if there {
		t.User, t.CreatedAt, t.Versions = was.User, was.CreatedAt, was.Versions
	}
	t.Revise(string(text), r.User, tx.Now, versionsKept)
	if n := len([]rune(r.Description)); n > descriptionLongest {
		return &draft.Error{Code: draft.CodeInvalid, Field: "description", Message: fmt.Sprintf("has %d characters, more than %d", n, descriptionLongest), Hint: "shorten it"}
	}
	draft.Put(&tx.Org.Policies, id, &t)
	out.After.Policy = &t
	return nil
}

// checkedPolicy says whether a policy can be as the draft has it: beside the others of
// every branch that it is on, with what it imposes.
func checkedPolicy(tx *draft.Tx, e Edit) error {
	id := policyID(e.Name)
	p, there := governance.Policies(tx)[id]
	if !there {
		return nil
	}
	if _, known := tx.Tree()(id.Scope); !known && id.Scope != core.SystemScope {
		return &draft.Error{Code: draft.CodeNotFound, Field: "scope", Message: fmt.Sprintf("project or department %q does not exist", id.Scope), Hint: "muster project list and muster department list show what there is; - is the system"}
	}
	var errs codec.Errors
	for _, c := range p.Policy.Conflicts(id, around(tx, id.Scope)) {
		errs.Add(codec.FieldError{
			Path: "rules." + c.Path, Problem: fmt.Sprintf("has a rule in %s already, and a field has one along a branch", c.With),
			Hint: "take one of the two out: defaults may differ from scope to scope, rules may not",
		})
	}
	imposable(tx, id, p.Policy, &errs)
	if err := errs.OrNil(); err != nil {
		return err
	}
	return nobody(tx, id)
}

// around are the policies above and below a scope.
func around(tx *draft.Tx, scope core.ProjectID) (out []policy.Sourced) {
	all := governance.Policies(tx)
	for _, id := range slices.SortedFunc(maps.Keys(all), draft.ComparePolicies) {
		below := scope == core.SystemScope || id.Scope != core.SystemScope && tx.Tree().Below(id.Scope, scope)
		above := id.Scope == core.SystemScope || scope != core.SystemScope && tx.Tree().Below(scope, id.Scope)
		if p := all[id]; (below || above) && p.Policy != nil {
			out = append(out, policy.Sourced{Source: governance.SourceOf(tx, id), Policy: p.Policy})
		}
	}
	return out
}

// imposable refuses to impose what is not there, or what needs secrets, which are
// their users' own.
func imposable(tx *draft.Tx, id policy.ID, p *policy.Policy, errs *codec.Errors) {
	look := func(field, kind, ref string) {
		if ref == "" {
			return
		}
		piece, err := asset.Take(id.Scope, kind, ref)(tx)
		var refused *draft.Error
		switch d := piece.Document; {
		case errors.As(err, &refused):
			errs.Add(codec.FieldError{Path: field, Value: ref, Problem: refused.Message, Hint: refused.Hint})
		case err != nil:
			errs.Add(codec.FieldError{Path: field, Value: ref, Problem: err.Error(), Hint: "name another"})
		case len(d.Secrets) > 0 || d.PullSecret != "" || d.Build != nil && d.Build.PushSecret != "" || slices.ContainsFunc(d.Volumes, func(v spec.Volume) bool { return v.Secret != "" }):
			errs.Add(codec.FieldError{Path: field, Value: ref, Problem: fmt.Sprintf("%s needs a secret, and secrets are their users' own", &piece), Hint: "impose what needs none"})
		case policy.ReachesHost(d) != "":
			errs.Add(codec.FieldError{Path: field, Value: ref, Problem: fmt.Sprintf("%s has %s, and who may change it could lay the machine beside everybody's work", &piece, policy.ReachesHost(d)), Hint: "write it into defaults, and lock it there: rules.volumes.instances.locked"})
		}
	}
	look("impose.environment", spec.AssetEnvironment, p.Impose.Environment)
	look("impose.compute", spec.AssetCompute, p.Impose.Compute)
	for i, use := range p.Impose.Data {
		look(fmt.Sprintf("impose.data[%d]", i), spec.AssetData, use.Name)
	}
}

// nobody refuses a policy by which nothing could be submitted any more: a field that
// has to be said, may not be, and has no default.
func nobody(tx *draft.Tx, id policy.ID) error {
	branch, err := governance.Branch(tx, id.Scope)
	if err != nil {
		return err
	}
	for _, kind := range kindsOf(id) {
		for _, row := range policy.Merge(kind, branch).Rows() {
			if c := row.Rule; c != nil && row.Fixed && c.Required && !row.UsualFrom && c.DefaultFrom == nil {
				return codec.Errors{{Path: "rules." + row.Path, Problem: "is required, cannot be edited, and has no default: nothing could be submitted", Hint: "give it a default, or take one of the two rules out"}}
			}
		}
	}
	return nil
}

// kindsOf are the kinds of workloads that a policy is for.
func kindsOf(id policy.ID) (out []lifecycle.Kind) {
	for _, of := range policy.For()[1:] {
		if id.For == policy.All || id.For == of {
			out = append(out, lifecycle.Kind(of))
		}
	}
	return out
}

// Breach is a live workload whose document a policy would not let in today.
type Breach struct {
	Workload *core.Workload
	Errors   codec.Errors
}

// breaches are those that follow from an edit of a policy, by project and name. They
// stay as they are: what holds for a workload is what held when it was submitted.
func breaches(tx *draft.Tx, id policy.ID) ([]Breach, error) {
	var out []Breach
	for at := range tx.Workloads() {
		w, _, ok := tx.View(at)
		if !ok || w.Phase.End() || !slices.Contains(kindsOf(id), w.Kind) || id.Scope != core.SystemScope && !tx.Tree().Below(w.Project, id.Scope) {
			continue
		}
		e, err := governance.Effective(tx, w.Project, w.Kind)
		if err != nil {
			return nil, err
		}
		if e == nil {
			continue
		}
		if errs := e.ViolationsOf(id, w.Spec); len(errs) > 0 {
			out = append(out, Breach{w, errs})
		}
	}
	slices.SortFunc(out, func(a, b Breach) int {
		return cmp.Or(cmp.Compare(a.Workload.Project, b.Workload.Project), cmp.Compare(a.Workload.Name, b.Workload.Name))
	})
	return out, nil
}

// Policies are those of a project, department or the system, and with all those above
// it, nearest first; of all scopes where it is empty, by scope.
func Policies(scope core.ProjectID, above bool) draft.Command[[]draft.Policy] {
	return func(tx *draft.Tx) ([]draft.Policy, error) {
		all := governance.Policies(tx)
		var out []draft.Policy
		if scope == "" {
			for _, id := range slices.SortedFunc(maps.Keys(all), draft.ComparePolicies) {
				out = append(out, all[id])
			}
			return out, nil
		}
		line := []core.ProjectID{scope}
		if above {
			line = asset.Upwards(tx, scope)
		}
		for _, at := range line {
			for _, of := range policy.For() {
				if p, ok := all[policy.ID{Scope: at, For: of}]; ok {
					out = append(out, p)
				}
			}
		}
		return out, nil
	}
}

// EffectivePolicy is what holds for workloads of a kind in a project or department.
func EffectivePolicy(scope core.ProjectID, kind lifecycle.Kind) draft.Command[*policy.Effective] {
	return func(tx *draft.Tx) (*policy.Effective, error) {
		if _, known := tx.Tree()(scope); !known && scope != core.SystemScope {
			return nil, &draft.Error{Code: draft.CodeNotFound, Field: "project", Message: fmt.Sprintf("project %q does not exist", scope), Hint: "muster project list shows what there is"}
		}
		branch, err := governance.Branch(tx, scope)
		if err != nil {
			return nil, err
		}
		return policy.Merge(kind, branch), nil
	}
}
