package reader

import (
	"context"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/store"
)

// ReadsRecord reports whether who asks may read the record of a project or department.
func ReadsRecord(ctx context.Context, name string, department bool) bool {
	noun := rbac.Projects
	if department {
		noun = rbac.Departments
	}
	return access.Allowed(ctx, rbac.Read, noun, core.ProjectID(name), "")
}

// ReadableProjects are those projects and departments that who asks may read.
func (s *Reader) ReadableProjects(ctx context.Context, all []api.Project) []api.Project {
	if !access.Enforced(ctx) {
		return all
	}
	out := make([]api.Project, 0, len(all))
	for _, p := range all {
		if ReadsRecord(ctx, p.Name, p.Department) {
			out = append(out, p)
		}
	}
	return out
}

// Hide takes the names out of what is said of other workloads that who asks may not
// see: their numbers stay.
func (s *Reader) Hide(ctx context.Context, all []api.RelatedWorkload) []api.RelatedWorkload {
	sight := access.SightOf(ctx)
	if sight.Every {
		return all
	}
	for i := range all {
		w, err := s.Store.Workload(ctx, core.WorkloadID(all[i].ID))
		if err == nil && sight.Of(w) {
			continue
		}
		all[i].ID, all[i].Name, all[i].Project, all[i].User = "", "", "", ""
	}
	return all
}

// HideForecast is Hide of all that a forecast names.
func (s *Reader) HideForecast(ctx context.Context, f *api.Forecast) {
	if access.SeesAll(ctx) {
		return
	}
	f.Ahead, f.Frees, f.Holders = s.Hide(ctx, f.Ahead), s.Hide(ctx, f.Frees), s.Hide(ctx, f.Holders)
	for i := range f.Suggestions {
		f.Suggestions[i].Displaces = s.Hide(ctx, f.Suggestions[i].Displaces)
	}
}

// seenChunk is how many workloads are read at a time where some may be hidden.
const seenChunk = 500

// Seen is a page of workloads that who asks may see, read further where some of a page
// are hidden.
func (s *Reader) Seen(ctx context.Context, q store.Query) (store.Page, error) {
	sight := access.SightOf(ctx)
	if sight.Every {
		return s.Store.List(ctx, q)
	}
	limit := q.Limit
	if limit == 0 {
		limit = 100
	}
	var out store.Page
	for q.Limit = seenChunk; ; {
		page, err := s.Store.List(ctx, q)
		if err != nil {
			return out, err
		}
		for i, w := range page.Items {
			if !sight.Of(w) {
				continue
			}
			if out.Items = append(out.Items, w); len(out.Items) == limit {
				if i < len(page.Items)-1 || page.Next > 0 {
					out.Next = w.Seq
				}
				return out, nil
			}
		}
		if q.Cursor = page.Next; page.Next == 0 {
			return out, nil
		}
	}
}
