// Package watch serves what changes, while it changes: workloads and their history,
// and everything that a page follows.
package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/reader"
	"github.com/musterhq/muster/internal/server/request"
	"github.com/musterhq/muster/internal/server/wire"
)

// routes serve changes.
type routes struct {
	*reader.Reader
	api       huma.API
	version   string
	closing   <-chan struct{}
	overviews overviews
}

// Register adds the routes of changes to an API. version is that of the
// server, which a page is told; streams end with closing.
func Register(r *reader.Reader, a huma.API, version string, closing <-chan struct{}) {
	s := &routes{Reader: r, api: a, version: version, closing: closing}
	s.streamRoutes()
	s.overviewRoutes()
}

const (
	// heartbeat keeps idle streams from being taken for dead ones.
	heartbeat = 15 * time.Second
	// catchUp is how many changed workloads a resuming watch reads at a time.
	catchUp = 500
)

func (s *routes) streamRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "watch", Method: http.MethodGet, Path: "/v1/watch", Summary: "Changes of workloads as server-sent events, resumable", Tags: []string{"workloads"},
		Description: "id: the revision; data: the workload without its document, with the transitions of this change. Resume with Last-Event-ID or after; each workload changed since is sent once, as it is now, then 'event: synced', then every change. Of a workload with more than 64 tasks a change carries those that changed.",
	}, s.watch)
	huma.Register(s.api, huma.Operation{
		OperationID: "workload-transitions", Method: http.MethodGet, Path: "/v1/projects/{project}/workloads/{name}/transitions", Summary: "History of a workload", Tags: []string{"workloads"},
	}, func(ctx context.Context, in *struct {
		request.Named
		Paged
	}) (*transitionsOutput, error) {
		w, err := s.Find(ctx, in.Project, in.Name)
		if err != nil {
			return nil, problem.Of(s.Log, err)
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
			n, err := s.Store.Counters(ctx)
			if err != nil {
				return nil, problem.Of(s.Log, err)
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

func (s *routes) transitions(ctx context.Context, id core.WorkloadID, in Paged) (*transitionsOutput, error) {
	d, err := wire.Dialect(in.Dialect)
	if err != nil {
		return nil, err
	}
	ts, err := s.Store.Transitions(ctx, id, in.After, in.Limit)
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	lastSeq := int64(0)
	if len(ts) > 0 {
		lastSeq = ts[len(ts)-1].Seq
	}
	kinds := map[core.WorkloadID]lifecycle.Kind{}
	before := map[core.WorkloadID]lifecycle.State{} // the last that was not Leaving
	out := &transitionsOutput{Body: api.TransitionList{Items: make([]api.Transition, len(ts))}}
	read := len(ts)
	if id == "" {
		if ts, err = s.seenOf(ctx, ts); err != nil {
			return nil, problem.Of(s.Log, err)
		}
		out.Body.Items = out.Body.Items[:len(ts)]
	}
	for i, t := range ts {
		out.Body.Items[i] = wire.Transition(t)
		out.Body.Items[i].Workload = string(t.Workload)
		if d == "" {
			continue
		}
		if _, ok := kinds[t.Workload]; !ok {
			w, err := s.Store.Workload(ctx, t.Workload)
			if err != nil {
				return nil, problem.Of(s.Log, err)
			}
			kinds[t.Workload] = w.Kind
		}
		now, was := wire.StateOf(t), before[t.Workload]
		now.Started = was.Started || now.Phase.Held()
		if was.Phase == lifecycle.None { // an earlier page has it
			was = lifecycle.State{Phase: t.From, Attempt: t.Attempt, Started: t.From.Held()}
		}
		if !now.Leaving() {
			before[t.Workload] = now
		}
		out.Body.Items[i].Word = lifecycle.Say(d, lifecycle.View{Kind: kinds[t.Workload], State: now, Prior: was}).Status
	}
	if read == in.Limit {
		out.Body.Next = strconv.FormatInt(lastSeq, 10)
	}
	return out, nil
}

type watchInput struct {
	Project string `query:"project" doc:"Only this project's"`
	Name    string `query:"name" doc:"Only the workload of this name or id"`
	After   string `query:"after" doc:"Begin after this revision; without it, with what comes from now on"`
	LastID  string `header:"Last-Event-ID"`
}

// seenOf are those transitions whose workloads who asks may see.
func (s *routes) seenOf(ctx context.Context, ts []core.Transition) ([]core.Transition, error) {
	sight := access.SightOf(ctx)
	if sight.Every {
		return ts, nil
	}
	seen := map[core.WorkloadID]bool{}
	out := make([]core.Transition, 0, len(ts))
	for _, t := range ts {
		yes, known := seen[t.Workload]
		if !known {
			w, err := s.Store.Workload(ctx, t.Workload)
			if err != nil {
				return nil, err
			}
			yes = sight.Of(w)
			seen[t.Workload] = yes
		}
		if yes {
			out = append(out, t)
		}
	}
	return out, nil
}

func (s *routes) watch(_ context.Context, in *watchInput) (*huma.StreamResponse, error) {
	from := in.After
	if in.LastID != "" {
		from = in.LastID
	}
	after := core.Revision(-1)
	if from != "" {
		n, err := strconv.ParseInt(from, 10, 64)
		if err != nil || n < 0 {
			return nil, problem.BadValue("after", from, "is not a revision", "use the id of the last event")
		}
		after = core.Revision(n)
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		r, w := humago.Unwrap(hc)
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Cache-Control", "no-store")
		st := &stream{s: s, ctx: r.Context(), w: w, flush: http.NewResponseController(w), in: in}
		if err := st.run(r.Context(), after); err != nil && r.Context().Err() == nil && !errors.Is(err, errClosing) {
			s.Log.Debug("a watch ended", "err", err)
		}
	}}, nil
}

var errClosing = errors.New("the server is closing")

// stream is one watch.
type stream struct {
	s     *routes
	ctx   context.Context // of who listens
	w     io.Writer
	flush *http.ResponseController
	in    *watchInput
}

// run subscribes first and reads what was missed afterwards, so that nothing
// falls between; what comes twice has the same revision and is skipped.
func (st *stream) run(ctx context.Context, after core.Revision) error {
	sub := st.s.Control.Subscribe()
	defer sub.Close()
	sent := core.Revision(0)
	for after >= 0 {
		ws, err := st.s.Store.ChangedSince(ctx, max(after, sent), catchUp)
		if err != nil {
			return err
		}
		if len(ws) == 0 {
			break
		}
		ps, err := st.s.Gather(ctx, ws, wire.ViewSummary, reader.TasksMost)
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

func (st *stream) changes(changes []draft.Change, sent core.Revision) error {
	for _, c := range changes {
		if c.Workload.Rev <= sent {
			continue
		}
		p := wire.Parts{Workload: c.Workload, Transitions: c.Transitions}
		for _, t := range slices.Concat(c.Former, c.Tasks) {
			p.Tasks = append(p.Tasks, *t)
		}
		if err := st.send(p); err != nil {
			return err
		}
	}
	return st.flush.Flush()
}

func (st *stream) send(p wire.Parts) error {
	if st.in.Project != "" && string(p.Workload.Project) != st.in.Project || st.in.Name != "" && p.Workload.Name != st.in.Name && string(p.Workload.ID) != st.in.Name {
		return nil
	}
	if !access.Sees(st.ctx, p.Workload) {
		return nil
	}
	data, err := json.Marshal(wire.Workload(p, wire.ViewSummary, st.s.Clock()))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(st.w, "id: %d\nevent: workload\ndata: %s\n\n", p.Workload.Rev, data)
	return err
}

func (st *stream) text(s string) error {
	if _, err := io.WriteString(st.w, s); err != nil {
		return err
	}
	return st.flush.Flush()
}
