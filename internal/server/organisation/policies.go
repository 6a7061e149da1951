package organisation

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/policy"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/request"
	"github.com/musterhq/muster/internal/server/wire"
)

type policyOutput struct {
	Status int
	Body   api.Policy
}

type policiesOutput struct{ Body api.PolicyList }

// PolicyName is a path that names a policy; exported for the framework.
type PolicyName struct {
	Project string `path:"project" doc:"Project or department; '-': the system"`
	Name    string `path:"name" doc:"Kind of workloads, or all"`
}

func (n PolicyName) id() policy.ID {
	return policy.ID{Scope: core.ProjectID(n.Project), For: n.Name}
}

func (s *routes) policyRoutes() {
	tags := []string{"policies"}
	const path = "/v1/projects/{project}/policies"
	huma.Register(s.api, huma.Operation{
		OperationID: "list-policies", Method: http.MethodGet, Path: path, Summary: "Every policy that holds in a project: its own and those above it, nearest first", Tags: tags,
	}, func(ctx context.Context, in *struct {
		Project string `path:"project" doc:"Or department; '-': all"`
	}) (*policiesOutput, error) {
		return s.listPolicies(ctx, in.Project)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "policy", Method: http.MethodGet, Path: path + "/{name}", Summary: "The policy of a project, department or the system for a kind", Tags: tags,
	}, func(ctx context.Context, in *struct{ PolicyName }) (*policyOutput, error) {
		all, err := control.Do(ctx, s.Control, organisation.Policies(core.ProjectID(in.Project), false))
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		for i := range all {
			if all[i].Name == in.Name {
				return s.onePolicy(&all[i].Template, http.StatusOK)
			}
		}
		return nil, problem.New(http.StatusNotFound, "not_found", policy.Source{ID: in.id()}.String()+" does not exist", "muster policy list shows all")
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "create-policy", Method: http.MethodPost, Path: path, Summary: "Make a policy, of a project or department, or of the system with -", Tags: tags, DefaultStatus: http.StatusCreated, MaxBodyBytes: request.BodyMax + 1,
	}, func(ctx context.Context, in *struct {
		Project string `path:"project" doc:"Project or department; '-': the system"`
		request.DryRunning
		Body api.NewPolicy
	}) (*policyOutput, error) {
		return s.editPolicy(ctx, in.DryRun, http.StatusCreated, PolicyName{in.Project, in.Body.For}, organisation.MustBeNew, in.Body.PolicySpec)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "replace-policy", Method: http.MethodPut, Path: path + "/{name}", Summary: "Decide everything about a policy anew, making it where it is not there", Tags: tags, MaxBodyBytes: request.BodyMax + 1,
	}, func(ctx context.Context, in *struct {
		PolicyName
		request.DryRunning
		Body api.PolicySpec
	}) (*policyOutput, error) {
		return s.editPolicy(ctx, in.DryRun, http.StatusOK, in.PolicyName, organisation.MayExist, in.Body)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "delete-policy", Method: http.MethodDelete, Path: path + "/{name}", Summary: "Forget a policy; workloads keep what it has given them", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *struct{ PolicyName }) (*struct{}, error) {
		e := organisation.Edit{What: organisation.RecordPolicy, Name: organisation.PolicyName(in.id()), Drop: true}
		return nil, problem.OrNil(s.Log, s.Control.Apply(ctx, organisation.Organise([]organisation.Edit{e}, false)))
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "effective-policy", Method: http.MethodGet, Path: "/v1/projects/{project}/effective-policies/{name}", Summary: "What holds for workloads of a kind in a project, field by field, and where that comes from", Tags: tags,
	}, func(ctx context.Context, in *struct{ PolicyName }) (*struct{ Body api.EffectivePolicy }, error) {
		if !slices.Contains(policy.For()[1:], in.Name) {
			return nil, problem.OneOf("kind", in.Name, policy.For()[1:]...)
		}
		e, err := control.Do(ctx, s.Control, organisation.EffectivePolicy(core.ProjectID(in.Project), lifecycle.Kind(in.Name)))
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		out, err := wire.EffectivePolicy(in.Project, e)
		return &struct{ Body api.EffectivePolicy }{out}, problem.OrNil(s.Log, err)
	})
}

func (s *routes) onePolicy(t *core.Template, status int) (*policyOutput, error) {
	p, err := wire.Policy(t)
	return &policyOutput{Status: status, Body: p}, problem.OrNil(s.Log, err)
}

func (s *routes) listPolicies(ctx context.Context, project string) (*policiesOutput, error) {
	scope := core.ProjectID(project)
	if project == request.AllProjects {
		scope = ""
	}
	all, err := control.Do(ctx, s.Control, organisation.Policies(scope, true))
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	out := &policiesOutput{Body: api.PolicyList{Items: []api.Policy{}}}
	for i := range all {
		t := &all[i].Template
		if scope == "" && t.Project != core.SystemScope && !access.Allowed(ctx, rbac.Read, rbac.Policies, t.Project, "") {
			continue
		}
		p, err := wire.Policy(t)
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		out.Body.Items = append(out.Body.Items, p)
	}
	return out, nil
}

func (s *routes) editPolicy(ctx context.Context, dry bool, status int, name PolicyName, must organisation.Existence, in api.PolicySpec) (*policyOutput, error) {
	e := organisation.Edit{What: organisation.RecordPolicy, Name: organisation.PolicyName(name.id()), Must: must, Policy: wire.DecidePolicy(in, access.User(ctx))}
	if err := mayReachHost(ctx, e, core.ProjectID(name.Project)); err != nil {
		return nil, problem.Of(s.Log, err)
	}
	edited, err := control.Do(ctx, s.Control, organisation.Organise([]organisation.Edit{e}, dry))
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	out, err := s.onePolicy(edited[0].After.Policy, status)
	if err != nil {
		return nil, err
	}
	for _, b := range edited[0].Breaches {
		if access.Allowed(ctx, rbac.Read, rbac.NounOf(b.Workload.Kind), b.Workload.Project, b.Workload.User) {
			out.Body.Breaches = append(out.Body.Breaches, wire.PolicyBreach(b))
		}
	}
	return out, nil
}
