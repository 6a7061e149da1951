package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine"
)

const (
	// heartbeat keeps idle streams from being taken for dead ones.
	heartbeat = 15 * time.Second
	// catchUp is how many changed workloads a resuming watch reads at a time.
	catchUp = 500
)

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

func (s *Server) streamRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "watch", Method: http.MethodGet, Path: "/v1/watch", Summary: "Changes of workloads as server-sent events, resumable", Tags: []string{"workloads"},
		Description: "id: the revision; data: the workload without its document, with the transitions of this change. Resume with Last-Event-ID or after; each workload changed since is sent once, as it is now, then 'event: synced', then every change. Of a workload with more than 64 tasks a change carries those that changed.",
	}, s.watch)
	huma.Register(s.api, huma.Operation{
		OperationID: "logs", Method: http.MethodGet, Path: "/v1/projects/{project}/workloads/{name}/logs", Summary: "Output of a task as plain text", Tags: []string{"workloads"},
	}, s.logs)
	huma.Register(s.api, huma.Operation{
		OperationID: "workload-transitions", Method: http.MethodGet, Path: "/v1/projects/{project}/workloads/{name}/transitions", Summary: "History of a workload", Tags: []string{"workloads"},
	}, func(ctx context.Context, in *struct {
		Named
		Paged
	}) (*transitionsOutput, error) {
		w, err := s.find(ctx, in.Project, in.Name)
		if err != nil {
			return nil, problem(s.log, err)
		}
		return s.transitions(ctx, w.ID, in.Paged)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "transitions", Method: http.MethodGet, Path: "/v1/transitions", Summary: "History of all workloads", Tags: []string{"workloads"},
	}, func(ctx context.Context, in *struct {
		Paged
		Last int64 `query:"last" minimum:"1" doc:"Begin with the last so many"`
	}) (*transitionsOutput, error) {
		if in.Last > 0 {
			n, err := s.store.Counters(ctx)
			if err != nil {
				return nil, problem(s.log, err)
			}
			in.After = max(in.After, n.Transition-in.Last)
		}
		return s.transitions(ctx, "", in.Paged)
	})
}

// Paged selects a page of a history; exported for the framework.
type Paged struct {
	After int64 `query:"after" minimum:"0" doc:"Only those with a greater seq"`
	Limit int   `query:"limit" minimum:"1" maximum:"10000" default:"1000"`
	// Dialect asks for the word that each transition led to.
	Dialect string `query:"dialect" doc:"Also the word of this platform for the state that each led to"`
}

type transitionsOutput struct{ Body api.TransitionList }

func (s *Server) transitions(ctx context.Context, id core.WorkloadID, in Paged) (*transitionsOutput, error) {
	d, err := dialect(in.Dialect)
	if err != nil {
		return nil, err
	}
	ts, err := s.store.Transitions(ctx, id, in.After, in.Limit)
	if err != nil {
		return nil, problem(s.log, err)
	}
	kinds := map[core.WorkloadID]lifecycle.Kind{}
	before := map[core.WorkloadID]lifecycle.State{} // the last that was not Leaving
	out := &transitionsOutput{Body: api.TransitionList{Items: make([]api.Transition, len(ts))}}
	for i, t := range ts {
		out.Body.Items[i] = transition(t)
		out.Body.Items[i].Workload = string(t.Workload)
		if d == "" {
			continue
		}
		if _, ok := kinds[t.Workload]; !ok {
			w, err := s.store.Workload(ctx, t.Workload)
			if err != nil {
				return nil, problem(s.log, err)
			}
			kinds[t.Workload] = w.Kind
		}
		now, was := stateOf(t), before[t.Workload]
		now.Started = was.Started || now.Phase.Held()
		if was.Phase == lifecycle.None { // an earlier page has it
			was = lifecycle.State{Phase: t.From, Attempt: t.Attempt, Started: t.From.Held()}
		}
		if !now.Leaving() {
			before[t.Workload] = now
		}
		out.Body.Items[i].Word = lifecycle.Say(d, lifecycle.View{Kind: kinds[t.Workload], State: now, Prior: was}).Status
	}
	if len(ts) == in.Limit {
		out.Body.Next = strconv.FormatInt(ts[len(ts)-1].Seq, 10)
	}
	return out, nil
}

// stateOf is the state that a transition led to.
func stateOf(t core.Transition) lifecycle.State {
	return lifecycle.State{Phase: t.To, Target: t.Target, Event: t.Event, Cause: t.Cause, Reason: t.Reason, Message: t.Message, Attempt: t.Attempt}
}

type watchInput struct {
	Project string `query:"project" doc:"Only this project's"`
	Name    string `query:"name" doc:"Only the workload of this name or id"`
	After   string `query:"after" doc:"Begin after this revision; without it, with what comes from now on"`
	LastID  string `header:"Last-Event-ID"`
}

func (s *Server) watch(_ context.Context, in *watchInput) (*huma.StreamResponse, error) {
	from := in.After
	if in.LastID != "" {
		from = in.LastID
	}
	after := core.Revision(-1)
	if from != "" {
		n, err := strconv.ParseInt(from, 10, 64)
		if err != nil || n < 0 {
			return nil, badRequest("after", strconv.Quote(from)+" is not a revision", "use the id of the last event")
		}
		after = core.Revision(n)
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		r, w := humago.Unwrap(hc)
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Cache-Control", "no-store")
		st := &stream{s: s, w: w, flush: http.NewResponseController(w), in: in}
		if err := st.run(r.Context(), after); err != nil && r.Context().Err() == nil && !errors.Is(err, errClosing) {
			s.log.Debug("a watch ended", "err", err)
		}
	}}, nil
}

var errClosing = errors.New("the server is closing")

// stream is one watch.
type stream struct {
	s     *Server
	w     io.Writer
	flush *http.ResponseController
	in    *watchInput
}

// run subscribes first and reads what was missed afterwards, so that nothing
// falls between; what comes twice has the same revision and is skipped.
func (st *stream) run(ctx context.Context, after core.Revision) error {
	sub := st.s.control.Subscribe()
	defer sub.Close()
	sent := core.Revision(0)
	for after >= 0 {
		ws, err := st.s.store.ChangedSince(ctx, max(after, sent), catchUp)
		if err != nil {
			return err
		}
		if len(ws) == 0 {
			break
		}
		ps, err := st.s.gather(ctx, ws, viewSummary, tasksMost)
		if err != nil {
			return err
		}
		for _, p := range ps {
			if err := st.send(p); err != nil {
				return err
			}
		}
		sent = ws[len(ws)-1].Rev
	}
	if err := st.text("event: synced\ndata: {}\n\n"); err != nil {
		return err
	}
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-st.s.closing:
			return errClosing
		case <-tick.C:
			if err := st.text(": heartbeat\n\n"); err != nil {
				return err
			}
		case changes, ok := <-sub.C:
			if !ok {
				return errors.New("the client is too slow; it may resume")
			}
			if err := st.changes(changes, sent); err != nil {
				return err
			}
		}
	}
}

func (st *stream) changes(changes []engine.Change, sent core.Revision) error {
	for _, c := range changes {
		if c.Workload.Rev <= sent {
			continue
		}
		p := parts{w: c.Workload, transitions: c.Transitions}
		for _, t := range slices.Concat(c.Former, c.Tasks) {
			p.tasks = append(p.tasks, *t)
		}
		if err := st.send(p); err != nil {
			return err
		}
	}
	return st.flush.Flush()
}

func (st *stream) send(p parts) error {
	if st.in.Project != "" && string(p.w.Project) != st.in.Project || st.in.Name != "" && p.w.Name != st.in.Name && string(p.w.ID) != st.in.Name {
		return nil
	}
	data, err := json.Marshal(st.s.workload(p, viewSummary))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(st.w, "id: %d\nevent: workload\ndata: %s\n\n", p.w.Rev, data)
	return err
}

func (st *stream) text(s string) error {
	if _, err := io.WriteString(st.w, s); err != nil {
		return err
	}
	return st.flush.Flush()
}

type logsInput struct {
	Named
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

func (s *Server) logs(ctx context.Context, in *logsInput) (*huma.StreamResponse, error) {
	w, err := s.find(ctx, in.Project, in.Name)
	if err != nil {
		return nil, problem(s.log, err)
	}
	if in.Part == "build" {
		return s.buildLog(w, in.Follow)
	}
	attempt := in.Attempt
	if attempt < 0 {
		attempt = w.Attempt
	}
	if attempt > w.Attempt {
		return nil, newProblem(http.StatusNotFound, "not_found", fmt.Sprintf("there is no attempt %d; the latest is %d", attempt, w.Attempt), "muster describe shows every attempt")
	}
	if n := w.Spec.Size(); in.Task >= n && w.Kind != lifecycle.Inference && !w.Spec.Elastic() { // replicas and workers that come later get ever new indexes
		return nil, newProblem(http.StatusNotFound, "not_found", fmt.Sprintf("there is no task %d; it has %d, from 0", in.Task, n), "muster describe shows every task")
	}
	id, err := s.run(ctx, w, attempt, in)
	if err != nil {
		return nil, problem(s.log, err)
	}
	body, err := s.openLogs(ctx, id, backend.LogOptions{Follow: in.Follow, Tail: in.Tail, Offset: in.Offset, Since: in.Since, Times: in.Times})
	if err != nil {
		return nil, problem(s.log, err)
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
func (s *Server) run(ctx context.Context, w *core.Workload, attempt int, in *logsInput) (core.TaskID, error) {
	id := core.TaskID{Workload: w.ID, Attempt: attempt, Index: in.Task, Run: max(in.Run, 0)}
	if w.Spec.Array == nil || in.Run >= 0 {
		return id, nil
	}
	t, _, err := s.oneTask(ctx, w, attempt, in.Task)
	id.Run = t.ID.Run
	return id, err
}

// openLogs finds the backend that has the task's output.
func (s *Server) openLogs(ctx context.Context, id core.TaskID, o backend.LogOptions) (io.ReadCloser, error) {
	err := backend.ErrNoLogs
	for _, p := range s.control.Backends() {
		var body io.ReadCloser
		if body, err = p.Logs(context.WithoutCancel(ctx), id, o); err == nil {
			return body, nil
		}
	}
	return nil, err
}
