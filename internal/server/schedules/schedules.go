// Package schedules serves schedules, which submit workloads again and again by the
// clock.
package schedules

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/recurring"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/reader"
	"github.com/musterhq/muster/internal/server/request"
	"github.com/musterhq/muster/internal/server/wire"
)

// routes serve schedules.
type routes struct {
	*reader.Reader
	api huma.API
}

// Register adds the routes of schedules to an API.
func Register(r *reader.Reader, a huma.API) {
	s := &routes{r, a}
	s.scheduleRoutes()
}

type workloadOutput struct{ Body api.Workload }

type scheduleOutput struct {
	Status int
	Body   api.Schedule
}

// ScheduleName is a path that names a schedule; exported for the framework.
type ScheduleName struct {
	Project string `path:"project"`
	Name    string `path:"name"`
}

func (n ScheduleName) id() core.TemplateID { return recurring.ID(core.ProjectID(n.Project), n.Name) }

// scheduleRoutes serves schedules. Who may do what to one may do so to workloads of
// its kind and owner.
func (s *routes) scheduleRoutes() {
	const all, one = "/v1/projects/{project}/schedules", "/v1/projects/{project}/schedules/{name}"
	tags := []string{"schedules"}
	huma.Register(s.api, huma.Operation{OperationID: "list-schedules", Method: http.MethodGet, Path: all, Summary: "Every schedule of a project, with its runs and next times", Tags: tags}, s.listSchedules)
	huma.Register(s.api, huma.Operation{OperationID: "schedule", Method: http.MethodGet, Path: one, Summary: "One schedule", Tags: tags}, func(ctx context.Context, in *ScheduleName) (*scheduleOutput, error) {
		return s.oneSchedule(s.schedule(ctx, rbac.Read, in.id()))(http.StatusOK)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "create-schedule", Method: http.MethodPost, Path: all, Summary: "Make a schedule, which submits a workload again and again by the clock", Tags: tags, DefaultStatus: http.StatusCreated, MaxBodyBytes: request.BodyMax + 1,
	}, func(ctx context.Context, in *struct {
		Project string `path:"project"`
		request.DryRunning
		Body api.NewSchedule
	}) (*scheduleOutput, error) {
		return s.oneSchedule(s.putSchedule(ctx, ScheduleName{in.Project, in.Body.Name}, in.Body.ScheduleSpec, organisation.MustBeNew, in.DryRun))(http.StatusCreated)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "replace-schedule", Method: http.MethodPut, Path: one, Summary: "Decide everything about a schedule anew, making it where it is not there; who says what it runs becomes its user", Tags: tags, MaxBodyBytes: request.BodyMax + 1,
	}, func(ctx context.Context, in *struct {
		ScheduleName
		request.DryRunning
		Body api.ScheduleSpec
	}) (*scheduleOutput, error) {
		return s.oneSchedule(s.putSchedule(ctx, in.ScheduleName, in.Body, organisation.MayExist, in.DryRun))(http.StatusOK)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "change-schedule", Method: http.MethodPatch, Path: one, Summary: "Change some fields of a schedule: a JSON merge patch, in which null takes a field away", Tags: tags, MaxBodyBytes: request.BodyMax + 1,
	}, func(ctx context.Context, in *struct {
		ScheduleName
		request.DryRunning
		Body map[string]any `contentType:"application/merge-patch+json"`
	}) (*scheduleOutput, error) {
		return s.oneSchedule(s.patchSchedule(ctx, in.ScheduleName, in.Body, in.DryRun))(http.StatusOK)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "delete-schedule", Method: http.MethodDelete, Path: one, Summary: "Forget a schedule; its runs stay unless they are to go with it", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *struct {
		ScheduleName
		Runs bool `query:"runs" doc:"Its runs are ended and deleted too"`
	}) (*struct{}, error) {
		if _, err := s.schedule(ctx, rbac.Delete, in.id()); err != nil {
			return nil, problem.Of(s.Log, err)
		}
		var may func(*core.Workload) bool
		if in.Runs {
			may = func(w *core.Workload) bool {
				return access.Allowed(ctx, rbac.Delete, rbac.NounOf(w.Kind), w.Project, w.User)
			}
		}
		return nil, problem.OrNil(s.Log, s.Control.Apply(ctx, recurring.Delete(in.id(), access.Actor(ctx), may)))
	})
	for _, verb := range []struct {
		name, summary string
		suspended     bool
	}{{"suspend", "Have a schedule start no more runs by itself", true}, {"resume", "Have a schedule start runs again; the last that was missed meanwhile starts at once, where it is not too late for that", false}} {
		huma.Register(s.api, huma.Operation{OperationID: verb.name + "-schedule", Method: http.MethodPost, Path: one + "/" + verb.name, Summary: verb.summary, Tags: tags}, func(ctx context.Context, in *ScheduleName) (*scheduleOutput, error) {
			if _, err := s.schedule(ctx, rbac.Update, in.id()); err != nil {
				return nil, problem.Of(s.Log, err)
			}
			return s.oneSchedule(control.Do(ctx, s.Control, recurring.Suspend(in.id(), verb.suspended)))(http.StatusOK)
		})
	}
	huma.Register(s.api, huma.Operation{
		OperationID: "run-schedule", Method: http.MethodPost, Path: one + "/run", Summary: "Start a run of a schedule now, whatever others there are", Tags: tags, DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *ScheduleName) (*workloadOutput, error) {
		if _, err := s.schedule(ctx, rbac.Update, in.id()); err != nil {
			return nil, problem.Of(s.Log, err)
		}
		w, err := control.Do(ctx, s.Control, recurring.RunNow(in.id(), access.Actor(ctx)))
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		ps, err := s.Gather(ctx, []*core.Workload{w}, wire.ViewFull, reader.TasksMost)
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		return &workloadOutput{wire.Workload(ps[0], wire.ViewFull, s.Clock())}, nil
	})
}

func (s *routes) listSchedules(ctx context.Context, in *struct {
	Project string `path:"project" doc:"'-': all"`
}) (*struct{ Body api.ScheduleList }, error) {
	of := core.ProjectID(in.Project)
	if in.Project == request.AllProjects {
		of = ""
	}
	all, err := control.Do(ctx, s.Control, recurring.List(of))
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	all = slices.DeleteFunc(all, func(x recurring.State) bool { return !access.SeesOne(ctx, x.Project, x.User, x.Kind) })
	out := &struct{ Body api.ScheduleList }{api.ScheduleList{Items: make([]api.Schedule, len(all))}}
	for i := range all {
		if out.Body.Items[i], err = wire.Schedule(all[i]); err != nil {
			return nil, problem.Of(s.Log, err)
		}
	}
	return out, nil
}

// schedule is one to which who asks may do something. To whom it is hidden it is as if
// it were not there.
func (s *routes) schedule(ctx context.Context, verb string, id core.TemplateID) (recurring.State, error) {
	x, err := control.Do(ctx, s.Control, recurring.Get(id))
	if err != nil {
		return x, err
	}
	if !access.SeesOne(ctx, x.Project, x.User, x.Kind) {
		return x, draft.NotFound("schedule "+id.Name+" of project "+string(id.Project), "muster schedule list")
	}
	return x, access.May(ctx, verb, rbac.NounOf(x.Kind), x.Project, x.User)
}

// oneSchedule answers with a schedule, or with why there is none.
func (s *routes) oneSchedule(x recurring.State, err error) func(status int) (*scheduleOutput, error) {
	return func(status int) (*scheduleOutput, error) {
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		shown, err := wire.Schedule(x)
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		return &scheduleOutput{Status: status, Body: shown}, nil
	}
}

// putSchedule makes a schedule, or has one be as it is said. Who says what it runs has
// to be one who may submit that.
func (s *routes) putSchedule(ctx context.Context, name ScheduleName, in api.ScheduleSpec, must organisation.Existence, dry bool) (none recurring.State, err error) {
	e, err := wire.DecideSchedule(in)
	if err != nil {
		return none, err
	}
	old, err := control.Do(ctx, s.Control, recurring.Get(name.id()))
	switch there := err == nil; {
	case there && must != organisation.MustBeNew: // also one that is hidden from who asks: it is not theirs to take
		if _, err := s.schedule(ctx, rbac.Update, name.id()); err != nil {
			return none, err
		}
	case !there && (must == organisation.MustExist || !draft.IsNotFound(err)):
		return none, err
	}
	e.Project, e.Name, e.User, e.Owner, e.Must, e.DryRun = core.ProjectID(name.Project), name.Name, access.User(ctx), access.Owns(ctx), must, true
	if e.As, err = access.OSUser(ctx); err != nil {
		return none, err
	}
	e.ByMachine = access.ByMachine(ctx)
	x, err := control.Do(ctx, s.Control, recurring.Put(e))
	if err != nil {
		return none, err
	}
	if old.Schedule == nil || x.Template.Last().Number != old.Template.Last().Number { // they say what it runs
		if err := maySubmit(ctx, &x, e.Document); err != nil {
			return none, err
		}
	}
	if dry {
		return x, nil
	}
	e.DryRun = false
	return control.Do(ctx, s.Control, recurring.Put(e))
}

// maySubmit refuses who may not submit the runs of a schedule themselves, by the way by
// which they come.
func maySubmit(ctx context.Context, x *recurring.State, document []byte) error {
	var doc spec.Document
	if err := json.Unmarshal(document, &doc); err != nil {
		return err
	}
	kinds := map[core.TemplateKind]bool{core.TemplateWork: doc.Template != "", core.TemplateEnvironment: doc.Environment != "", core.TemplateCompute: doc.Compute != "", core.TemplateDataSource: len(doc.Data) > 0}
	for _, kind := range []core.TemplateKind{core.TemplateWork, core.TemplateEnvironment, core.TemplateCompute, core.TemplateDataSource} {
		if !kinds[kind] {
			continue
		}
		if err := access.May(ctx, rbac.Read, rbac.AssetNoun(kind), x.Project, x.User); err != nil {
			return err
		}
	}
	return access.MaySubmit(ctx, x.Whole)
}

func (s *routes) patchSchedule(ctx context.Context, name ScheduleName, patch map[string]any, dry bool) (out recurring.State, err error) {
	was, err := s.schedule(ctx, rbac.Update, name.id())
	if err != nil {
		return was, err
	}
	old, err := wire.ScheduleSpec(&was.Template)
	if err != nil {
		return was, err
	}
	err = request.Patch(old, patch, func(n api.ScheduleSpec) error {
		out, err = s.putSchedule(ctx, name, n, organisation.MustExist, dry)
		return err
	})
	return out, err
}
