package server

import (
	"context"
	"maps"
	"net/http"
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine"
)

func (s *Server) prospectRoute() {
	huma.Register(s.api, huma.Operation{
		OperationID: "what-if", Method: http.MethodPost, Path: "/v1/what-if", Tags: []string{"organisation"},
		Summary:     "What changes of projects and departments would come to at once: who would start, who would have to make room, and how everybody would stand",
		Description: "Nothing is changed. The scheduler itself is asked, with what there is now.",
	}, func(ctx context.Context, in *struct{ Body api.Changes }) (*struct{ Body api.Prospect }, error) {
		out, err := s.prospect(ctx, in.Body)
		if err != nil {
			return nil, s.refusal(err)
		}
		return &struct{ Body api.Prospect }{*out}, nil
	})
}

func (s *Server) prospect(ctx context.Context, in api.Changes) (*api.Prospect, error) {
	if len(in.Projects) == 0 {
		return nil, badRequest("projects", "names nobody", `like {"projects":{"vision":{"pools":{"*":{"gpu":{"quota":4}}}}}}`)
	}
	v, err := s.control.Do(ctx, engine.Cluster())
	if err != nil {
		return nil, err
	}
	departments := map[string]bool{}
	for _, p := range v.(*engine.ClusterState).Projects {
		departments[string(p.ID)] = p.Department
	}
	var edits []engine.Edit
	for _, name := range slices.Sorted(maps.Keys(in.Projects)) {
		what, patch := engine.RecordProject, in.Projects[name]
		if departments[name] {
			what = engine.RecordDepartment
		}
		edits = append(edits, engine.Edit{What: what, Name: name, Must: engine.MustExist, Project: func(p *core.Project) error {
			return changed(projectSpec(*p), patch, func(n api.ProjectSpec) error { return decide(n, p) })
		}})
	}
	p, err := s.control.Prospect(ctx, edits)
	if err != nil {
		return nil, err
	}
	out := &api.Prospect{
		At: api.Time(p.At), Items: []api.AppliedItem{}, Standing: shifts(p.Before, p.After),
		Starts: neighbours(p.Starts), Waits: neighbours(p.Waits), Leaves: neighbours(p.Leaves), Stays: neighbours(p.Stays),
	}
	for _, e := range p.Edited {
		item := api.AppliedItem{Kind: "Project", Name: e.Name, Action: "unchanged", Warnings: e.Warnings}
		if e.What == engine.RecordDepartment {
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

// shifts are those standings that differ. Everybody is in both lists, though
// perhaps in a pool of which only one of them says something.
func shifts(before, after []engine.Standing) []api.StandingShift {
	key := func(s api.Standing) string { return s.Project + "/" + s.Pool }
	was, is := map[string]api.Standing{}, map[string]api.Standing{}
	for _, s := range before {
		was[string(s.Project.ID)+"/"+s.Pool] = standing(s)
	}
	out := []api.StandingShift{}
	for _, s := range after {
		now := standing(s)
		is[key(now)] = now
		then, there := was[key(now)]
		if !there {
			then = api.Standing{Project: now.Project, Department: now.Department, Parent: now.Parent, Pool: now.Pool}
		}
		if !reflect.DeepEqual(then, now) {
			out = append(out, api.StandingShift{Before: then, After: now})
		}
	}
	for _, s := range before {
		then := standing(s)
		if _, there := is[key(then)]; !there {
			out = append(out, api.StandingShift{Before: then, After: api.Standing{Project: then.Project, Department: then.Department, Parent: then.Parent, Pool: then.Pool}})
		}
	}
	return out
}
