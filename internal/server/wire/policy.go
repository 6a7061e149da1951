package wire

import (
	"encoding/json"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/policy"
	"github.com/musterhq/muster/internal/engine/organisation"
)

// Policy is the API's form of a policy.
func Policy(t *core.Template) (api.Policy, error) {
	spec, err := PolicySpec(t)
	return api.Policy{
		Scope: string(t.Project), NewPolicy: api.NewPolicy{For: t.Name, PolicySpec: spec}, User: t.User, Version: t.Last().Number,
		CreatedAt: api.Time(t.CreatedAt), UpdatedAt: api.Time(t.Last().At),
	}, err
}

// PolicySpec is what was decided in a policy.
func PolicySpec(t *core.Template) (api.PolicySpec, error) {
	out := api.PolicySpec{Description: t.Description}
	return out, json.Unmarshal([]byte(t.Last().Document), &out)
}

// DecidePolicy is what an edit makes of what was decided.
func DecidePolicy(in api.PolicySpec, user string) func() (organisation.PolicyEdit, error) {
	return func() (organisation.PolicyEdit, error) {
		text, err := json.Marshal(api.PolicySpec{Defaults: in.Defaults, Rules: in.Rules, Impose: in.Impose})
		return organisation.PolicyEdit{Description: in.Description, Says: text, User: user}, err
	}
}

// PolicyBreach is a workload that a policy would not let in.
func PolicyBreach(b organisation.Breach) api.PolicyBreach {
	out := api.PolicyBreach{
		ID: string(b.Workload.ID), Name: b.Workload.Name, Project: string(b.Workload.Project), Kind: string(b.Workload.Kind), User: b.Workload.User, Phase: string(b.Workload.Phase),
		Errors: []api.FieldProblem{},
	}
	for _, e := range b.Errors {
		out.Errors = append(out.Errors, api.FieldProblem{Path: e.Path, Value: e.Value, Problem: e.Problem, Allowed: e.Allowed, Hint: e.Hint})
	}
	return out
}

func policySource(s policy.Source) api.PolicySource {
	return api.PolicySource{Scope: string(s.Scope), Department: s.Department, For: s.For}
}

// EffectivePolicy is what holds for workloads of a kind in a project.
func EffectivePolicy(project string, e *policy.Effective) (api.EffectivePolicy, error) {
	out := api.EffectivePolicy{Project: project, Kind: string(e.Kind), Policies: []api.PolicySource{}, Fields: []api.PolicyField{}, Impose: []api.PolicyImposed{}}
	for _, s := range e.Sources() {
		out.Policies = append(out.Policies, policySource(s))
	}
	for _, r := range e.Rows() {
		f := api.PolicyField{Path: r.Path, Type: r.Type, Fixed: r.Fixed}
		if r.Default != "" {
			from := policySource(r.From)
			f.Default, f.DefaultFrom = json.RawMessage(r.Default), &from
		}
		if r.Usual != "" {
			f.Usual = json.RawMessage(r.Usual)
		}
		if r.RuleFrom.For != "" {
			from := policySource(r.RuleFrom)
			f.RuleFrom = &from
		}
		if r.Rule != nil {
			text, err := json.Marshal(r.Rule)
			if err != nil {
				return out, err
			}
			f.Rule = new(api.PolicyRule)
			if err := json.Unmarshal(text, f.Rule); err != nil {
				return out, err
			}
		}
		out.Fields = append(out.Fields, f)
	}
	for _, i := range e.Imposed() {
		p := api.PolicyImposed{From: policySource(i.Source), PolicyImpose: api.PolicyImpose{Environment: i.Environment, Compute: i.Compute}}
		for _, use := range i.Data {
			text, err := json.Marshal(use)
			if err != nil {
				return out, err
			}
			p.Data = append(p.Data, text)
		}
		out.Impose = append(out.Impose, p)
	}
	return out, nil
}
