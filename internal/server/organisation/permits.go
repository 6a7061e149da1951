package organisation

import (
	"context"
	"strings"

	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/policy"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/report"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/server/problem"
)

// nouns are what records are called in permissions.
var nouns = map[organisation.Record]string{
	organisation.RecordProject: rbac.Projects, organisation.RecordDepartment: rbac.Departments, organisation.RecordPool: rbac.Pools,
	organisation.RecordLicense: rbac.Licenses, organisation.RecordNode: rbac.Nodes, organisation.RecordReservation: rbac.Reservations, organisation.RecordPolicy: rbac.Policies,
	organisation.RecordUserBound: rbac.Settings, organisation.RecordPrices: rbac.Settings,
}

// mayEdit refuses edits of records that who asks may not make. A project is made in
// the department that it is to stand below, and moved by who may change the one that it
// leaves and make projects in the one that it comes to.
func (s *routes) mayEdit(ctx context.Context, edits []organisation.Edit) error {
	if !access.Enforced(ctx) {
		return nil
	}
	st, err := control.Do(ctx, s.Control, report.Cluster())
	if err != nil {
		return err
	}
	there := make(map[core.ProjectID]core.Project, len(st.Projects))
	for _, p := range st.Projects {
		there[p.ID] = p
	}
	for _, e := range edits {
		if err := mayEdit(ctx, e, there); err != nil {
			return err
		}
	}
	return nil
}

func mayEdit(ctx context.Context, e organisation.Edit, there map[core.ProjectID]core.Project) error {
	noun := nouns[e.What]
	if e.What == organisation.RecordPolicy {
		scope, _, _ := strings.Cut(e.Name, "/")
		if err := access.May(ctx, rbac.Update, noun, core.ProjectID(scope), ""); err != nil {
			return err
		}
		return mayReachHost(ctx, e, core.ProjectID(scope))
	}
	if e.Project == nil { // of the whole place, or a project that goes
		scope, verb := core.SystemScope, rbac.Update
		if e.What == organisation.RecordProject || e.What == organisation.RecordDepartment {
			scope = core.ProjectID(e.Name)
		}
		if e.Drop && noun != rbac.Settings {
			verb = rbac.Delete
		}
		return access.May(ctx, verb, noun, scope, "")
	}
	was, exists := there[core.ProjectID(e.Name)]
	if !exists && e.Must == organisation.MustExist {
		return access.May(ctx, rbac.Update, noun, core.ProjectID(e.Name), "")
	}
	next := was
	if !exists {
		next.ID = core.ProjectID(e.Name)
	}
	if err := e.Project(&next); err != nil { // what is wrong with it is said below, to who may make it
		next.Parent = was.Parent
	}
	if exists {
		if err := access.May(ctx, rbac.Update, noun, was.ID, ""); err != nil || next.Parent == was.Parent {
			return err
		}
	}
	above := next.Parent
	if above == "" {
		above = core.SystemScope
	}
	return access.May(ctx, rbac.Create, noun, above, "")
}

// mayReachHost refuses a policy whose defaults reach beyond containers, from who may not
// do that: it would do so for them.
func mayReachHost(ctx context.Context, e organisation.Edit, scope core.ProjectID) error {
	if e.Policy == nil || !access.Enforced(ctx) {
		return nil
	}
	r, err := e.Policy()
	if err != nil {
		return err
	}
	p, err := policy.Parse(r.Says)
	if err != nil { // what is wrong with it is said below
		return nil
	}
	at := policy.ReachesHost(p.Defaults)
	if at == "" {
		return nil
	}
	err = access.May(ctx, rbac.Create, rbac.HostAccess, scope, "")
	if refused := problem.Refused(err); refused != nil {
		c := *refused
		c.Detail = "defaults." + at + ": it is a directory of the machine; " + refused.Detail
		return &c
	}
	return err
}
