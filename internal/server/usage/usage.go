// Package usage serves what GPUs were used for: who holds them, what was charged,
// what was idle or lost, and what was measured.
package usage

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/budget"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/spending"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/reader"
	"github.com/musterhq/muster/internal/server/wire"
	"github.com/musterhq/muster/internal/store"
)

// routes serve usage and measurements.
type routes struct {
	*reader.Reader
	api huma.API
}

// Register adds the routes of usage and measurements to an API.
func Register(r *reader.Reader, a huma.API) {
	s := &routes{r, a}
	s.holdingsRoute()
	s.courseRoute()
	s.routes()
	s.measuredRoutes()
	reportRoute(s)
}

type usageInput struct {
	Project string    `query:"project"`
	User    string    `query:"user"`
	From    time.Time `query:"from" doc:"Default: 30 days ago"`
	To      time.Time `query:"to" doc:"Default: now"`
	By      []string  `query:"by" default:"project" doc:"project, user, workload; several by comma"`
	Every   string    `query:"every" doc:"Split by time, into spans of this length, like 24h"`
	Waste   bool      `query:"waste" doc:"Tell also what was idle in the last day, and what was lost"`
}

// usageSpans bounds how many spans a usage is split into.
const usageSpans = 10_000

func (s *routes) routes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "usage", Method: http.MethodGet, Path: "/v1/usage", Summary: "Charged GPU time by project, user, workload and time", Tags: []string{"usage"},
		Description: "Charged is the time from a task's placement until its devices were given back, times the fraction of each device that it held.",
	}, s.usage)
}

func (s *routes) usage(ctx context.Context, in *usageInput) (*struct{ Body api.UsageList }, error) {
	now := s.Clock()
	to, from := in.To, in.From
	if to.IsZero() {
		to = now
	}
	if from.IsZero() {
		from = to.Add(-30 * 24 * time.Hour)
	}
	var every time.Duration
	if in.Every != "" {
		d, err := spec.ParseDuration(in.Every)
		if err != nil || d <= 0 {
			return nil, problem.BadValue("every", in.Every, "is not a length of time", "write one like 1h or 24h")
		}
		if every = d.Std(); to.Sub(from)/every > usageSpans {
			return nil, problem.BadValue("every", in.Every, fmt.Sprintf("cuts the time between from and to into more than %d spans", usageSpans), "write a longer one, or bring from and to closer together")
		}
	}
	if !from.Before(to) {
		return nil, problem.BadValue("from", from.Format(time.RFC3339), "is not before to, "+to.Format(time.RFC3339), "write the earlier time in from")
	}
	groups := usageGroups{by: in.By, all: map[usageKey]*usageGroup{}}
	if err := groups.known(); err != nil {
		return nil, err
	}
	priced, err := control.Do(ctx, s.Control, spending.Prices())
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	groups.rates = budget.NewRates(&priced.Prices)
	out := &struct{ Body api.UsageList }{api.UsageList{Items: []api.Usage{}, From: api.Time(from), To: api.Time(to), Currency: priced.Currency}}
	sight := access.SightOf(ctx)
	readable := func(p core.ProjectID, user string) bool {
		return access.Allowed(ctx, rbac.Read, rbac.Dashboards, p, user) && (user == access.User(ctx) || sight.Projects(p))
	}
	var lookFor *waste
	if in.Waste {
		lookFor = s.newWaste(now)
	}
	for at := from; at.Before(to); {
		end := to
		if every > 0 && at.Add(every).Before(to) {
			end = at.Add(every)
		}
		q := store.UseQuery{From: at, To: end, Now: now, Project: core.ProjectID(in.Project), User: in.User}
		bucket := time.Time{}
		if every > 0 {
			bucket = at
		}
		err := s.Store.Uses(ctx, q, func(u core.Use) bool {
			if !sight.Every && !readable(u.Project, u.User) {
				return true
			}
			out.Body.Cost += groups.add(u, bucket)
			out.Body.Total += u.GPUSeconds
			lookFor.note(u)
			return true
		})
		if err == nil {
			err = lookFor.sum(ctx, func(u core.Use, idle, lost float64) {
				g := &groups.group(u, bucket).usage
				g.Idle, g.Lost = g.Idle+idle, g.Lost+lost
				out.Body.Idle, out.Body.Lost = out.Body.Idle+idle, out.Body.Lost+lost
			})
		}
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		at = end
	}
	out.Body.Items, out.Body.Missing = groups.list(), lookFor.missing()
	return out, nil
}

type usageKey struct {
	bucket                      int64
	project, user, workload, id string
}

type usageGroup struct {
	usage api.Usage
	of    map[core.WorkloadID]struct{}
}

type usageGroups struct {
	by    []string
	all   map[usageKey]*usageGroup
	rates budget.Rates
}

func (g *usageGroups) known() error {
	for _, b := range g.by {
		if b != "project" && b != "user" && b != "workload" {
			return problem.OneOf("by", b, "project", "user", "workload")
		}
	}
	return nil
}

// add counts what was used, and returns what that cost.
func (g *usageGroups) add(u core.Use, bucket time.Time) float64 {
	x, cost := g.group(u, bucket), g.rates.Cost(budget.SortOf(u.Pool, u.Product), u.From, u.To, int64(u.Milli))
	x.usage.GPUSeconds += u.GPUSeconds
	x.usage.Cost += cost
	x.of[u.Workload] = struct{}{}
	return cost
}

// group is the one that u belongs to.
func (g *usageGroups) group(u core.Use, bucket time.Time) *usageGroup {
	var k usageKey
	if !bucket.IsZero() {
		k.bucket = bucket.UnixMicro()
	}
	if slices.Contains(g.by, "project") {
		k.project = string(u.Project)
	}
	if slices.Contains(g.by, "user") {
		k.user = u.User
	}
	if slices.Contains(g.by, "workload") {
		k.workload, k.id, k.project = u.Name, string(u.Workload), string(u.Project)
	}
	x := g.all[k]
	if x == nil {
		x = &usageGroup{usage: api.Usage{Project: k.project, User: k.user, Workload: k.workload, ID: k.id, Bucket: wire.At(bucket)}, of: map[core.WorkloadID]struct{}{}}
		g.all[k] = x
	}
	return x
}

// list is every group, by time, the largest first.
func (g *usageGroups) list() []api.Usage {
	out := make([]api.Usage, 0, len(g.all))
	for _, x := range g.all {
		x.usage.Workloads = len(x.of)
		out = append(out, x.usage)
	}
	slices.SortFunc(out, func(a, b api.Usage) int {
		return cmp.Or(spanOf(a).Compare(spanOf(b)), cmp.Compare(b.GPUSeconds, a.GPUSeconds), strings.Compare(a.Project+a.User+a.ID, b.Project+b.User+b.ID))
	})
	return out
}

func spanOf(u api.Usage) time.Time {
	if u.Bucket == nil {
		return time.Time{}
	}
	return time.Time(*u.Bucket)
}
