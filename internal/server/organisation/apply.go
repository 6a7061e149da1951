package organisation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/report"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/reader"
	"github.com/musterhq/muster/internal/server/request"
	"github.com/musterhq/muster/internal/server/wire"
)

type applyOutput struct{ Body api.Applied }

type standingsOutput struct{ Body api.StandingList }

func (s *routes) routes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "apply", Method: http.MethodPost, Path: "/v1/apply", Tags: []string{"organisation"}, MaxBodyBytes: request.BulkMax,
		Summary: "Make projects, departments, pools, licenses, nodes, reservations, policies, limits of users and prices what the records say: all of them, or none",
	}, func(ctx context.Context, in *struct {
		request.DryRunning
		Body api.Manifest
	}) (*applyOutput, error) {
		out, err := s.apply(ctx, in.Body.Items, in.DryRun)
		return out, problem.OrNil(s.Log, err)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "quota", Method: http.MethodGet, Path: "/v1/quota", Tags: []string{"organisation"},
		Summary: "What every project and department is guaranteed, uses and waits for, by pool",
	}, func(ctx context.Context, in *struct {
		Project string `query:"project" doc:"Only this project or department"`
		Pool    string `query:"pool" doc:"Only this pool"`
	}) (*standingsOutput, error) {
		all, err := control.Do(ctx, s.Control, report.Standings())
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		out := &standingsOutput{Body: api.StandingList{Items: []api.Standing{}, At: api.Time(s.Clock())}}
		for _, st := range all {
			if (in.Project == "" || in.Project == string(st.Project.ID)) && (in.Pool == "" || in.Pool == st.Pool) && reader.ReadsRecord(ctx, string(st.Project.ID), st.Project.Department) {
				out.Body.Items = append(out.Body.Items, wire.Standing(st))
			}
		}
		return out, nil
	})
}

func (s *routes) apply(ctx context.Context, items []map[string]any, dry bool) (*applyOutput, error) {
	edits := make([]organisation.Edit, len(items))
	seen := map[string]int{}
	var wrong []api.FieldProblem
	for i, item := range items {
		var err error
		if edits[i], err = editOf(item, access.User(ctx)); err != nil {
			wrong = append(wrong, within(i, err)...)
			continue
		}
		key := string(edits[i].What) + "/" + edits[i].Name
		if first, twice := seen[key]; twice {
			wrong = append(wrong, api.FieldProblem{Path: fmt.Sprintf("items[%d].name", i), Problem: fmt.Sprintf("%s %s stands there twice, first as items[%d]", edits[i].What, edits[i].Name, first), Hint: "write each record once"})
		}
		seen[key] = i
	}
	if len(wrong) > 0 {
		hint := wrong[0].Hint
		if len(wrong[0].Allowed) > 0 {
			hint = cmp.Or(hint, "allowed: "+strings.Join(wrong[0].Allowed, ", "))
		}
		p := problem.New(http.StatusUnprocessableEntity, "invalid", wrong[0].Path+": "+wrong[0].Problem, cmp.Or(hint, "see the fields in /docs"))
		p.Errors = wrong
		return nil, p
	}
	if err := s.mayEdit(ctx, edits); err != nil {
		return nil, err
	}
	edited, err := control.Do(ctx, s.Control, organisation.Organise(edits, dry))
	if err != nil {
		return nil, s.placed(edits, err)
	}
	out := &applyOutput{Body: api.Applied{Items: []api.AppliedItem{}, DryRun: dry}}
	for i, done := range edited {
		a := api.AppliedItem{Kind: items[i]["kind"].(string), Name: done.Name, Action: "updated", Warnings: done.Warnings}
		for _, b := range done.Breaches {
			if access.Allowed(ctx, rbac.Read, rbac.NounOf(b.Workload.Kind), b.Workload.Project, b.Workload.User) {
				a.Warnings = append(a.Warnings, fmt.Sprintf("it would not let in %s of project %s, which is %s and stays as it is: %s", b.Workload.Name, b.Workload.Project, b.Workload.Phase, b.Errors[0].Error()))
			}
		}
		if a.Changes, err = changesOf(done); err != nil {
			return nil, err
		}
		switch {
		case done.Before == organisation.Content{}:
			a.Action = "created"
		case len(a.Changes) == 0:
			a.Action, a.Warnings = "unchanged", nil
		}
		out.Body.Items = append(out.Body.Items, a)
	}
	return out, nil
}

// within are the problems of one item, below its place.
func within(i int, err error) []api.FieldProblem {
	var p *api.Problem
	if !errors.As(err, &p) {
		return []api.FieldProblem{{Path: fmt.Sprintf("items[%d]", i), Problem: err.Error()}}
	}
	out := slices.Clone(p.Errors)
	for k := range out {
		out[k].Path = strings.TrimSuffix(fmt.Sprintf("items[%d].%s", i, out[k].Path), ".")
	}
	return out
}

// placed gives a refusal of the control plane the place of the item that it is
// about.
func (s *routes) placed(edits []organisation.Edit, err error) error {
	var refused *draft.Refused
	p := problem.Of(s.Log, err)
	if !errors.As(err, &refused) && len(edits) == 1 {
		refused = &draft.Refused{}
	}
	if refused != nil {
		if len(p.Errors) == 0 {
			p.Errors = []api.FieldProblem{{Problem: p.Detail, Hint: p.Hint}}
		}
		p.Errors = within(refused.Edit, p)
	}
	return p
}
