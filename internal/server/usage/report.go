package usage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
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
	"github.com/musterhq/muster/internal/engine/spending"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/reader"
	"github.com/musterhq/muster/internal/store"
)

// reportWorkloads bounds how many workloads are looked at for one report.
const reportWorkloads = 50_000

// largestMost is how many workloads a report names.
const largestMost = 10

// reportBy are what a report can be told apart by.
var reportBy = []string{"department", "project", "pool", "user", "gpu-type"}

type reportInput struct {
	From time.Time `query:"from" doc:"Default: 30 days ago"`
	To   time.Time `query:"to" doc:"Default: now"`
	By   []string  `query:"by" default:"project" doc:"department, project, pool, user, gpu-type; several by comma"`
	// Of whom.
	Project string `query:"project" doc:"Only what is of this project, or of the projects of this department"`
	User    string `query:"user" doc:"Only what is of this user"`
}

type reportOutput struct{ Body api.UsageReport }

func reportRoute(s *routes) {
	huma.Register(s.api, huma.Operation{
		OperationID: "usage-report", Method: http.MethodGet, Path: "/v1/report", Summary: "GPU-hours, cost, waits, waste and ends by department, project, pool, user and type of GPU", Tags: []string{"usage"},
		Description: "Of what who asks may see. What is idle is known of the last day; a workload that had GPUs of several pools or types counts in each.",
	}, func(ctx context.Context, in *reportInput) (*reportOutput, error) {
		out, err := s.report(ctx, in)
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		return &reportOutput{out}, nil
	})
}

// Report is what the route answers who asks, of a time: by project, or of one project by
// user.
func Report(ctx context.Context, r *reader.Reader, from, to time.Time, project, user string) (api.UsageReport, error) {
	by := "project"
	if project != "" {
		by = "user"
	}
	return (&routes{Reader: r}).report(ctx, &reportInput{From: from, To: to, By: []string{by}, Project: project, User: user})
}

func (s *routes) report(ctx context.Context, in *reportInput) (api.UsageReport, error) {
	r, err := newReporting(ctx, s, in)
	if err != nil {
		return api.UsageReport{}, err
	}
	for _, step := range []func(context.Context) error{r.uses, r.submitted, r.before} {
		if err := step(ctx); err != nil {
			return api.UsageReport{}, err
		}
	}
	return r.answer(ctx)
}

// reporting gathers a report.
type reporting struct {
	s        *routes
	from, to time.Time
	by       []string
	rates    budget.Rates
	parents  map[core.ProjectID]core.ProjectID
	may      func(core.ProjectID, string) bool
	waste    *waste
	rows     map[reportKey]*reportRow
	total    *reportRow
	runs     map[core.WorkloadID]*api.ReportRun
	places   map[core.WorkloadID][]place // where each workload had GPUs
	known    map[core.WorkloadID]bool    // whose waits and ends are counted
	cut      bool
	missing  []string // further sentences about what is not known
}

// place is of which pool and type GPUs were.
type place struct{ pool, product string }

// reportKey tells rows apart.
type reportKey struct{ department, project, pool, user, product string }

type reportRow struct {
	api.ReportRow
	waits []float64
	of    map[core.WorkloadID]struct{}
}

func newReporting(ctx context.Context, s *routes, in *reportInput) (*reporting, error) {
	now := s.Clock()
	r := &reporting{
		s: s, from: in.From, to: in.To, by: in.By, waste: s.newWaste(now), rows: map[reportKey]*reportRow{}, total: newRow(),
		places: map[core.WorkloadID][]place{}, known: map[core.WorkloadID]bool{}, runs: map[core.WorkloadID]*api.ReportRun{}, parents: map[core.ProjectID]core.ProjectID{},
	}
	if r.to.IsZero() || r.to.After(now) {
		r.to = now
	}
	if r.from.IsZero() {
		r.from = r.to.Add(-30 * 24 * time.Hour)
	}
	if !r.from.Before(r.to) {
		return nil, problem.BadValue("from", r.from.Format(time.RFC3339), "is not before to, "+r.to.Format(time.RFC3339), "write the earlier time in from")
	}
	for _, b := range r.by {
		if !slices.Contains(reportBy, b) {
			return nil, problem.OneOf("by", b, reportBy...)
		}
	}
	priced, err := control.Do(ctx, s.Control, spending.Prices())
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	r.rates = budget.NewRates(&priced.Prices)
	projects, err := s.Store.Projects(ctx)
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	for _, p := range projects {
		r.parents[p.ID] = p.Parent
	}
	sight := access.SightOf(ctx)
	// One that is gone has had something all the same, and of one that may not be seen it is not told that it is there.
	asked := core.ProjectID(in.Project)
	_, there := r.parents[asked]
	there = there || asked == core.DefaultProject // of which there may be no record
	if asked != "" && !(there && sight.Projects(asked)) {
		r.missing = append(r.missing, fmt.Sprintf("there is no project or department %q, or not any more", in.Project))
	}
	r.may = func(p core.ProjectID, user string) bool {
		if in.User != "" && in.User != user || in.Project != "" && in.Project != string(p) && in.Project != string(r.parents[p]) {
			return false
		}
		return sight.Every || access.Allowed(ctx, rbac.Read, rbac.Dashboards, p, user) && (user == access.User(ctx) || sight.Projects(p))
	}
	return r, nil
}

func newRow() *reportRow { return &reportRow{of: map[core.WorkloadID]struct{}{}} }

// row is the one of a user's workload in a project that had GPUs of a place.
func (r *reporting) row(project core.ProjectID, user string, at place) *reportRow {
	var k reportKey
	for _, b := range r.by {
		switch b {
		case "department":
			k.department = string(r.parents[project])
		case "project":
			k.project = string(project)
		case "pool":
			k.pool = at.pool
		case "user":
			k.user = user
		default:
			k.product = at.product
		}
	}
	x := r.rows[k]
	if x == nil {
		x = newRow()
		x.Department, x.Project, x.Pool, x.User, x.GPUType = k.department, k.project, k.pool, k.user, k.product
		r.rows[k] = x
	}
	return x
}

// uses counts what was charged.
func (r *reporting) uses(ctx context.Context) error {
	q := store.UseQuery{From: r.from, To: r.to, Now: r.to}
	err := r.s.Store.Uses(ctx, q, func(u core.Use) bool {
		if !r.may(u.Project, u.User) {
			return true
		}
		sort := budget.SortOf(u.Pool, u.Product)
		at := place{sort.Pool, sort.Product}
		if !slices.Contains(r.places[u.Workload], at) {
			r.places[u.Workload] = append(r.places[u.Workload], at)
		}
		cost := r.rates.Cost(sort, u.From, u.To, int64(u.Milli))
		for _, x := range []*reportRow{r.row(u.Project, u.User, at), r.total} {
			x.GPUHours += u.GPUSeconds / 3600
			x.Cost += cost
			x.of[u.Workload] = struct{}{}
		}
		run := r.run(u)
		run.GPUHours, run.Cost = run.GPUHours+u.GPUSeconds/3600, run.Cost+cost
		r.waste.note(u)
		return true
	})
	if err != nil {
		return err
	}
	return r.waste.sum(ctx, func(u core.Use, idle, lost float64) {
		sort := budget.SortOf(u.Pool, u.Product)
		displaced := 0.0
		if r.waste.left(u) {
			displaced = lost
		}
		r.run(u).Lost += lost / 3600
		for _, x := range []*reportRow{r.row(u.Project, u.User, place{sort.Pool, sort.Product}), r.total} {
			x.Idle, x.Lost, x.Displaced = x.Idle+idle/3600, x.Lost+lost/3600, x.Displaced+displaced/3600
		}
	})
}

// run is what is told of the workload of a use.
func (r *reporting) run(u core.Use) *api.ReportRun {
	x := r.runs[u.Workload]
	if x == nil {
		x = &api.ReportRun{ID: string(u.Workload), Project: string(u.Project), User: u.User}
		r.runs[u.Workload] = x
	}
	return x
}

// largest are the workloads that had most.
func (r *reporting) largest(ctx context.Context) ([]api.ReportRun, error) {
	all := slices.SortedFunc(maps.Values(r.runs), func(a, b *api.ReportRun) int {
		return cmp.Or(cmp.Compare(b.GPUHours, a.GPUHours), strings.Compare(a.ID, b.ID))
	})
	out := []api.ReportRun{}
	for _, x := range all[:min(len(all), largestMost)] {
		w, err := r.s.Store.Workload(ctx, core.WorkloadID(x.ID))
		if errors.Is(err, store.ErrNotFound) { // its name is gone with it
			continue
		}
		if err != nil {
			return nil, err
		}
		x.Name, x.Phase = w.Name, string(w.Phase)
		out = append(out, *x)
	}
	return out, nil
}

// waited are the reasons for which workloads waited.
func (r *reporting) waited() []api.WaitedFor {
	hours, since := r.s.Control.Waited().Hours(r.from, r.to, func(project, user string) bool { return r.may(core.ProjectID(project), user) })
	out := []api.WaitedFor{}
	for reason, h := range hours {
		out = append(out, api.WaitedFor{Reason: reason, Hours: h})
	}
	slices.SortFunc(out, func(a, b api.WaitedFor) int {
		return cmp.Or(cmp.Compare(b.Hours, a.Hours), strings.Compare(a.Reason, b.Reason))
	})
	switch {
	case since.IsZero():
		r.missing = append(r.missing, "for what workloads waited has not been counted yet")
	case since.After(r.from):
		r.missing = append(r.missing, "for what workloads waited is known since "+since.Format(time.RFC3339)+" only")
	}
	return out
}

// submitted counts the workloads that were made in that time.
func (r *reporting) submitted(ctx context.Context) error {
	for cursor := int64(0); ; {
		page, err := r.s.Store.List(ctx, store.Query{Since: r.from, Before: r.to, Deleted: true, Cursor: cursor, Limit: 1000})
		if err != nil {
			return err
		}
		for _, w := range page.Items {
			if r.may(w.Project, w.User) {
				r.count(w)
			}
		}
		if cursor = page.Next; cursor == 0 {
			return nil
		}
		if len(r.known) >= reportWorkloads {
			r.cut = true
			return nil
		}
	}
}

// before counts those that were made before, and had GPUs in that time.
func (r *reporting) before(ctx context.Context) error {
	for id := range r.places {
		if r.known[id] {
			continue
		}
		w, err := r.waste.workload(ctx, id)
		if err != nil {
			return err
		}
		if w != nil {
			r.count(w)
		}
	}
	return nil
}

// count counts the waits and the end of a workload.
func (r *reporting) count(w *core.Workload) {
	if r.known[w.ID] {
		return
	}
	r.known[w.ID] = true
	places := r.places[w.ID]
	if len(places) == 0 {
		places = []place{{}}
	}
	rows := []*reportRow{r.total}
	for _, at := range places {
		if x := r.row(w.Project, w.User, at); !slices.Contains(rows, x) {
			rows = append(rows, x)
		}
	}
	within := func(at time.Time) bool { return !at.IsZero() && !at.Before(r.from) && at.Before(r.to) }
	for _, x := range rows {
		x.of[w.ID] = struct{}{}
		for i := range w.Attempts {
			if a := &w.Attempts[i]; within(a.StartedAt) && !a.QueuedAt.IsZero() {
				x.waits = append(x.waits, max(a.StartedAt.Sub(a.QueuedAt).Seconds(), 0))
			}
		}
		if w.Phase.End() && within(w.EndedAt) {
			if x.Ends == nil {
				x.Ends = map[string]int{}
			}
			x.Ends[string(w.Phase)]++
		}
	}
}

// answer is the report.
func (r *reporting) answer(ctx context.Context) (api.UsageReport, error) {
	largest, err := r.largest(ctx)
	if err != nil {
		return api.UsageReport{}, err
	}
	out := api.UsageReport{From: api.Time(r.from), To: api.Time(r.to), By: r.by, Currency: r.rates.Currency, Items: []api.ReportRow{}, Total: r.total.done(), Largest: largest, Waited: r.waited()}
	out.Missing = append(r.waste.missing(), r.missing...)
	if r.cut {
		out.Missing = append(out.Missing, fmt.Sprintf("waits and ends are of the last %d workloads only; a shorter time tells all", len(r.known)))
	}
	for _, x := range r.rows {
		out.Items = append(out.Items, x.done())
	}
	slices.SortFunc(out.Items, func(a, b api.ReportRow) int {
		return cmp.Or(cmp.Compare(b.GPUHours, a.GPUHours), strings.Compare(nameOf(a), nameOf(b)))
	})
	return out, nil
}

func nameOf(x api.ReportRow) string {
	return strings.Join([]string{x.Department, x.Project, x.Pool, x.User, x.GPUType}, "\x00")
}

// done is the row with what follows from all that was counted.
func (x *reportRow) done() api.ReportRow {
	x.Workloads, x.Waits = len(x.of), len(x.waits)
	if x.Waits > 0 {
		slices.Sort(x.waits)
		sum := 0.0
		for _, w := range x.waits {
			sum += w
		}
		x.MeanWait = sum / float64(x.Waits)
		x.Wait95 = x.waits[int(math.Ceil(0.95*float64(x.Waits)))-1]
	}
	return x.ReportRow
}
