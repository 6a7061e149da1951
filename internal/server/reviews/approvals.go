package reviews

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/admission"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/engine/review"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/wire"
)

// approvalRoutes serves what waits for people, and who decides for whom.
func (s *routes) approvalRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "list-approvals", Method: http.MethodGet, Path: "/v1/approvals", Summary: "Every check that waits for people, of workloads that one may see, and whether one may decide it", Tags: tags,
	}, func(ctx context.Context, _ *struct{}) (*struct{ Body api.ApprovalList }, error) {
		return s.approvals(ctx)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "list-delegations", Method: http.MethodGet, Path: "/v1/delegations", Summary: "Who decides checks in whose place: from and to oneself, and all for those who may read access rules of the system", Tags: tags,
	}, func(ctx context.Context, _ *struct{}) (*struct{ Body api.DelegationList }, error) {
		name := access.User(ctx)
		if access.Allowed(ctx, rbac.Read, rbac.AccessRules, core.SystemScope, "") {
			name = ""
		}
		all, err := control.Do(ctx, s.Control, review.Delegations(name))
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		out := api.DelegationList{Items: []api.Delegation{}}
		for _, d := range all {
			out.Items = append(out.Items, wire.Delegation(d))
		}
		return &struct{ Body api.DelegationList }{out}, nil
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "delegate", Method: http.MethodPost, Path: "/v1/delegations", Summary: "Have another decide checks in one's place, for a time; it takes the place of a delegation to the same user in that scope", Tags: tags, DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *struct{ Body api.NewDelegation }) (*struct{ Body api.Delegation }, error) {
		caller, _, bound := access.Asker(ctx)
		d, err := control.Do(ctx, s.Control, review.Delegate(admission.Delegation{
			From: access.User(ctx), To: in.Body.To, Scope: core.ProjectID(in.Body.Scope), Until: time.Time(in.Body.Until).UTC(), Comment: in.Body.Comment,
		}, caller, bound))
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		return &struct{ Body api.Delegation }{wire.Delegation(d)}, nil
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "revoke-delegation", Method: http.MethodDelete, Path: "/v1/delegations", Summary: "End a delegation of one's own; those of others need update:access-rules in its scope", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *struct {
		From  string `query:"from" doc:"By default oneself"`
		To    string `query:"to" required:"true"`
		Scope string `query:"scope" required:"true" doc:"Project or department; '-': the system"`
	}) (*struct{}, error) {
		from := access.User(ctx)
		if in.From != "" && in.From != from {
			if err := access.May(ctx, rbac.Update, rbac.AccessRules, core.ProjectID(in.Scope), ""); err != nil {
				return nil, problem.Of(s.Log, err)
			}
			from = in.From
		}
		return nil, problem.OrNil(s.Log, s.Control.Apply(ctx, review.Revoke(from, in.To, core.ProjectID(in.Scope))))
	})
}

func (s *routes) approvals(ctx context.Context) (*struct{ Body api.ApprovalList }, error) {
	all, err := control.Do(ctx, s.Control, review.Approvals(access.User(ctx), access.Owns(ctx)))
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	out := api.ApprovalList{Items: []api.Approval{}}
	for i := range all {
		x := &all[i]
		if !access.Sees(ctx, x.Workload) {
			continue
		}
		if x.Refusal == "" && x.On == "" && !access.Allowed(ctx, rbac.Approve, rbac.NounOf(x.Workload.Kind), x.Workload.Project, x.Workload.User) {
			x.Refusal = "permission approve:" + rbac.NounOf(x.Workload.Kind) + " is missing in " + string(x.Workload.Project)
		}
		out.Items = append(out.Items, wire.Approval(x))
	}
	return &struct{ Body api.ApprovalList }{out}, nil
}
