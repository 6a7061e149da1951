package access

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/server/problem"
)

// InCluster is a context in which something is asked for by whom the API server of a
// cluster has authenticated under a name: a service account of it, else the user who is
// called so here. Without access control the name stands for itself.
func (g *Guard) InCluster(ctx context.Context, name string) (context.Context, *api.Problem) {
	account := strings.HasPrefix(name, rbac.ClusterAccount+":")
	if !account && slices.ContainsFunc(g.OwnerNames(), func(n string) bool { return strings.EqualFold(n, name) }) {
		return nil, problem.New(http.StatusForbidden, "forbidden", "the cluster's user "+strconv.Quote(name)+" is called as the owner of the server is, and is not", "give them another name in the cluster, or have them come with a token: muster token create")
	}
	if !g.enforced() {
		return context.WithValue(ctx, visitKey{}, &visit{identity: identity{user: name}}), nil
	}
	s := &subject{guard: g, name: name, cluster: true, origin: draft.Origin{Actor: "user:" + name, Address: "cluster"}}
	if _, ok := s.caller(); !ok {
		return nil, problem.New(http.StatusForbidden, "forbidden", "the cluster's user "+strconv.Quote(name)+" is no user here, or is disabled", "an administrator makes one of the same name: muster user create "+name)
	}
	return context.WithValue(ctx, subjectKey{}, s), nil
}
