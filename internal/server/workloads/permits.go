package workloads

import (
	"context"
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/server/problem"
)

// maySubmit refuses a document whose kind of workload who asks may not submit in its
// project, or which reaches beyond its own container where they may not.
func maySubmit(ctx context.Context, doc *spec.Document) error {
	if !access.Enforced(ctx) {
		return nil
	}
	project := core.ProjectID(doc.Project)
	if err := access.May(ctx, rbac.Create, rbac.NounOf(doc.Kind), project, access.User(ctx)); err != nil {
		return err
	}
	field, what := reachesHost(doc)
	if field == "" {
		return nil
	}
	err := access.May(ctx, rbac.Create, rbac.HostAccess, project, access.User(ctx))
	if p := problem.Refused(err); p != nil {
		c := *p
		c.Detail = field + ": " + what + "; " + p.Detail
		return &c
	}
	return err
}

// reachesHost is by which field a document reaches beyond its own container; empty:
// by none.
func reachesHost(doc *spec.Document) (field, what string) {
	switch {
	case doc.Image == "" && doc.Build == nil:
		return "image", "without one the command is a process of the server's user, who may do everything here"
	case doc.Build != nil && doc.Build.Code != "":
		return "build.code", "a directory of the server's machine goes into the image"
	case doc.Publish != nil && doc.Publish.Serve != nil && doc.Publish.Serve.Image == "":
		return "publish.serve.image", "without one what serves is a process of the server's user"
	}
	if i := slices.IndexFunc(doc.Volumes, func(v spec.Volume) bool { return v.HostPath != "" }); i >= 0 {
		return fmt.Sprintf("volumes[%d].hostPath", i), "it is a directory of the machine"
	}
	return "", ""
}
