// Package curves serves what tasks have reported of themselves.
package curves

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/reported"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/reader"
	"github.com/musterhq/muster/internal/server/request"
	"github.com/musterhq/muster/internal/store"
)

// reportedSeries bounds how many curves one answer has.
const reportedSeries = 5000

// Which is the part of a query that says which curves are meant; exported for the
// framework.
type Which struct {
	Metric []string `query:"metric" doc:"Only these numbers; the step itself is always told"`
	Points int      `query:"points" default:"0" minimum:"0" doc:"Points of a curve at most; 0: as they are kept, which is 256 at most"`
}

type reportedOutput struct{ Body api.Reported }

// routes serve curves.
type routes struct {
	*reader.Reader
	api      huma.API
	reported *reported.Store
}

// Register adds the routes of what is reported to an API.
func Register(r *reader.Reader, a huma.API, kept *reported.Store) {
	s := &routes{r, a, kept}
	s.routes()
}

func (s *routes) routes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "reported", Method: http.MethodGet, Path: "/v1/projects/{project}/workloads/{name}/reported", Tags: []string{"workloads"},
		Summary: "What the tasks of a workload have reported of themselves, such as loss, as curves",
	}, func(ctx context.Context, in *struct {
		request.Named
		Which
		Attempt int   `query:"attempt" default:"-1" doc:"Number of the attempt; -1: all"`
		Task    []int `query:"task" doc:"Only the tasks of these indexes"`
	}) (*reportedOutput, error) {
		w, err := s.Find(ctx, in.Project, in.Name)
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		out := &reportedOutput{api.Reported{Series: []api.ReportedSeries{}, Missing: []string{}}}
		s.curvesOf(&out.Body, w, in.Which, in.Attempt, in.Task)
		return out, nil
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "list-reported", Method: http.MethodGet, Path: "/v1/reported", Tags: []string{"workloads"},
		Summary: "What the tasks of several workloads have reported of themselves, to be compared",
	}, func(ctx context.Context, in *struct {
		Which
		Workload []string `query:"workload" minItems:"1" maxItems:"100" doc:"Their ids"`
	}) (*reportedOutput, error) {
		out := &reportedOutput{api.Reported{Series: []api.ReportedSeries{}, Missing: []string{}}}
		for _, id := range in.Workload {
			w, err := s.Store.Workload(ctx, core.WorkloadID(id))
			switch {
			case errors.Is(err, store.ErrNotFound): // it was deleted since it was listed
			case err != nil:
				return nil, problem.Of(s.Log, err)
			case access.Sees(ctx, w):
				s.curvesOf(&out.Body, w, in.Which, -1, nil)
			}
		}
		return out, nil
	})
}

// curvesOf adds the curves of a workload to an answer.
func (s *routes) curvesOf(out *api.Reported, w *core.Workload, which Which, attempt int, tasks []int) {
	names, indexes := map[string]bool{"": true}, map[int]bool{}
	for _, m := range which.Metric {
		names[m] = true
	}
	for _, i := range tasks {
		indexes[i] = true
	}
	list, whole, err := s.reported.Of(string(w.ID), func(k reported.Key) bool {
		return (attempt < 0 || k.Attempt == attempt) && (len(tasks) == 0 || indexes[k.Task]) && (len(which.Metric) == 0 || names[k.Metric])
	}, which.Points)
	if err != nil {
		s.Log.Warn("curves cannot be read", "workload", w.ID, "err", err)
		out.Missing = append(out.Missing, fmt.Sprintf("the curves of %s cannot be read; the server's log says why", w.Name))
	}
	if !whole {
		out.Missing = append(out.Missing, fmt.Sprintf("%s has reported under more names, or from more tasks, than are kept as curves", w.Name))
	}
	for i := range list {
		if len(out.Series) == reportedSeries {
			out.Missing = append(out.Missing, fmt.Sprintf("only the first %d curves are shown; metric=NAME asks for those of one number", reportedSeries))
			return
		}
		c := &list[i]
		x := api.ReportedSeries{
			ID: string(w.ID), Attempt: c.Attempt, Task: c.Task, Metric: c.Metric, Reports: c.Reports,
			Last: c.Last, Min: c.Min, MinStep: c.MinStep, Max: c.Max, MaxStep: c.MaxStep,
			Steps: make([]int64, len(c.Points)), At: make([]float64, len(c.Points)), Values: make([]float64, len(c.Points)),
		}
		for k, p := range c.Points {
			x.Steps[k], x.At[k], x.Values[k] = p.Step, float64(p.At)/1000, p.Value
		}
		out.Series = append(out.Series, x)
	}
}
