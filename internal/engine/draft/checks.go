package draft

import (
	"encoding/json"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/admission"
)

// ScopeCheck is a check of a scope with what it asks.
type ScopeCheck struct {
	core.Template
	Rule   *admission.Rule // never changed
	Unread error           // why what it asks could not be read: then people are asked
}

// ReadCheck reads what a record asks. One that cannot be read is no reason to let
// anything through: whoever may approve is asked then.
func ReadCheck(t core.Template) ScopeCheck {
	r, err := admission.Parse([]byte(t.Last().Document))
	if err == nil {
		err = r.Check()
	}
	if err != nil {
		return ScopeCheck{t, &admission.Rule{Type: admission.Approval}, err}
	}
	return ScopeCheck{Template: t, Rule: r}
}

// CheckID names a check of a scope.
func CheckID(scope core.ProjectID, name string) core.TemplateID {
	return core.TemplateID{Project: scope, Kind: core.TemplateCheck, Name: name}
}

// ReviewedID names what is remembered of an image that was looked at for a check.
func ReviewedID(scope core.ProjectID, check, key string) core.TemplateID {
	return core.TemplateID{Project: scope, Kind: core.TemplateReviewed, Name: check + "=" + key}
}

// ReadDelegation reads what a record says; false: it cannot be read, and delegates nothing.
func ReadDelegation(t *core.Template) (admission.Delegation, bool) {
	var d admission.Delegation
	err := json.Unmarshal([]byte(t.Last().Document), &d)
	return d, err == nil && d.From != "" && d.To != ""
}

// Asking is a check as a program is asked it by a rule.
func Asking(c core.CheckState, r *admission.Rule) core.CheckState {
	r.Ask(&c)
	c.Hook = &core.CheckHook{CA: r.CA}
	if r.Secret != "" {
		c.Hook.Secret = core.SecretID{User: r.SecretOf, Name: r.Secret}
	}
	return c
}

// CheckName is the name of a check in its scope: where two scopes of a line have one of
// the same name, the further one's is followed by its scope.
func CheckName(c *core.CheckState) string {
	if c.Called != "" {
		return c.Called
	}
	return c.Name
}
