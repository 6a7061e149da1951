package organisation

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/request"
	"github.com/musterhq/muster/internal/server/wire"
)

type userLimitOutput struct{ Body api.UserBound }

type userLimitsOutput struct{ Body api.UserBoundList }

func (s *routes) userLimitRoutes() {
	tags := []string{"user-limits"}
	huma.Register(s.api, huma.Operation{
		OperationID: "list-user-limits", Method: http.MethodGet, Path: "/v1/user-limits", Summary: "What users may have at once in all projects together", Tags: tags,
		Description: "One's own and that of each who has none of their own; all of them for who may read users.",
	}, func(ctx context.Context, _ *struct{}) (*userLimitsOutput, error) {
		all, err := s.userLimits(ctx)
		return &userLimitsOutput{Body: api.UserBoundList{Items: all}}, problem.OrNil(s.Log, err)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "replace-user-limit", Method: http.MethodPut, Path: "/v1/user-limits/{name}", Summary: "Decide anew what a user may have over all projects", Tags: tags,
	}, func(ctx context.Context, in *struct {
		request.RecordName
		request.DryRunning
		Body api.UserBoundSpec
	}) (*userLimitOutput, error) {
		return s.editUserLimit(ctx, in.DryRun, organisation.Edit{What: organisation.RecordUserBound, Name: in.Name, UserBound: wire.DecideUserBound(in.Body)})
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "change-user-limit", Method: http.MethodPatch, Path: "/v1/user-limits/{name}", Tags: tags,
		Summary: "Change some of what a user may have over all projects, beginning where nothing is said: a JSON merge patch, in which null takes a field away",
	}, func(ctx context.Context, in *struct {
		request.RecordName
		request.DryRunning
		Body map[string]any `contentType:"application/merge-patch+json"`
	}) (*userLimitOutput, error) {
		return s.editUserLimit(ctx, in.DryRun, organisation.Edit{What: organisation.RecordUserBound, Name: in.Name, UserBound: func(b *core.UserBound) error {
			return request.Patch(wire.UserBoundSpec(*b), in.Body, func(n api.UserBoundSpec) error { return wire.DecideUserBound(n)(b) })
		}})
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "delete-user-limit", Method: http.MethodDelete, Path: "/v1/user-limits/{name}", Summary: "Bound a user no more", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, s.drop(organisation.RecordUserBound))
}

// userLimits are those that who asks may see.
func (s *routes) userLimits(ctx context.Context) ([]api.UserBound, error) {
	all, err := control.Do(ctx, s.Control, organisation.UserBounds())
	if err != nil {
		return nil, err
	}
	everybody := access.Allowed(ctx, rbac.Read, rbac.Users, core.SystemScope, "")
	out := []api.UserBound{}
	for _, b := range all {
		if everybody || b.User == core.AnyUser || b.User == access.User(ctx) {
			out = append(out, wire.UserBound(b))
		}
	}
	return out, nil
}

func (s *routes) editUserLimit(ctx context.Context, dry bool, e organisation.Edit) (*userLimitOutput, error) {
	edited, err := control.Do(ctx, s.Control, organisation.Organise([]organisation.Edit{e}, dry))
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	return &userLimitOutput{wire.UserBound(organisation.UserBoundState{UserBound: *edited[0].After.UserBound})}, nil
}
