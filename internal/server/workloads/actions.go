package workloads

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/request"
)

type actionInput struct {
	Project string `path:"project"`
	Target  string `path:"target" doc:"NAME:verb"`
	request.DryRunning
	RawBody []byte
}

// verbs are the actions on a workload. The router cannot split a path segment,
// so one route takes them all and each is described by itself.
var verbs = []struct {
	name, summary string
	body          reflect.Type // nil: none
	do            func(*routes, context.Context, *request.Named, []byte) (*workloadOutput, error)
}{
	{"stop", "End a workload; its definition and logs stay", reflect.TypeFor[api.StopOptions](), (*routes).stop},
	{"restart", "Run an ended workload again, as a new attempt; or tasks of an array that have ended", reflect.TypeFor[api.RestartOptions](), (*routes).restart},
	{"approve", "Approve an admission check of a workload", reflect.TypeFor[api.DecisionOptions](), (*routes).approve},
	{"reject", "Reject an admission check of a workload, which ends it", reflect.TypeFor[api.DecisionOptions](), (*routes).reject},
	{"preempt", "Take the resources of a workload back; it is queued again", reflect.TypeFor[api.PreemptOptions](), (*routes).preempt},
	{"move", "Start a workload again elsewhere; it keeps its reservation", reflect.TypeFor[api.PreemptOptions](), (*routes).move},
	{"hold", "Keep a workload that waits from being queued", reflect.TypeFor[api.HoldOptions](), (*routes).hold},
	{"release", "Let a workload go that is held", reflect.TypeFor[api.HoldOptions](), (*routes).release},
	{"scale", "Change how many replicas an inference workload wants", reflect.TypeFor[api.ScaleOptions](), (*routes).scale},
	{"update", "Replace the document of an inference workload, a few replicas at a time; the body is the document", nil, (*routes).update},
	{"revise", "Run an ended workload again with another document, as a new attempt; the body is the document", nil, (*routes).revise},
}

// canRunDry is the action that can be asked for without being carried out.
const canRunDry = "revise"

// actionRoutes serves POST …/NAME:verb.
func (s *routes) actionRoutes() {
	body := &huma.RequestBody{}
	huma.Register(s.api, huma.Operation{
		OperationID: "act-on-workload", Method: http.MethodPost, Path: "/v1/projects/{project}/workloads/{target}", Hidden: true, MaxBodyBytes: request.BodyMax + 1, RequestBody: body,
	}, func(ctx context.Context, in *actionInput) (*workloadOutput, error) {
		i := strings.LastIndexByte(in.Target, ':')
		if i <= 0 {
			return nil, problem.New(http.StatusNotFound, "not_found", "no action is named in "+strconv.Quote(in.Target), "POST …/NAME:stop, for example")
		}
		verb := in.Target[i+1:]
		var names []string
		name := &request.Named{Project: in.Project, Name: in.Target[:i]}
		if in.DryRun {
			if verb != canRunDry {
				return nil, problem.BadRequest("dry_run", "is an option of "+canRunDry+" alone, not of "+verb, "leave it out")
			}
			return s.revised(ctx, name, in.RawBody, true)
		}
		for _, v := range verbs {
			if v.name == verb {
				return v.do(s, ctx, name, in.RawBody)
			}
			names = append(names, v.name)
		}
		return nil, problem.New(http.StatusNotFound, "not_found", "there is no action "+strconv.Quote(verb), "there are "+strings.Join(names, ", "))
	})
	body.Required = false // most actions need none; the framework takes it for granted
	for _, v := range verbs {
		s.describe(v.name+"-workload", "/v1/projects/{project}/workloads/{name}:"+v.name, v.summary, v.body)
	}
}

// options reads the optional JSON body of an action.
func options[T any](body []byte) (T, error) {
	var o T
	if len(bytes.TrimSpace(body)) == 0 {
		return o, nil
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		return o, problem.New(http.StatusUnprocessableEntity, "invalid", "the body is not what is expected: "+request.Unexpected(err), "see /docs for what is expected")
	}
	return o, nil
}

func (s *routes) restart(ctx context.Context, name *request.Named, body []byte) (*workloadOutput, error) {
	o, err := options[api.RestartOptions](body)
	if err != nil {
		return nil, err
	}
	return s.act(ctx, name, func(r draft.Ref) draft.Command[*core.Workload] {
		if o.Tasks != nil {
			return submission.RestartTasks(submission.TasksRequest{Ref: r, Tasks: o.Tasks, Actor: access.Actor(ctx)})
		}
		return submission.Restart(r, access.Actor(ctx))
	})
}

func (s *routes) approve(ctx context.Context, name *request.Named, body []byte) (*workloadOutput, error) {
	return s.decide(ctx, name, body, true)
}

func (s *routes) reject(ctx context.Context, name *request.Named, body []byte) (*workloadOutput, error) {
	return s.decide(ctx, name, body, false)
}

func (s *routes) decide(ctx context.Context, name *request.Named, body []byte, approve bool) (*workloadOutput, error) {
	o, err := options[api.DecisionOptions](body)
	if err != nil {
		return nil, err
	}
	return s.act(ctx, name, func(r draft.Ref) draft.Command[*core.Workload] {
		return submission.Decide(submission.Decision{Ref: r, Check: o.Check, Approve: approve, User: access.User(ctx), Actor: access.Actor(ctx), Message: o.Message, Owner: access.Owns(ctx)})
	})
}

func (s *routes) preempt(ctx context.Context, name *request.Named, body []byte) (*workloadOutput, error) {
	return s.evict(ctx, name, body, false)
}

func (s *routes) move(ctx context.Context, name *request.Named, body []byte) (*workloadOutput, error) {
	return s.evict(ctx, name, body, true)
}

func (s *routes) evict(ctx context.Context, name *request.Named, body []byte, move bool) (*workloadOutput, error) {
	o, err := options[api.PreemptOptions](body)
	if err != nil {
		return nil, err
	}
	if move && o.Tasks != nil {
		return nil, problem.BadRequest("tasks", "is not for moves", "preempt them: tasks of an array that leave start again where there is room")
	}
	return s.act(ctx, name, func(r draft.Ref) draft.Command[*core.Workload] {
		if o.Tasks != nil {
			return submission.PreemptTasks(submission.TasksRequest{Ref: r, Tasks: o.Tasks, Actor: access.Actor(ctx), Message: o.Message})
		}
		return submission.Preempt(submission.PreemptRequest{Ref: r, Actor: access.Actor(ctx), Message: o.Message, Move: move})
	})
}

func (s *routes) hold(ctx context.Context, name *request.Named, body []byte) (*workloadOutput, error) {
	return s.held(ctx, name, body, submission.Hold, submission.HoldTasks)
}

func (s *routes) release(ctx context.Context, name *request.Named, body []byte) (*workloadOutput, error) {
	return s.held(ctx, name, body, submission.Release, submission.ReleaseTasks)
}

func (s *routes) held(ctx context.Context, name *request.Named, body []byte, do func(submission.HoldRequest) draft.Command[*core.Workload], some func(submission.TasksRequest) draft.Command[*core.Workload]) (*workloadOutput, error) {
	o, err := options[api.HoldOptions](body)
	if err != nil {
		return nil, err
	}
	if o.Requeue && o.Tasks != nil {
		return nil, problem.BadRequest("requeue", "is for whole workloads", "leave tasks out; or preempt these, and hold them once they wait")
	}
	return s.act(ctx, name, func(r draft.Ref) draft.Command[*core.Workload] {
		if o.Tasks != nil {
			return some(submission.TasksRequest{Ref: r, Tasks: o.Tasks, Actor: access.Actor(ctx), Message: o.Message})
		}
		return do(submission.HoldRequest{Ref: r, Actor: access.Actor(ctx), Message: o.Message, Requeue: o.Requeue})
	})
}

func (s *routes) scale(ctx context.Context, name *request.Named, body []byte) (*workloadOutput, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, problem.BadRequest("replicas", "is missing", "send {\"replicas\": 2}")
	}
	o, err := options[api.ScaleOptions](body)
	if err != nil {
		return nil, err
	}
	return s.act(ctx, name, func(r draft.Ref) draft.Command[*core.Workload] {
		return submission.Scale(submission.ScaleRequest{Ref: r, Replicas: o.Replicas, Actor: access.Actor(ctx), Message: o.Message})
	})
}

func (s *routes) update(ctx context.Context, name *request.Named, body []byte) (*workloadOutput, error) {
	doc, err := spec.LoadWith(body, spec.Assets{}, s.assetResolver(ctx, name.Project))
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	if err := s.maySay(ctx, name, doc); err != nil {
		return nil, err
	}
	return s.act(ctx, name, func(r draft.Ref) draft.Command[*core.Workload] {
		return submission.Update(submission.UpdateRequest{Ref: r, Doc: doc, Actor: access.Actor(ctx)})
	})
}

func (s *routes) revise(ctx context.Context, name *request.Named, body []byte) (*workloadOutput, error) {
	return s.revised(ctx, name, body, false)
}

func (s *routes) revised(ctx context.Context, name *request.Named, body []byte, dry bool) (*workloadOutput, error) {
	doc, err := spec.LoadWith(body, spec.Assets{}, s.assetResolver(ctx, name.Project))
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	if err := s.maySay(ctx, name, doc); err != nil {
		return nil, err
	}
	return s.act(ctx, name, func(r draft.Ref) draft.Command[*core.Workload] {
		return submission.Revise(submission.Revision{Ref: r, Doc: doc, Actor: access.Actor(ctx), DryRun: dry})
	})
}

func (s *routes) stop(ctx context.Context, name *request.Named, body []byte) (*workloadOutput, error) {
	o, err := options[api.StopOptions](body)
	if err != nil {
		return nil, err
	}
	var grace *time.Duration
	if o.GracePeriod != "" {
		d, err := spec.ParseDuration(o.GracePeriod)
		if err != nil || d < 0 {
			return nil, problem.BadValue("gracePeriod", o.GracePeriod, "is not a length of time", "write one like 5s or 2m")
		}
		std := d.Std()
		grace = &std
	}
	return s.act(ctx, name, func(r draft.Ref) draft.Command[*core.Workload] {
		if o.Tasks != nil {
			return submission.StopTasks(submission.StopTasksRequest{Ref: r, Tasks: o.Tasks, Actor: access.Actor(ctx), Message: o.Message, Grace: grace})
		}
		return submission.Stop(submission.StopRequest{Ref: r, Actor: access.Actor(ctx), Message: o.Message, Grace: grace})
	})
}

// describe adds an action to the API's description.
func (s *routes) describe(id, path, summary string, body reflect.Type) {
	schemas := s.api.OpenAPI().Components.Schemas
	op := &huma.Operation{
		OperationID: id, Method: http.MethodPost, Path: path, Summary: summary, Tags: []string{"workloads"},
		Parameters: []*huma.Param{
			{Name: "project", In: "path", Required: true, Schema: &huma.Schema{Type: "string"}},
			{Name: "name", In: "path", Required: true, Schema: &huma.Schema{Type: "string"}},
		},
		Responses: map[string]*huma.Response{"200": {Description: "The workload", Content: map[string]*huma.MediaType{
			"application/json": {Schema: schemas.Schema(reflect.TypeFor[api.Workload](), true, "Workload")},
		}}, "default": problem.Response(s.api)},
	}
	request.Conditional(op)
	if body != nil {
		op.RequestBody = &huma.RequestBody{Content: map[string]*huma.MediaType{"application/json": {Schema: schemas.Schema(body, true, body.Name())}}}
	}
	if id == canRunDry+"-workload" {
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: "dry_run", In: "query", Schema: &huma.Schema{Type: "boolean"},
			Description: "Only check that the document can be carried out, also while the workload has not ended",
		})
	}
	s.api.OpenAPI().AddOperation(op)
}

// maySay refuses who may not have a workload run another document: whose tasks run as
// who submitted them runs it as that user.
func (s *routes) maySay(ctx context.Context, name *request.Named, doc *spec.Document) error {
	if err := access.MaySubmit(ctx, doc); err != nil {
		return err
	}
	w, err := s.Find(ctx, name.Project, name.Name)
	if err != nil {
		return err
	}
	return access.ActsAs(ctx, w, "say what it runs")
}
