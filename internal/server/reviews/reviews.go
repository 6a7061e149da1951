// Package reviews serves what has to be approved before something runs: checks of scopes,
// what waits for whose approval, and who decides for whom.
package reviews

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/admission"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/review"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/reader"
	"github.com/musterhq/muster/internal/server/request"
	"github.com/musterhq/muster/internal/server/wire"
)

// routes serve checks and approvals.
type routes struct {
	*reader.Reader
	api huma.API
}

// Register adds the routes of checks and approvals to an API.
func Register(r *reader.Reader, a huma.API) {
	s := &routes{r, a}
	s.checkRoutes()
	s.trialRoutes()
	s.approvalRoutes()
}

type checkOutput struct {
	Status int
	Body   api.ScopeCheck
}

// CheckName is a path that names a check of a scope; exported for the framework.
type CheckName struct {
	Project string `path:"project" doc:"Project or department; '-': the system"`
	Name    string `path:"name"`
}

func (n CheckName) scope() core.ProjectID { return core.ProjectID(n.Project) }

const (
	checksPath = "/v1/projects/{project}/checks"
	checkPath  = checksPath + "/{name}"
)

var tags = []string{"checks"}

func (s *routes) checkRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "list-checks", Method: http.MethodGet, Path: checksPath, Summary: "Every check that a project stands below: its own and those above it, nearest first", Tags: tags,
	}, func(ctx context.Context, in *struct {
		Project string `path:"project" doc:"Or department; '-': all"`
	}) (*struct{ Body api.ScopeCheckList }, error) {
		return s.list(ctx, in.Project)
	})
	huma.Register(s.api, huma.Operation{OperationID: "check", Method: http.MethodGet, Path: checkPath, Summary: "A check of a project, department or the system", Tags: tags}, func(ctx context.Context, in *struct{ CheckName }) (*checkOutput, error) {
		return s.one(ctx, in.CheckName, http.StatusOK)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "create-check", Method: http.MethodPost, Path: checksPath, Summary: "Make a check, of a project or department, or of the system with -", Tags: tags, DefaultStatus: http.StatusCreated, MaxBodyBytes: request.BodyMax + 1,
	}, func(ctx context.Context, in *struct {
		Project string `path:"project" doc:"Project or department; '-': the system"`
		request.DryRunning
		Body api.NewScopeCheck
	}) (*checkOutput, error) {
		return s.set(ctx, CheckName{in.Project, in.Body.Name}, in.Body.ScopeCheckSpec, true, in.DryRun)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "replace-check", Method: http.MethodPut, Path: checkPath, Summary: "Decide everything about a check anew, making it where it is not there", Tags: tags, MaxBodyBytes: request.BodyMax + 1,
	}, func(ctx context.Context, in *struct {
		CheckName
		request.DryRunning
		Body api.ScopeCheckSpec
	}) (*checkOutput, error) {
		return s.set(ctx, in.CheckName, in.Body, false, in.DryRun)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "delete-check", Method: http.MethodDelete, Path: checkPath, Summary: "Forget a check; what waits for it alone goes on", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *struct{ CheckName }) (*struct{}, error) {
		return nil, problem.OrNil(s.Log, s.Control.Apply(ctx, review.DropCheck(in.scope(), in.Name, access.User(ctx))))
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "check-images", Method: http.MethodGet, Path: checkPath + "/images", Summary: "The images that somebody has approved for a check", Tags: tags,
	}, func(ctx context.Context, in *struct{ CheckName }) (*struct{ Body api.ReviewedImageList }, error) {
		all, err := control.Do(ctx, s.Control, review.Images(in.scope(), in.Name))
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		out := api.ReviewedImageList{Items: []api.ReviewedImage{}}
		for _, x := range all {
			out.Items = append(out.Items, api.ReviewedImage{Image: x.Image, User: x.User, At: api.Time(x.CreatedAt)})
		}
		return &struct{ Body api.ReviewedImageList }{out}, nil
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "forget-check-image", Method: http.MethodDelete, Path: checkPath + "/images", Summary: "Have an image looked at again before its next use", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *struct {
		CheckName
		Image string `query:"image" required:"true" doc:"As it is remembered, or as documents name it"`
	}) (*struct{}, error) {
		return nil, problem.OrNil(s.Log, s.Control.Apply(ctx, review.ForgetImage(in.scope(), in.Name, in.Image)))
	})
}

func (s *routes) list(ctx context.Context, project string) (*struct{ Body api.ScopeCheckList }, error) {
	scope := core.ProjectID(project)
	if project == request.AllProjects {
		scope = ""
	}
	all, err := control.Do(ctx, s.Control, review.Checks(scope, true))
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	out := api.ScopeCheckList{Items: []api.ScopeCheck{}}
	for i := range all {
		if scope == "" && all[i].Project != core.SystemScope && !access.Allowed(ctx, rbac.Read, rbac.Policies, all[i].Project, "") {
			continue
		}
		c, err := wire.ScopeCheck(&all[i])
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		out.Items = append(out.Items, c)
	}
	return &struct{ Body api.ScopeCheckList }{out}, nil
}

func (s *routes) one(ctx context.Context, name CheckName, status int) (*checkOutput, error) {
	c, err := control.Do(ctx, s.Control, review.Check(name.scope(), name.Name))
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	return answer(s, &c, status)
}

func answer(s *routes, c *draft.ScopeCheck, status int) (*checkOutput, error) {
	out, err := wire.ScopeCheck(c)
	return &checkOutput{Status: status, Body: out}, problem.OrNil(s.Log, err)
}

func (s *routes) set(ctx context.Context, name CheckName, in api.ScopeCheckSpec, fresh, dry bool) (*checkOutput, error) {
	text, err := wire.SaysOf(in)
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	t, err := control.Do(ctx, s.Control, review.SetCheck(review.CheckEdit{
		Scope: name.scope(), Name: name.Name, Description: in.Description, Says: text, User: access.User(ctx), New: fresh, DryRun: dry,
	}))
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	status := http.StatusOK
	if fresh {
		status = http.StatusCreated
	}
	c := draft.ReadCheck(t)
	return answer(s, &c, status)
}

// trialRoutes serves what a check would do.
func (s *routes) trialRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "test-check", Method: http.MethodPost, Path: checkPath + "/test", Summary: "Ask a check about a workload that is not submitted; nothing follows from it", Tags: tags, MaxBodyBytes: request.BodyMax + 1,
	}, func(ctx context.Context, in *struct {
		CheckName
		Body api.CheckTest
	}) (*struct{ Body api.CheckTrial }, error) {
		out, err := s.trial(ctx, in.CheckName, in.Body)
		if err != nil {
			return nil, err
		}
		return &struct{ Body api.CheckTrial }{*out}, nil
	})
}

// nothingMuch is the workload that checks are tried with.
const nothingMuch = `{"name": "check-test", "command": ["true"], "resources": {"cpu": 1}}`

func (s *routes) trial(ctx context.Context, name CheckName, in api.CheckTest) (*api.CheckTrial, error) {
	c, err := control.Do(ctx, s.Control, review.Check(name.scope(), name.Name))
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	text := []byte(in.Document)
	if len(text) == 0 {
		text = []byte(nothingMuch)
	}
	doc, err := spec.Load(text)
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	w := &core.Workload{ID: "test", Name: doc.Name, Project: core.ProjectID(doc.Project), User: access.User(ctx), Kind: doc.Kind, Spec: doc, CreatedAt: s.Clock()}
	if len(in.Document) == 0 && name.scope() != core.SystemScope {
		w.Project = name.scope()
	}
	seen, err := control.Do(ctx, s.Control, review.SeenKeys(name.scope(), name.Name, admission.ImagesOf(doc)))
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	reviewed := func(key string) bool { return seen[key] }
	out := &api.CheckTrial{Applies: c.Rule.For(w, reviewed)}
	q := c.Rule.State(c.Name, c.Project, w, s.Clock(), reviewed)
	if c.Rule.Type != admission.Webhook {
		out.Need, out.Who, out.Images = q.Need, admission.Whom(&q), q.Images
		return out, nil
	}
	q = draft.Asking(q, c.Rule)
	q.Hook.Trial = true
	began := time.Now()
	a, err := s.Control.Ask(ctx, w, q)
	out.Took = time.Since(began).Seconds()
	switch {
	case err != nil:
		out.Problem = err.Error()
	case a.Verdict == core.CheckApproved:
		out.Decision = "approve"
	case a.Verdict == core.CheckRejected:
		out.Decision = "reject"
	case a.Retry:
		out.Decision = "retry"
	default:
		out.Decision = "wait"
	}
	out.Message = a.Message
	return out, nil
}
