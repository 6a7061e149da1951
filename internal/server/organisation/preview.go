package organisation

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/report"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/reader"
	"github.com/musterhq/muster/internal/server/request"
	"github.com/musterhq/muster/internal/server/wire"
)

func (s *routes) previewRoute() {
	huma.Register(s.api, huma.Operation{
		OperationID: "what-if", Method: http.MethodPost, Path: "/v1/what-if", Tags: []string{"organisation"},
		Summary:     "What changes of projects and departments would come to at once: who would start, who would have to make room, and how everybody would stand",
		Description: "Nothing is changed. The scheduler itself is asked, with what there is now.",
	}, func(ctx context.Context, in *struct{ Body api.Changes }) (*struct{ Body api.Preview }, error) {
		out, err := s.preview(ctx, in.Body)
		if err != nil {
			return nil, problem.OrNil(s.Log, err)
		}
		return &struct{ Body api.Preview }{*out}, nil
	})
}

func (s *routes) preview(ctx context.Context, in api.Changes) (*api.Preview, error) {
	if len(in.Projects) == 0 {
		return nil, problem.BadRequest("projects", "is empty: no project or department is to change", `write, for example, {"projects":{"vision":{"pools":{"*":{"gpu":{"quota":4}}}}}}`)
	}
	st, err := control.Do(ctx, s.Control, report.Cluster())
	if err != nil {
		return nil, err
	}
	departments := map[string]bool{}
	for _, p := range st.Projects {
		departments[string(p.ID)] = p.Department
	}
	var edits []organisation.Edit
	for _, name := range slices.Sorted(maps.Keys(in.Projects)) {
		what, patch := organisation.RecordProject, in.Projects[name]
		if departments[name] {
			what = organisation.RecordDepartment
		}
		edits = append(edits, organisation.Edit{What: what, Name: name, Must: organisation.MustExist, Project: func(p *core.Project) error {
			return request.Patch(wire.ProjectSpec(*p), patch, func(n api.ProjectSpec) error { return wire.DecideProject(n, p) })
		}})
	}
	if err := s.mayEdit(ctx, edits); err != nil {
		return nil, err
	}
	p, err := s.Control.Preview(ctx, edits)
	if err != nil {
		return nil, err
	}
	out := &api.Preview{
		At: api.Time(p.At), Items: []api.AppliedItem{}, Standing: wire.Shifts(p.Before, p.After),
		Starts: wire.RelatedWorkloads(p.Starts), Waits: wire.RelatedWorkloads(p.Waits), Leaves: wire.RelatedWorkloads(p.Leaves), Stays: wire.RelatedWorkloads(p.Stays),
	}
	out.Starts, out.Waits, out.Leaves, out.Stays = s.Hide(ctx, out.Starts), s.Hide(ctx, out.Waits), s.Hide(ctx, out.Leaves), s.Hide(ctx, out.Stays)
	out.Standing = slices.DeleteFunc(out.Standing, func(x api.StandingShift) bool { return !reader.ReadsRecord(ctx, x.Before.Project, x.Before.Department) })
	for _, e := range p.Edited {
		item := api.AppliedItem{Kind: "Project", Name: e.Name, Action: "unchanged", Warnings: e.Warnings}
		if e.What == organisation.RecordDepartment {
			item.Kind = "Department"
		}
		if item.Changes, err = changesOf(e); err != nil {
			return nil, err
		}
		if len(item.Changes) > 0 {
			item.Action = "updated"
		}
		out.Items = append(out.Items, item)
	}
	return out, nil
}
