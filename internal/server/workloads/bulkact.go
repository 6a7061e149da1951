package workloads

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/server/bulk"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/request"
	"github.com/musterhq/muster/internal/store"
)

type bulkActionOutput struct{ Body api.BulkAction }

// BulkActionName is a path that names a bulk action; exported for the framework,
// which fills it where it is embedded.
type BulkActionName struct {
	ID string `path:"id"`
}

// bulkActionRoutes serve actions on many workloads, which go on when whoever has
// asked for them leaves.
func (s *routes) bulkActionRoutes() {
	tags := []string{"workloads"}
	const path = "/v1/bulk-actions"
	huma.Register(s.api, huma.Operation{
		OperationID: "start-bulk-action", Method: http.MethodPost, Path: path, Tags: tags, DefaultStatus: http.StatusAccepted, MaxBodyBytes: request.BulkMax,
		Summary: "Do something with many workloads; it goes on when the client leaves, until the server ends, and each is done or refused by itself",
	}, s.startBulkAction)
	huma.Register(s.api, huma.Operation{
		OperationID: "list-bulk-actions", Method: http.MethodGet, Path: path, Summary: "List the bulk actions that run, and the latest that have ended", Tags: tags,
	}, func(ctx context.Context, _ *struct{}) (*struct{ Body api.BulkActionList }, error) {
		all := slices.DeleteFunc(s.actions.List(), func(a api.BulkAction) bool { return !mayFollow(ctx, &a) })
		return &struct{ Body api.BulkActionList }{api.BulkActionList{Items: all}}, nil
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "bulk-action", Method: http.MethodGet, Path: path + "/{id}", Summary: "How far a bulk action has come; 410 says that the server has started again, which ended it", Tags: tags,
	}, func(ctx context.Context, in *BulkActionName) (*bulkActionOutput, error) {
		out := &bulkActionOutput{}
		return out, s.following(ctx, in.ID, func(a *bulk.Action) { out.Body = a.About })
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "cancel-bulk-action", Method: http.MethodPost, Path: path + "/{id}/cancel", Summary: "Ask no further workload of a bulk action; what is done stays done", Tags: tags, DefaultStatus: http.StatusOK,
	}, func(ctx context.Context, in *BulkActionName) (*bulkActionOutput, error) {
		out := &bulkActionOutput{}
		return out, s.following(ctx, in.ID, func(a *bulk.Action) {
			a.Cancel()
			out.Body = a.About
		})
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "bulk-action-outcomes", Method: http.MethodGet, Path: path + "/{id}/outcomes", Summary: "What each workload of a bulk action answered", Tags: tags,
	}, func(ctx context.Context, in *struct {
		BulkActionName
		Refused bool `query:"refused" doc:"Only those that were refused"`
		Limit   int  `query:"limit" minimum:"1" maximum:"1000" default:"100"`
		Cursor  int  `query:"cursor" minimum:"0" doc:"next of the page before"`
	}) (*struct{ Body api.BulkOutcomeList }, error) {
		out := &struct{ Body api.BulkOutcomeList }{}
		return out, s.following(ctx, in.ID, func(a *bulk.Action) {
			items, next := a.Page(in.Cursor, in.Limit, in.Refused)
			out.Body.Items = append([]api.BulkOutcome{}, items...)
			if next > 0 {
				out.Body.Next = strconv.Itoa(next)
			}
		})
	})
}

// mayFollow reports whether who asks may see and end a bulk action: those who have
// asked for it, and those who may change everything.
func mayFollow(ctx context.Context, a *api.BulkAction) bool {
	return a.User == access.User(ctx) || access.Allowed(ctx, rbac.Update, rbac.Workloads, core.SystemScope, "")
}

// following calls f with a bulk action that who asks may follow.
func (s *routes) following(ctx context.Context, id string, f func(*bulk.Action)) error {
	hidden := false
	err := s.actions.With(id, func(a *bulk.Action) {
		if hidden = !mayFollow(ctx, &a.About); !hidden {
			f(a)
		}
	})
	if hidden {
		return problem.New(http.StatusNotFound, "not_found", "there is no bulk action "+strconv.Quote(id), "GET /v1/bulk-actions lists them")
	}
	return err
}

// verbOf is the permission that an action on a workload takes.
func verbOf(action string) string {
	switch action {
	case "delete":
		return rbac.Delete
	case "approve", "reject":
		return rbac.Approve
	}
	return rbac.Update
}

func (s *routes) startBulkAction(ctx context.Context, in *struct{ Body api.NewBulkAction }) (*bulkActionOutput, error) {
	b := in.Body
	do, err := s.bulkVerb(b.Action, b.Options)
	if err != nil {
		return nil, err
	}
	ids := b.Workloads
	switch {
	case len(ids) > 0 && b.Filter != "":
		return nil, problem.BadRequest("filter", "stands beside workloads", "send one of them")
	case len(ids) == 0 && b.Filter == "":
		return nil, problem.BadRequest("workloads", "is missing, and filter too", "name the ids of workloads, or what a filter means")
	case b.Project != "" && b.Filter == "":
		return nil, problem.BadRequest("project", "stands beside workloads, which are named by id", "leave it out")
	case b.Filter != "":
		if ids, err = s.meant(ctx, b.Project, b.Filter); err != nil {
			return nil, err
		}
	}
	if ids = distinct(ids); len(ids) > bulk.Most {
		return nil, problem.BadRequest("workloads", fmt.Sprintf("there are more than %d", bulk.Most), "ask for fewer at a time")
	}
	ask := func(ctx context.Context, id string) api.BulkOutcome {
		o := api.BulkOutcome{ID: id}
		w, err := s.Find(ctx, request.AllProjects, id)
		if err == nil {
			err = access.Workload(ctx, verbOf(b.Action), w)
		}
		if err == nil {
			o.Project, o.Name, o.Phase = string(w.Project), w.Name, string(w.Phase)
			var out *workloadOutput
			if out, err = do(ctx, &request.Named{Project: request.AllProjects, Name: id}); err == nil {
				o.Phase = out.Body.Phase
			}
		}
		if err != nil {
			o.Problem = problem.Of(s.Log, err)
		}
		return o
	}
	about := api.BulkAction{Action: b.Action, User: access.User(ctx)}
	if about, err = s.actions.Begin(ctx, about, ids, ask, s.Clock); err != nil {
		return nil, err
	}
	return &bulkActionOutput{about}, nil
}

// bulkVerb is what is done with each workload. What is wrong with its options is
// said at once where it can be, as it is wrong for all.
func (s *routes) bulkVerb(action string, options json.RawMessage) (func(context.Context, *request.Named) (*workloadOutput, error), error) {
	act := func(do func(context.Context, *request.Named) (*workloadOutput, error)) (func(context.Context, *request.Named) (*workloadOutput, error), error) {
		return func(ctx context.Context, n *request.Named) (*workloadOutput, error) {
			return do(context.WithValue(ctx, briefKey{}, true), n)
		}, nil
	}
	switch action {
	case "delete":
		if len(options) > 0 {
			return nil, problem.BadRequest("options", "is not for delete", "leave it out")
		}
		return act(s.remove)
	case "change":
		var patch map[string]any
		if err := json.Unmarshal(options, &patch); err != nil || len(patch) == 0 {
			return nil, problem.BadRequest("options", "says nothing to change", "send a merge patch such as {\"priority\": \"high\"}")
		}
		if _, err := mayChange(patch); err != nil {
			return nil, err
		}
		return act(func(ctx context.Context, n *request.Named) (*workloadOutput, error) { return s.change(ctx, n, patch) })
	}
	for _, v := range verbs {
		if v.name == action {
			return act(func(ctx context.Context, n *request.Named) (*workloadOutput, error) { return v.do(s, ctx, n, options) })
		}
	}
	return nil, problem.BadValue("action", action, "is not an action", "the API's description lists them")
}

// briefKey marks a request whose answer nobody reads but for the phase.
type briefKey struct{}

func (s *routes) remove(ctx context.Context, in *request.Named) (*workloadOutput, error) {
	return s.act(ctx, in, func(r draft.Ref) draft.Command[*core.Workload] { return submission.Delete(r, access.Actor(ctx)) })
}

// meant are the ids of the workloads that a filter means.
func (s *routes) meant(ctx context.Context, project, filter string) ([]string, error) {
	q := store.Query{Project: core.ProjectID(project), Limit: bulk.Most + 1}
	found, _, err := s.filtered(ctx, q, filter)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(found))
	for i, w := range found {
		ids[i] = string(w.ID)
	}
	return ids, nil
}

// distinct is a list without what stands in it before.
func distinct(ids []string) []string {
	seen := make(map[string]bool, len(ids))
	out := make([]string, 0, len(ids))
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	return out
}
