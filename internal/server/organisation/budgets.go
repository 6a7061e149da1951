package organisation

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/engine/spending"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/reader"
	"github.com/musterhq/muster/internal/server/wire"
)

type budgetsOutput struct{ Body api.BudgetList }

type pricesOutput struct{ Body api.Prices }

func budgetRoutes(s *reader.Reader, a huma.API) {
	tags := []string{"budgets"}
	huma.Register(a, huma.Operation{
		OperationID: "list-budgets", Method: http.MethodGet, Path: "/v1/budgets", Summary: "How budgets of projects and departments stand", Tags: tags,
		Description: "Of budgets that each user has, one's own, and all of them for who may read the project's dashboards.",
	}, func(ctx context.Context, in *struct {
		Project string `query:"project" doc:"Only this project's or department's"`
	}) (*budgetsOutput, error) {
		all, err := control.Do(ctx, s.Control, spending.Budgets())
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		out := &budgetsOutput{Body: api.BudgetList{Items: []api.BudgetState{}}}
		for _, b := range all {
			if (in.Project == "" || string(b.Scope) == in.Project) && seesBudget(ctx, b) {
				out.Body.Items = append(out.Body.Items, wire.BudgetState(b))
			}
		}
		return out, nil
	})
	huma.Register(a, huma.Operation{
		OperationID: "prices", Method: http.MethodGet, Path: "/v1/prices", Summary: "What GPUs cost", Tags: tags,
	}, func(ctx context.Context, _ *struct{}) (*pricesOutput, error) {
		p, err := control.Do(ctx, s.Control, spending.Prices())
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		return &pricesOutput{wire.Prices(p)}, nil
	})
	huma.Register(a, huma.Operation{
		OperationID: "replace-prices", Method: http.MethodPut, Path: "/v1/prices", Summary: "Say anew what GPUs cost", Tags: tags,
		Description: "What was used before a price begins costs what it did. The version is that of the prices that were read.",
	}, func(ctx context.Context, in *struct{ Body api.Prices }) (*pricesOutput, error) {
		p, err := control.Do(ctx, s.Control, spending.SetPrices(in.Body.Version, wire.PricesOf(in.Body), access.User(ctx)))
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		return &pricesOutput{wire.Prices(p)}, nil
	})
}

// seesBudget reports whether who asks may read how a budget stands.
func seesBudget(ctx context.Context, b spending.State) bool {
	noun := rbac.Projects
	if b.Department {
		noun = rbac.Departments
	}
	if !access.Allowed(ctx, rbac.Read, noun, b.Scope, "") {
		return false
	}
	return b.User == "" || b.User == access.User(ctx) || access.Allowed(ctx, rbac.Read, rbac.Dashboards, b.Scope, "")
}
