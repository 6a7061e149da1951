package wire

import (
	"encoding/json"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/admission"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/review"
)

// Check is the API's form of a check of a workload.
func Check(c *core.CheckState) api.Check {
	out := api.Check{
		Name: c.Name, Type: c.Type, When: c.When, Verdict: string(c.Verdict), Message: c.Message, By: c.By, At: At(c.At),
		Users: c.Users, Tries: c.Tries, AskAt: At(c.AskAt), Deadline: At(c.Deadline),
		Scope: string(c.Scope), Need: c.Need, Role: c.Role, NotSubmitter: c.NotSubmitter, Images: c.Images, Again: c.Again,
	}
	for _, v := range c.Votes {
		out.Votes = append(out.Votes, api.Vote{By: v.By, For: v.For, Message: v.Message, At: api.Time(v.At)})
	}
	return out
}

// ScopeCheck is the API's form of a check of a scope.
func ScopeCheck(c *draft.ScopeCheck) (api.ScopeCheck, error) {
	out := api.ScopeCheck{
		Scope: string(c.Project), NewScopeCheck: api.NewScopeCheck{Name: c.Name}, User: c.User, Version: c.Last().Number,
		CreatedAt: api.Time(c.CreatedAt), UpdatedAt: api.Time(c.Last().At), SecretOf: c.Rule.SecretOf,
	}
	err := json.Unmarshal([]byte(c.Last().Document), &out.ScopeCheckSpec)
	if c.Unread != nil {
		out.Unread, err = c.Unread.Error(), nil
		out.Type = admission.Approval
	}
	out.Description = c.Description
	return out, err
}

// SaysOf is what a check asks as it is kept.
func SaysOf(in api.ScopeCheckSpec) ([]byte, error) {
	in.Description = ""
	return json.Marshal(in)
}

// Approval is the API's form of a check that waits for people.
func Approval(x *review.Waiting) api.Approval {
	w := x.Workload
	return api.Approval{
		Workload: w.Name, ID: string(w.ID), Project: string(w.Project), Kind: string(w.Kind), User: w.User, GPUs: float64(w.AskedMilli()) / 1000,
		Since: api.Time(w.PhaseAt), Check: Check(&x.Check), May: x.Refusal == "", Refusal: x.Refusal, For: x.On,
	}
}

// Delegation is the API's form of a delegation.
func Delegation(d admission.Delegation) api.Delegation {
	return api.Delegation{From: d.From, NewDelegation: api.NewDelegation{To: d.To, Scope: string(d.Scope), Until: api.Time(d.Until), Comment: d.Comment}}
}
