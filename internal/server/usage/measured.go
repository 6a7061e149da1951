package usage

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/report"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/reader"
	"github.com/musterhq/muster/internal/server/request"
	"github.com/musterhq/muster/internal/server/wire"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/timeseries"
)

const (
	chartTasks  = 256     // tasks of a workload that one answer tells of at most
	chartValues = 400_000 // values of all series of one answer, about
	chartSteps  = 360     // of a series, where nobody asks for others
	slowOver    = 5 * time.Minute
)

// Stretch is the part of a query that says which time is meant; exported for the
// framework.
type Stretch struct {
	Since string `query:"since" default:"1h" doc:"How far back, like 30m, or a time; a day at most"`
	Until string `query:"until" doc:"Until when, a time; default: now, or the end of what has ended"`
	Step  string `query:"step" doc:"Length of a step, like 1m; default: so that a chart can show it"`
}

type measuredOutput struct{ Body api.Metrics }

func (s *routes) measuredRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "workload-metrics", Method: http.MethodGet, Path: "/v1/projects/{project}/workloads/{name}/metrics", Tags: []string{"workloads"},
		Summary: "What the tasks of an attempt used, each by itself, and which of them does least",
	}, func(ctx context.Context, in *struct {
		request.Named
		Stretch
		Attempt int   `query:"attempt" default:"-1" doc:"Number of the attempt; -1: the latest that has begun"`
		Task    []int `query:"task" doc:"Only the tasks of these indexes"`
	}) (*measuredOutput, error) {
		return s.workloadMetrics(ctx, in.Named, in.Stretch, in.Attempt, in.Task)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "node-metrics", Method: http.MethodGet, Path: "/v1/nodes/{name}/metrics", Tags: []string{"nodes"},
		Summary: "What everything on a node used, and how each of its GPUs fared",
	}, func(ctx context.Context, in *struct {
		request.RecordName
		Stretch
	}) (*measuredOutput, error) {
		return s.nodeMetrics(ctx, in.Name, in.Stretch)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "metrics", Method: http.MethodGet, Path: "/v1/metrics", Tags: []string{"cluster"},
		Summary: "GPUs allocated, busy and idle, and what waited, in all and by project",
	}, func(ctx context.Context, in *struct {
		Stretch
		Project  string   `query:"project" doc:"Only this project, beside the whole"`
		Workload []string `query:"workload" maxItems:"200" doc:"Only how busy the GPUs of these workloads are, by id, in the mean of each"`
	}) (*measuredOutput, error) {
		if len(in.Workload) > 0 {
			return s.workloadsBusy(ctx, in.Stretch, in.Workload)
		}
		return s.clusterMetrics(ctx, in.Stretch, in.Project)
	})
}

// chart is an answer that is being made.
type chart struct {
	s    *routes
	r    timeseries.Range
	body api.Metrics
}

// chart begins an answer with about so many series; end is when what it is about
// has ended, zero: it has not.
func (s *routes) chart(in Stretch, end time.Time, about int) (*chart, error) {
	now := s.Clock()
	to := now
	if !end.IsZero() && end.Before(now) {
		to = end
	}
	if in.Until != "" {
		t, err := time.Parse(time.RFC3339, in.Until)
		if err != nil {
			return nil, problem.BadValue("until", in.Until, "is not a time", "write one like 2026-08-01T12:00:00Z")
		}
		to = t
	}
	from, err := time.Parse(time.RFC3339, in.Since)
	if err != nil {
		d, bad := spec.ParseDuration(in.Since)
		if bad != nil || d <= 0 {
			return nil, problem.BadValue("since", in.Since, "is neither a length of time nor a time", "write one like 30m or 2026-08-01T12:00:00Z")
		}
		from = to.Add(-d.Std())
	}
	if !from.Before(to) {
		return nil, problem.BadValue("since", in.Since, "is not before until, "+to.Format(time.RFC3339), "write the earlier time in since")
	}
	steps := max(min(chartSteps, chartValues/max(about, 1)), 60)
	step := min(to.Sub(from), timeseries.Day) / time.Duration(steps)
	if in.Step != "" {
		d, bad := spec.ParseDuration(in.Step)
		if bad != nil || d <= 0 {
			return nil, problem.BadValue("step", in.Step, "is not a length of time", "write one like 10s or 1m")
		}
		if d.Std() > timeseries.Day {
			return nil, problem.BadValue("step", in.Step, "is longer than what is kept", "write at most 24h")
		}
		step = max(d.Std(), to.Sub(from)/time.Duration(max(chartValues/max(about, 1), 60)))
	}
	c := &chart{s: s, r: s.Control.Series().Range(from, to, step, now)}
	c.body = api.Metrics{
		From: api.Time(c.r.From), To: api.Time(c.r.From.Add(time.Duration(c.r.Count) * c.r.Step)), Step: c.r.Step.Seconds(),
		Series: []api.MetricSeries{}, Missing: s.Control.Missing(),
	}
	if c.body.Missing == nil {
		c.body.Missing = []string{}
	}
	if st := s.Control.Series().Stats(); st.Refused > 0 {
		c.body.Missing = append(c.body.Missing, fmt.Sprintf("not everything is kept: %d bytes are full; muster server --series-memory gives more", st.Max))
	}
	return c, nil
}

func (c *chart) output() *measuredOutput { return &measuredOutput{Body: c.body} }

// add adds the series of a metric, if anything is known of it between two times;
// zero: from or until ever.
func (c *chart) add(of, metric string, m api.MetricSeries, from, to time.Time) {
	c.put(metric, m, c.between(of, metric, from, to))
}

// between are the values of a series, those between two times alone.
func (c *chart) between(of, metric string, from, to time.Time) []float64 {
	values := c.s.Control.Series().Query(timeseries.Key{Of: of, Metric: metric}, c.r)
	for i := range values {
		at := c.r.From.Add(time.Duration(i) * c.r.Step)
		if !from.IsZero() && !at.Add(c.r.Step).After(from) || !to.IsZero() && !at.Before(to) {
			values[i] = math.NaN()
		}
	}
	return values
}

// put adds a series of these values, if any of them is known.
func (c *chart) put(metric string, m api.MetricSeries, values []float64) {
	m.Metric, m.Values = metric, make([]*float64, len(values))
	sum, n := 0.0, 0
	for i, v := range values {
		if math.IsNaN(v) {
			continue
		}
		sum, n = sum+v, n+1
		m.Values[i], m.Last = &values[i], &values[i]
		if m.Min == nil || v < *m.Min {
			m.Min = &values[i]
		}
		if m.Max == nil || v > *m.Max {
			m.Max = &values[i]
		}
	}
	if n == 0 {
		return
	}
	mean := sum / float64(n)
	m.Mean = &mean
	c.body.Series = append(c.body.Series, m)
}

var deviceMetrics = []string{control.GPUBusy, control.GPUMemory, control.GPUMemoryTotal, control.GPUPower, control.GPUTemperature}

func (s *routes) workloadMetrics(ctx context.Context, in request.Named, at Stretch, attempt int, only []int) (*measuredOutput, error) {
	w, err := s.Find(ctx, in.Project, in.Name)
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	if attempt < 0 {
		attempt = reader.LatestBegun(w)
	}
	if attempt > w.Attempt {
		return nil, problem.New(http.StatusNotFound, "not_found", fmt.Sprintf("there is no attempt %d; the latest is %d", attempt, w.Attempt), "muster describe shows every attempt")
	}
	shown, all, err := s.charted(ctx, w, attempt, only)
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	cut := len(shown) > chartTasks
	shown = shown[:min(len(shown), chartTasks)]
	about := 0
	for i := range shown {
		about += 2 + len(deviceMetrics)*len(shown[i].Devices)
	}
	c, err := s.chart(at, w.Attempts[attempt].EndedAt, about)
	if err != nil {
		return nil, err
	}
	if w.Kind.Replicated() {
		for _, m := range []string{control.RequestRate, control.RequestErrors, control.RequestMedian, control.RequestP95} {
			c.add(control.SeriesOfWorkload(w.ID), m, api.MetricSeries{}, w.Attempts[attempt].StartedAt, w.Attempts[attempt].EndedAt)
		}
	}
	for i := range shown {
		c.task(&shown[i])
	}
	if cut {
		c.body.Missing = append(c.body.Missing, fmt.Sprintf("only the first %d tasks are shown; task=INDEX asks for others", chartTasks))
	}
	c.body.Slowest = s.slowest(all)
	return c.output(), nil
}

// charted are the tasks of an attempt that are shown, or one more than are at most,
// and those of which one may be the slowest.
func (s *routes) charted(ctx context.Context, w *core.Workload, attempt int, only []int) (shown, run []core.Task, err error) {
	q := store.TaskQuery{Workload: w.ID, Attempt: attempt, Limit: chartTasks + 1}
	if len(only) == 0 {
		shown, err = s.Store.FindTasks(ctx, q)
	}
	for _, i := range slices.Compact(slices.Sorted(slices.Values(only))) {
		if len(shown) > chartTasks || err != nil {
			break
		}
		var t core.Task
		var there bool
		if t, there, err = s.OneTask(ctx, w, attempt, i); there {
			shown = append(shown, t)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	shown, _ = wire.Runs(shown, attempt)
	run, err = s.Store.FindTasks(ctx, store.TaskQuery{Workload: w.ID, Attempt: attempt, States: []core.TaskState{core.TaskRunning}, Limit: 5 * reader.TasksMost})
	return shown, run, err
}

// task adds what a task used, and how its devices fared while it had them.
func (c *chart) task(t *core.Task) {
	row := api.MetricSeries{Attempt: &t.ID.Attempt, Task: &t.ID.Index, Role: t.Role, Node: string(t.Node)}
	for _, m := range []string{control.CPUCores, control.MemoryBytes, control.NetworkBytes} {
		c.add(control.SeriesOfTask(t.ID), m, row, time.Time{}, time.Time{})
	}
	until := t.ReleasedAt
	if until.IsZero() {
		until = t.EndedAt
	}
	for i := range t.Devices {
		d := &t.Devices[i]
		row.Device, row.Index, row.Share = d.Device, &d.Index, 0
		if d.Milli < 1000 {
			row.Share = float64(d.Milli) / 1000
		}
		for _, m := range deviceMetrics {
			c.add(control.SeriesOfDevice(t.Node, d.Device), m, row, t.PlacedAt, until)
		}
	}
}

// workloadsBusy tells how busy the GPUs of each workload's latest attempt are.
func (s *routes) workloadsBusy(ctx context.Context, at Stretch, ids []string) (*measuredOutput, error) {
	c, err := s.chart(at, time.Time{}, len(ids))
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		w, err := s.Store.Workload(ctx, core.WorkloadID(id))
		if errors.Is(err, store.ErrNotFound) {
			continue // it was deleted since it was listed
		}
		if err == nil && !access.Sees(ctx, w) {
			continue
		}
		var tasks []core.Task
		if err == nil {
			tasks, err = s.Store.FindTasks(ctx, store.TaskQuery{Workload: w.ID, Attempt: reader.LatestBegun(w), Limit: chartTasks})
		}
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		c.put(control.GPUBusy, api.MetricSeries{ID: id}, c.busy(tasks))
	}
	return c.output(), nil
}

// busy is the mean over all devices of tasks, each as far as they held it.
func (c *chart) busy(tasks []core.Task) []float64 {
	sum, held := make([]float64, c.r.Count), make([]float64, c.r.Count)
	for i := range tasks {
		t := &tasks[i]
		for _, d := range t.Devices {
			for k, v := range c.between(control.SeriesOfDevice(t.Node, d.Device), control.GPUBusy, t.PlacedAt, t.ReleasedAt) {
				if !math.IsNaN(v) {
					sum[k], held[k] = sum[k]+v*float64(d.Milli), held[k]+float64(d.Milli)
				}
			}
		}
	}
	for k := range sum {
		sum[k] /= held[k] // not a number where nobody looked
	}
	return sum
}

func (s *routes) nodeMetrics(ctx context.Context, name string, at Stretch) (*measuredOutput, error) {
	st, err := control.Do(ctx, s.Control, report.Cluster())
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	n, err := request.Find("node", name, st.Nodes, func(n report.NodeState) string { return string(n.ID) })
	if err != nil {
		return nil, err
	}
	c, err := s.chart(at, time.Time{}, 2+len(deviceMetrics)*len(n.Devices))
	if err != nil {
		return nil, err
	}
	row := api.MetricSeries{Node: name}
	for _, m := range []string{control.CPUCores, control.MemoryBytes} {
		c.add(control.SeriesOfNode(n.ID), m, row, time.Time{}, time.Time{})
	}
	for i := range n.Devices {
		row.Device, row.Index = n.Devices[i].ID, &n.Devices[i].Index
		for _, m := range deviceMetrics {
			c.add(control.SeriesOfDevice(n.ID, n.Devices[i].ID), m, row, time.Time{}, time.Time{})
		}
	}
	return c.output(), nil
}

func (s *routes) clusterMetrics(ctx context.Context, at Stretch, project string) (*measuredOutput, error) {
	var projects []core.ProjectID
	if n := s.Control.Census(); n != nil {
		for _, p := range n.Projects {
			projects = append(projects, p.Project)
		}
	}
	if project != "" {
		projects = []core.ProjectID{core.ProjectID(project)}
	}
	projects = slices.DeleteFunc(projects, func(p core.ProjectID) bool { return !access.Allowed(ctx, rbac.Read, rbac.Dashboards, p, "") })
	slices.Sort(projects)
	c, err := s.chart(at, time.Time{}, 7+3*len(projects))
	if err != nil {
		return nil, err
	}
	for _, m := range []string{control.GPUs, control.GPUsAllocated, control.GPUsBusy, control.GPUsIdle, control.GPUsWanted, control.Running, control.Waiting} {
		c.add(control.SeriesOfCluster, m, api.MetricSeries{}, time.Time{}, time.Time{})
	}
	for _, p := range projects {
		for _, m := range []string{control.GPUsAllocated, control.GPUsWanted, control.Waiting} {
			c.add(control.SeriesOfProject(p), m, api.MetricSeries{Project: string(p)}, time.Time{}, time.Time{})
		}
	}
	return c.output(), nil
}
