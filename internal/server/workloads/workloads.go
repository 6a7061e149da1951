// Package workloads serves what is done with workloads: submitting, listing,
// showing and changing them, and what documents are made of.
package workloads

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/reported"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/server/bulk"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/reader"
	"github.com/musterhq/muster/internal/server/request"
	"github.com/musterhq/muster/internal/server/wire"
	"github.com/musterhq/muster/internal/store"
)

// routes serve workloads.
type routes struct {
	*reader.Reader
	api     huma.API
	actions *bulk.Actions
	// reported are the curves of what tasks say of themselves.
	reported *reported.Store
}

// Register adds the routes of workloads, documents and assets to an API; bulk
// actions end with closing, and what tasks report is kept in curves.
func Register(r *reader.Reader, a huma.API, curves *reported.Store, closing <-chan struct{}) {
	s := &routes{r, a, bulk.New(r.Log, closing), curves}
	s.routes()
	s.whyRoutes()
	s.actionRoutes()
	s.bulkActionRoutes()
	s.selfRoutes()
	s.taskPageRoute()
	s.rowRoute()
	s.convertRoutes()
	s.documentRoutes()
	s.templateRoutes()
}

type workloadOutput struct {
	Status int
	ETag   string `header:"ETag"`
	Body   api.Workload
}

func (s *routes) routes() {
	s.create()
	huma.Register(s.api, huma.Operation{
		OperationID: "list-workloads", Method: http.MethodGet, Path: "/v1/projects/{project}/workloads",
		Summary: "List workloads, newest first", Tags: []string{"workloads"},
	}, s.list)
	huma.Register(s.api, huma.Operation{
		OperationID: "workload", Method: http.MethodGet, Path: "/v1/projects/{project}/workloads/{name}",
		Summary: "One workload, whole", Tags: []string{"workloads"},
	}, func(ctx context.Context, in *struct {
		request.Named
		Known []string `header:"If-None-Match" doc:"ETag of an answer that is at hand: it is not sent again (304)"`
		Tasks int      `query:"tasks" default:"1000" minimum:"-1" doc:"At most so many tasks of each attempt, and the one that failed first; tasksLeft says how many are missing, and earlier runs are then missing too; -1: all"`
	}) (*workloadOutput, error) {
		w, err := s.Find(ctx, in.Project, in.Name)
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		out, err := s.answerWith(ctx, w, http.StatusOK, in.Tasks)
		if err == nil && request.Known(in.Known, w, &out.Body) {
			return &workloadOutput{Status: http.StatusNotModified, ETag: out.ETag}, nil
		}
		if err == nil && in.Tasks >= 0 && !reader.Many(w, in.Tasks) {
			cutTasks(&out.Body, in.Tasks)
		}
		return out, err
	})
	s.api.OpenAPI().Paths["/v1/projects/{project}/workloads/{name}"].Get.Responses["304"] = &huma.Response{Description: "It is as it was when it had one of these tags"}
	huma.Register(s.api, request.Matched(huma.Operation{
		OperationID: "delete-workload", Method: http.MethodDelete, Path: "/v1/projects/{project}/workloads/{name}",
		Summary: "End a workload and remove it with its logs", Tags: []string{"workloads"},
	}), s.remove)
}

// answer reads what belongs to w and wraps it.
func (s *routes) answer(ctx context.Context, w *core.Workload, status int) (*workloadOutput, error) {
	return s.answerWith(ctx, w, status, reader.TasksMost)
}

// answerWith is answer with at most so many tasks of each attempt.
func (s *routes) answerWith(ctx context.Context, w *core.Workload, status, most int) (*workloadOutput, error) {
	ps, err := s.Gather(ctx, []*core.Workload{w}, wire.ViewFull, most)
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	return &workloadOutput{Status: status, ETag: request.TagOf(w), Body: wire.Workload(ps[0], wire.ViewFull, s.Clock())}, nil
}

// act runs a use case on the workload that the path names.
func (s *routes) act(ctx context.Context, in *request.Named, command func(draft.Ref) draft.Command[*core.Workload]) (*workloadOutput, error) {
	w, err := s.Find(ctx, in.Project, in.Name)
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	ref := draft.Ref{ID: w.ID}
	w, err = control.Do(ctx, s.Control, request.Unchanged(ctx, ref, command(ref)))
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	if ctx.Value(briefKey{}) != nil {
		return &workloadOutput{Body: api.Workload{Phase: string(w.Phase)}}, nil
	}
	return s.answer(ctx, w, http.StatusOK)
}

type createInput struct {
	Project string `path:"project" doc:"Project; '-': as the document says"`
	Key     string `header:"Idempotency-Key" maxLength:"200" doc:"Repeating a request with the same key makes no second workload"`
	DryRun  bool   `query:"dry_run" doc:"Check and answer as if it were submitted"`
	RawBody []byte `contentType:"application/yaml" doc:"The workload document, YAML or JSON"`

	Template    string `query:"template" maxLength:"100" doc:"NAME or NAME@VERSION of a template that the document is laid over"`
	Environment string `query:"environment" maxLength:"100" doc:"NAME or NAME@VERSION of an environment that the document is laid over"`
	Compute     string `query:"compute" maxLength:"100" doc:"NAME or NAME@VERSION of a compute resource that the document is laid over"`
}

func (s *routes) create() {
	huma.Register(s.api, huma.Operation{
		OperationID: "create-workload", Method: http.MethodPost, Path: "/v1/projects/{project}/workloads",
		Summary: "Submit a workload", Tags: []string{"workloads"}, DefaultStatus: http.StatusCreated, MaxBodyBytes: request.BodyMax + 1,
	}, func(ctx context.Context, in *createInput) (*workloadOutput, error) {
		beside := spec.Assets{Template: in.Template, Environment: in.Environment, Compute: in.Compute}
		sub, err := s.submission(ctx, in.Project, in.Key, in.RawBody, beside)
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		if in.DryRun {
			return s.dryRun(ctx, sub)
		}
		made, err := control.Do(ctx, s.Control, submission.Submit(sub))
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		return s.submitted(ctx, made)
	})
	answers := s.api.OpenAPI().Paths["/v1/projects/{project}/workloads"].Post.Responses
	tried := *answers["201"]
	tried.Description = "With dry_run, what it would be; or what the same Idempotency-Key has made before"
	answers["200"] = &tried
	huma.Register(s.api, huma.Operation{
		OperationID: "bulk-create-workloads", Method: http.MethodPost, Path: "/v1/workloads:bulk",
		Summary: "Submit many workloads; each is taken or refused by itself, or all together", Tags: []string{"workloads"}, MaxBodyBytes: request.BulkMax,
	}, s.bulk)
}

// submitted answers a submission, reading nothing back: this is the hot path.
func (s *routes) submitted(ctx context.Context, r *submission.Submitted) (*workloadOutput, error) {
	if r.Repeated {
		return s.answer(ctx, r.Workload, http.StatusOK)
	}
	p := wire.Parts{Workload: r.Workload, Tasks: r.Tasks(), Transitions: r.Transitions()}
	out := &workloadOutput{Status: http.StatusCreated, ETag: `"1"`, Body: wire.Workload(p, wire.ViewFull, s.Clock())}
	out.Body.Warnings = r.Warnings
	return out, nil
}

// dryRun answers with a workload that only would be, and what would become of it.
func (s *routes) dryRun(ctx context.Context, sub submission.Submission) (*workloadOutput, error) {
	y, err := s.Control.WhatIf(ctx, sub)
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	c := *y.Workload
	c.Phase, c.PhaseAt, c.Attempts = lifecycle.Submitted, c.CreatedAt, []core.Attempt{{}}
	out := wire.Workload(wire.Parts{Workload: &c}, wire.ViewFull, s.Clock())
	out.Plan, out.Warnings = wire.Plan(y), y.Warnings
	s.HideForecast(ctx, &out.Plan.Forecast)
	out.Plan.Displaces = s.Hide(ctx, out.Plan.Displaces)
	return &workloadOutput{Status: http.StatusOK, Body: out}, nil
}

// submission checks a document, which is laid over assets that it need not name
// itself, and says who sends it.
func (s *routes) submission(ctx context.Context, project, key string, body []byte, beside spec.Assets) (submission.Submission, error) {
	if beside != (spec.Assets{}) && len(bytes.TrimSpace(body)) == 0 {
		body = []byte("{}")
	}
	doc, err := spec.LoadWith(body, beside, s.assetResolver(ctx, project))
	if err != nil {
		return submission.Submission{}, err
	}
	if project != request.AllProjects && doc.Project != project {
		if doc.Project != string(core.DefaultProject) {
			return submission.Submission{}, problem.BadRequest("project", "the document says "+strconv.Quote(doc.Project)+", the path "+strconv.Quote(project), "make them the same, or post to /v1/projects/-/workloads")
		}
		doc.Project = project
		if errs := spec.Validate(doc); errs != nil {
			return submission.Submission{}, errs
		}
	}
	if err := access.MaySubmit(ctx, doc); err != nil {
		return submission.Submission{}, err
	}
	as, err := access.OSUser(ctx)
	if err != nil {
		return submission.Submission{}, err
	}
	sub := submission.Submission{Doc: doc, User: access.User(ctx), As: as, Actor: access.Actor(ctx), Key: key}
	if key != "" {
		if beside != (spec.Assets{}) { // which are a part of what is asked for
			body = fmt.Appendf(bytes.Clone(body), "\n%+v", beside)
		}
		sum := sha256.Sum256(body)
		sub.Hash = hex.EncodeToString(sum[:])
	}
	return sub, nil
}

// ListInput selects workloads; exported for the framework.
type ListInput struct {
	Project string    `path:"project" doc:"Project; '-': all"`
	User    string    `query:"user"`
	Kind    []string  `query:"kind" doc:"Any of these, separated by commas"`
	Phase   []string  `query:"phase" doc:"Any of these phases, separated by commas"`
	Live    bool      `query:"live" doc:"Only those that have not ended"`
	Prefix  string    `query:"prefix" doc:"Names that begin with this"`
	Since   time.Time `query:"since" doc:"Created at or after"`
	Before  time.Time `query:"before" doc:"Created before"`
	Label   []string  `query:"label,explode" doc:"key=value; repeat for several"`
	Filter  string    `query:"filter" maxLength:"1000" doc:"As in the pages: words, and field:value with status, project, user, kind, name, node, gpu, gpus, priority, age, ended, reason, label, label.KEY, id, try, is; like status:failed,lost user:@me gpus>=8 age<2d -name:test*"`
	Deleted bool      `query:"deleted" doc:"Also those that have been deleted"`
	Number  int64     `query:"number" minimum:"1" doc:"The one of that number"`
	Limit   int       `query:"limit" minimum:"1" maximum:"1000" default:"100"`
	Cursor  string    `query:"cursor" doc:"next of the page before"`
	View    wire.View `query:"view" enum:"full,table,summary,bare" default:"full" doc:"table leaves out history and the tasks of former attempts; summary also the other tasks and the document; bare also why what waits waits"`
}

type listOutput struct{ Body api.WorkloadList }

func (s *routes) list(ctx context.Context, in *ListInput) (*listOutput, error) {
	page, next, err := s.page(ctx, in)
	if err != nil {
		return nil, err
	}
	ps, err := s.Gather(ctx, page, in.View, reader.TasksMost)
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	out := &listOutput{Body: api.WorkloadList{Items: make([]api.Workload, len(ps)), Next: next}}
	for i := range ps {
		out.Body.Items[i] = wire.Workload(ps[i], in.View, s.Clock())
	}
	return out, nil
}

// page reads a page of workloads, and the cursor of the next one.
func (s *routes) page(ctx context.Context, in *ListInput) ([]*core.Workload, string, error) {
	q := store.Query{User: in.User, Live: in.Live, Prefix: in.Prefix, Since: in.Since, Before: in.Before, Deleted: in.Deleted, Limit: in.Limit}
	if in.Project != request.AllProjects {
		q.Project = core.ProjectID(in.Project)
	}
	for _, k := range in.Kind {
		if !slices.Contains(lifecycle.Kinds(), lifecycle.Kind(k)) {
			return nil, "", problem.OneOf("kind", k, "training", "distributed", "workspace", "inference", "external")
		}
		q.Kinds = append(q.Kinds, lifecycle.Kind(k))
	}
	for _, name := range in.Phase {
		i := slices.IndexFunc(lifecycle.Phases(), func(p lifecycle.PhaseInfo) bool { return strings.EqualFold(string(p.Phase), name) })
		if i < 0 {
			return nil, "", problem.BadValue("phase", name, "is not known", "GET /v1/lifecycle lists all phases")
		}
		q.Phases = append(q.Phases, lifecycle.Phases()[i].Phase)
	}
	for _, l := range in.Label {
		k, v, ok := strings.Cut(l, "=")
		if !ok {
			return nil, "", problem.BadValue("label", l, "has no '='", "write key=value")
		}
		if q.Labels == nil {
			q.Labels = map[string]string{}
		}
		q.Labels[k] = v
	}
	if in.Cursor != "" {
		c, err := strconv.ParseInt(in.Cursor, 10, 64)
		if err != nil || c <= 0 {
			return nil, "", problem.BadValue("cursor", in.Cursor, "is not a cursor", "use next of the page before")
		}
		q.Cursor = c
	}
	if in.Number > 0 { // what comes next after the number above, were it there
		q.Cursor, q.Limit = in.Number+1, 1
	}
	if in.Filter != "" {
		return s.filtered(ctx, q, in.Filter)
	}
	page, err := s.Seen(ctx, q)
	if err != nil {
		return nil, "", problem.Of(s.Log, err)
	}
	if in.Number > 0 {
		page.Items, page.Next = slices.DeleteFunc(page.Items, func(w *core.Workload) bool { return w.Seq != in.Number }), 0
	}
	next := ""
	if page.Next > 0 {
		next = strconv.FormatInt(page.Next, 10)
	}
	return page.Items, next, nil
}
