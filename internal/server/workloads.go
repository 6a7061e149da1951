package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/store"
)

// allProjects in a path stands for every project.
const allProjects = "-"

type workloadOutput struct {
	Status int
	ETag   string `header:"ETag"`
	Body   api.Workload
}

// Named is the part of a path that names a workload; exported for the
// framework, which fills it where it is embedded.
type Named struct {
	Project string `path:"project" doc:"Project; '-' with an id"`
	Name    string `path:"name" doc:"Name or id"`
}

func (s *Server) workloadRoutes() {
	s.create()
	huma.Register(s.api, huma.Operation{
		OperationID: "list-workloads", Method: http.MethodGet, Path: "/v1/projects/{project}/workloads",
		Summary: "List workloads, newest first", Tags: []string{"workloads"},
	}, s.list)
	huma.Register(s.api, huma.Operation{
		OperationID: "workload", Method: http.MethodGet, Path: "/v1/projects/{project}/workloads/{name}",
		Summary: "One workload, whole", Tags: []string{"workloads"},
	}, func(ctx context.Context, in *struct {
		Named
		Known []string `header:"If-None-Match" doc:"ETag of an answer that is at hand: it is not sent again (304)"`
		Tasks int      `query:"tasks" default:"1000" minimum:"-1" doc:"At most so many tasks of each attempt, and the one that failed first; tasksLeft says how many are missing, and earlier runs are then missing too; -1: all"`
	}) (*workloadOutput, error) {
		w, err := s.find(ctx, in.Project, in.Name)
		if err != nil {
			return nil, problem(s.log, err)
		}
		out, err := s.answerWith(ctx, w, http.StatusOK, in.Tasks)
		if err == nil && known(in.Known, w, &out.Body) {
			return &workloadOutput{Status: http.StatusNotModified, ETag: out.ETag}, nil
		}
		if err == nil && in.Tasks >= 0 && !many(w, in.Tasks) {
			cutTasks(&out.Body, in.Tasks)
		}
		return out, err
	})
	s.api.OpenAPI().Paths["/v1/projects/{project}/workloads/{name}"].Get.Responses["304"] = &huma.Response{Description: "It is as it was when it had one of these tags"}
	huma.Register(s.api, matched(huma.Operation{
		OperationID: "delete-workload", Method: http.MethodDelete, Path: "/v1/projects/{project}/workloads/{name}",
		Summary: "End a workload and remove it with its logs", Tags: []string{"workloads"},
	}), func(ctx context.Context, in *Named) (*workloadOutput, error) {
		return s.act(ctx, in, func(r engine.Ref) engine.Command { return engine.Delete(r, s.actor(ctx)) })
	})
}

// answer reads what belongs to w and wraps it.
func (s *Server) answer(ctx context.Context, w *core.Workload, status int) (*workloadOutput, error) {
	return s.answerWith(ctx, w, status, tasksMost)
}

// answerWith is answer with at most so many tasks of each attempt.
func (s *Server) answerWith(ctx context.Context, w *core.Workload, status, most int) (*workloadOutput, error) {
	ps, err := s.gather(ctx, []*core.Workload{w}, viewFull, most)
	if err != nil {
		return nil, problem(s.log, err)
	}
	return &workloadOutput{Status: status, ETag: tagOf(w), Body: s.workload(ps[0], viewFull)}, nil
}

// act runs a use case on the workload that the path names.
func (s *Server) act(ctx context.Context, in *Named, command func(engine.Ref) engine.Command) (*workloadOutput, error) {
	w, err := s.find(ctx, in.Project, in.Name)
	if err != nil {
		return nil, problem(s.log, err)
	}
	ref := engine.Ref{ID: w.ID}
	v, err := s.control.Do(ctx, unchanged(ctx, ref, command(ref)))
	if err != nil {
		return nil, problem(s.log, err)
	}
	return s.answer(ctx, v.(*core.Workload), http.StatusOK)
}

var idForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-hjkmnp-tv-z]{26}$`) })

// find resolves a name or an id.
func (s *Server) find(ctx context.Context, project, name string) (*core.Workload, error) {
	var w *core.Workload
	err := store.ErrNotFound
	if project != allProjects {
		w, err = s.store.ByName(ctx, core.ProjectID(project), name)
	}
	if errors.Is(err, store.ErrNotFound) && idForm().MatchString(name) {
		w, err = s.store.Workload(ctx, core.WorkloadID(name))
	}
	if errors.Is(err, store.ErrNotFound) || err == nil && project != allProjects && w.Project != core.ProjectID(project) {
		detail := "workload " + strconv.Quote(name) + " does not exist"
		if project != allProjects {
			detail = "workload " + strconv.Quote(name) + " does not exist in project " + strconv.Quote(project)
		}
		return nil, newProblem(http.StatusNotFound, "not_found", detail, "muster get lists what there is")
	}
	return w, err
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

func (s *Server) create() {
	huma.Register(s.api, huma.Operation{
		OperationID: "create-workload", Method: http.MethodPost, Path: "/v1/projects/{project}/workloads",
		Summary: "Submit a workload", Tags: []string{"workloads"}, DefaultStatus: http.StatusCreated, MaxBodyBytes: bodyMax + 1,
	}, func(ctx context.Context, in *createInput) (*workloadOutput, error) {
		beside := spec.Assets{Template: in.Template, Environment: in.Environment, Compute: in.Compute}
		sub, err := s.submission(ctx, in.Project, in.Key, in.RawBody, beside)
		if err != nil {
			return nil, problem(s.log, err)
		}
		if in.DryRun {
			return s.dryRun(ctx, sub)
		}
		v, err := s.control.Do(ctx, engine.Submit(sub))
		if err != nil {
			return nil, problem(s.log, err)
		}
		return s.submitted(ctx, v.(*engine.Submitted))
	})
	answers := s.api.OpenAPI().Paths["/v1/projects/{project}/workloads"].Post.Responses
	tried := *answers["201"]
	tried.Description = "With dry_run, what it would be; or what the same Idempotency-Key has made before"
	answers["200"] = &tried
	huma.Register(s.api, huma.Operation{
		OperationID: "bulk-create-workloads", Method: http.MethodPost, Path: "/v1/workloads:bulk",
		Summary: "Submit many workloads; each is taken or refused by itself, or all together", Tags: []string{"workloads"}, MaxBodyBytes: bulkMax,
	}, s.bulk)
}

// submitted answers a submission, reading nothing back: this is the hot path.
func (s *Server) submitted(ctx context.Context, r *engine.Submitted) (*workloadOutput, error) {
	if r.Repeated {
		return s.answer(ctx, r.Workload, http.StatusOK)
	}
	p := parts{w: r.Workload, tasks: r.Tasks(), transitions: r.Transitions()}
	return &workloadOutput{Status: http.StatusCreated, ETag: `"1"`, Body: s.workload(p, viewFull)}, nil
}

// dryRun answers with a workload that only would be, and what would become of it.
func (s *Server) dryRun(ctx context.Context, sub engine.Submission) (*workloadOutput, error) {
	y, err := s.control.WhatIf(ctx, sub)
	if err != nil {
		return nil, problem(s.log, err)
	}
	c := *y.Workload
	c.Phase, c.PhaseAt, c.Attempts = lifecycle.Submitted, c.CreatedAt, []core.Attempt{{}}
	out := s.workload(parts{w: &c}, viewFull)
	out.Plan = plan(y)
	return &workloadOutput{Status: http.StatusOK, Body: out}, nil
}

// submission checks a document, which is laid over assets that it need not name
// itself, and says who sends it.
func (s *Server) submission(ctx context.Context, project, key string, body []byte, beside spec.Assets) (engine.Submission, error) {
	if beside != (spec.Assets{}) && len(bytes.TrimSpace(body)) == 0 {
		body = []byte("{}")
	}
	doc, err := spec.LoadWith(body, beside, s.taker(ctx, project))
	if err != nil {
		return engine.Submission{}, err
	}
	if project != allProjects && doc.Project != project {
		if doc.Project != string(core.DefaultProject) {
			return engine.Submission{}, badRequest("project", "the document says "+strconv.Quote(doc.Project)+", the path "+strconv.Quote(project), "make them the same, or post to /v1/projects/-/workloads")
		}
		doc.Project = project
		if errs := spec.Validate(doc); errs != nil {
			return engine.Submission{}, errs
		}
	}
	sub := engine.Submission{Doc: doc, User: s.user(ctx), Actor: s.actor(ctx), Key: key}
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
	View    view      `query:"view" enum:"full,table,summary,bare" default:"full" doc:"table leaves out history and the tasks of former attempts; summary also the other tasks and the document; bare also why what waits waits"`
}

type listOutput struct{ Body api.WorkloadList }

func (s *Server) list(ctx context.Context, in *ListInput) (*listOutput, error) {
	page, next, err := s.page(ctx, in)
	if err != nil {
		return nil, err
	}
	ps, err := s.gather(ctx, page, in.View, tasksMost)
	if err != nil {
		return nil, problem(s.log, err)
	}
	out := &listOutput{Body: api.WorkloadList{Items: make([]api.Workload, len(ps)), Next: next}}
	for i := range ps {
		out.Body.Items[i] = s.workload(ps[i], in.View)
	}
	return out, nil
}

// page reads a page of workloads, and the cursor of the next one.
func (s *Server) page(ctx context.Context, in *ListInput) ([]*core.Workload, string, error) {
	q := store.Query{User: in.User, Live: in.Live, Prefix: in.Prefix, Since: in.Since, Before: in.Before, Deleted: in.Deleted, Limit: in.Limit}
	if in.Project != allProjects {
		q.Project = core.ProjectID(in.Project)
	}
	for _, k := range in.Kind {
		if !slices.Contains(lifecycle.Kinds(), lifecycle.Kind(k)) {
			return nil, "", badRequest("kind", strconv.Quote(k)+" is not known", "one of training, distributed, workspace, inference, external")
		}
		q.Kinds = append(q.Kinds, lifecycle.Kind(k))
	}
	for _, name := range in.Phase {
		i := slices.IndexFunc(lifecycle.Phases(), func(p lifecycle.PhaseInfo) bool { return strings.EqualFold(string(p.Phase), name) })
		if i < 0 {
			return nil, "", badRequest("phase", strconv.Quote(name)+" is not known", "GET /v1/lifecycle lists all phases")
		}
		q.Phases = append(q.Phases, lifecycle.Phases()[i].Phase)
	}
	for _, l := range in.Label {
		k, v, ok := strings.Cut(l, "=")
		if !ok {
			return nil, "", badRequest("label", strconv.Quote(l)+" has no '='", "write key=value")
		}
		if q.Labels == nil {
			q.Labels = map[string]string{}
		}
		q.Labels[k] = v
	}
	if in.Cursor != "" {
		c, err := strconv.ParseInt(in.Cursor, 10, 64)
		if err != nil || c <= 0 {
			return nil, "", badRequest("cursor", strconv.Quote(in.Cursor)+" is not a cursor", "use next of the page before")
		}
		q.Cursor = c
	}
	if in.Number > 0 { // what comes next after the number above, were it there
		q.Cursor, q.Limit = in.Number+1, 1
	}
	if in.Filter != "" {
		return s.filtered(ctx, q, in.Filter)
	}
	page, err := s.store.List(ctx, q)
	if err != nil {
		return nil, "", problem(s.log, err)
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
