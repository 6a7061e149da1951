package access

import (
	"context"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/server/problem"
)

// MaySubmit refuses a document whose kind of workload who asks may not submit in its
// project, or which reaches beyond its own container where they may not.
func MaySubmit(ctx context.Context, doc *spec.Document) error {
	if !Enforced(ctx) {
		return nil
	}
	project := core.ProjectID(doc.Project)
	if err := May(ctx, rbac.Create, rbac.NounOf(doc.Kind), project, User(ctx)); err != nil {
		return err
	}
	field, what := rbac.ReachesHost(doc, subjectOf(ctx).guard.AsSubmitter())
	if field == "" {
		return nil
	}
	err := May(ctx, rbac.Create, rbac.HostAccess, project, User(ctx))
	if p := problem.Refused(err); p != nil {
		c := *p
		c.Detail = field + ": " + what + "; " + p.Detail
		return &c
	}
	return err
}
