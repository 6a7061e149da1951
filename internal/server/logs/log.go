// Package logs serves the output of tasks and of image builds: one, or several in
// the order in which they were written, followed, searched, and the first error in
// them.
package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/reader"
	"github.com/musterhq/muster/internal/server/request"
)

// routes serve logs.
type routes struct {
	*reader.Reader
	api      huma.API
	builds   string // directory of the logs of image builds, ID.log each
	closing  <-chan struct{}
	searches *searches
}

// Register adds the routes of logs to an API. builds is the directory of the logs of
// image builds, ID.log each; what is followed ends with closing.
func Register(r *reader.Reader, a huma.API, builds string, closing <-chan struct{}) {
	s := &routes{r, a, builds, closing, newSearches()}
	s.firstErrorRoute()
	s.firstErrorsRoute()
	s.logRoute()
	s.logPageRoutes()
}

func (s *routes) logRoute() {
	huma.Register(s.api, huma.Operation{
		OperationID: "logs", Method: http.MethodGet, Path: "/v1/projects/{project}/workloads/{name}/logs", Summary: "Output of a task as plain text", Tags: []string{"workloads"},
	}, s.logs)
}

type logsInput struct {
	request.Named
	Attempt int   `query:"attempt" default:"-1" doc:"Number of the attempt; -1: the latest"`
	Task    int   `query:"task" minimum:"0" doc:"Index of the task"`
	Run     int   `query:"run" default:"-1" doc:"Number of the run of a task that had to leave and runs again; -1: the latest"`
	Tail    int   `query:"tail" default:"-1" doc:"Only the last lines; -1: all"`
	Offset  int64 `query:"offset" minimum:"0" doc:"Begin at this byte"`
	Follow  bool  `query:"follow" doc:"Go on until the task has ended"`
	// Part is task or build.
	Part string `query:"part" enum:"task,build" default:"task" doc:"build: the log of the build of its image"`
	// Since and Times go by what the backend knows of when what was written.
	Since time.Time `query:"since" doc:"Only what was written from then on"`
	Times bool      `query:"times" doc:"Before each line, and before the first byte sent, the time at which it was written: 24 characters and a space"`
}

func (s *routes) logs(ctx context.Context, in *logsInput) (*huma.StreamResponse, error) {
	w, err := s.Find(ctx, in.Project, in.Name)
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	if in.Part == "build" {
		return s.buildLog(w, in.Follow)
	}
	attempt := in.Attempt
	if attempt < 0 {
		attempt = w.Attempt
	}
	if attempt > w.Attempt {
		return nil, problem.New(http.StatusNotFound, "not_found", fmt.Sprintf("there is no attempt %d; the latest is %d", attempt, w.Attempt), "muster describe shows every attempt")
	}
	if n := w.Spec.Size(); in.Task >= n && !w.Kind.Replicated() && !w.Spec.Elastic() { // replicas and workers that come later get ever new indexes
		return nil, problem.New(http.StatusNotFound, "not_found", fmt.Sprintf("there is no task %d; it has %d, from 0", in.Task, n), "muster describe shows every task")
	}
	id, err := s.run(ctx, w, attempt, in)
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	body, err := s.openLogs(ctx, id, backend.LogOptions{Follow: in.Follow, Tail: in.Tail, Offset: in.Offset, Since: in.Since, Times: in.Times})
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		defer body.Close()
		r, rw := humago.Unwrap(hc)
		rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
		rw.Header().Set("X-Content-Type-Options", "nosniff")
		if p, ok := body.(backend.Positioned); ok {
			rw.Header().Set(api.LogOffsetHeader, strconv.FormatInt(p.Offset(), 10))
		}
		stop := context.AfterFunc(r.Context(), func() { body.Close() })
		defer stop()
		go func() { // a follower must not hold up a shutdown
			select {
			case <-s.closing:
				body.Close()
			case <-r.Context().Done():
			}
		}()
		flush := http.NewResponseController(rw)
		buf := make([]byte, 32<<10)
		for {
			n, err := body.Read(buf)
			if n > 0 {
				if _, werr := rw.Write(buf[:n]); werr != nil {
					return
				}
				if in.Follow {
					_ = flush.Flush()
				}
			}
			if err != nil {
				if !in.Follow && !errors.Is(err, io.EOF) {
					panic(http.ErrAbortHandler) // a part must not look like the whole
				}
				return
			}
		}
	}}, nil
}

// run is the run of a task whose output is meant: only those of arrays have more
// than one.
func (s *routes) run(ctx context.Context, w *core.Workload, attempt int, in *logsInput) (core.TaskID, error) {
	id := core.TaskID{Workload: w.ID, Attempt: attempt, Index: in.Task, Run: max(in.Run, 0)}
	if w.Spec.Array == nil || in.Run >= 0 {
		return id, nil
	}
	t, _, err := s.OneTask(ctx, w, attempt, in.Task)
	id.Run = t.ID.Run
	return id, err
}

// openLogs finds the backend that has the task's output.
func (s *routes) openLogs(ctx context.Context, id core.TaskID, o backend.LogOptions) (io.ReadCloser, error) {
	err := backend.ErrNoLogs
	for _, p := range s.Control.Outputs() {
		var body io.ReadCloser
		if body, err = p.Logs(context.WithoutCancel(ctx), id, o); err == nil {
			return body, nil
		}
	}
	return nil, err
}
