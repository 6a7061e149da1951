package draft

import (
	"cmp"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/policy"
)

// Policy is a record of a policy with what it says.
type Policy struct {
	core.Template
	Policy *policy.Policy
	Unread error // why what it says could not be read; then Policy is nil
}

// Governed is of which workloads it is that policies decide.
type Governed struct {
	Project core.ProjectID
	Kind    lifecycle.Kind
}

// PolicyID names the policy that a record keeps.
func PolicyID(t *core.Template) policy.ID { return policy.ID{Scope: t.Project, For: t.Name} }

// ReadPolicy reads what a record says.
func ReadPolicy(t core.Template) Policy {
	p, err := policy.Parse([]byte(t.Last().Document))
	if err != nil {
		return Policy{Template: t, Unread: err}
	}
	return Policy{Template: t, Policy: p}
}

// ComparePolicies orders policies by scope, and then as policy.For has them.
func ComparePolicies(a, b policy.ID) int {
	return cmp.Or(cmp.Compare(a.Scope, b.Scope), cmp.Compare(slices.Index(policy.For(), a.For), slices.Index(policy.For(), b.For)))
}
