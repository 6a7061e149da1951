package server

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
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine"
)

type actionInput struct {
	Project string `path:"project"`
	Target  string `path:"target" doc:"NAME:verb"`
	DryRunning
	RawBody []byte
}

// verbs are the actions on a workload. The router cannot split a path segment,
// so one route takes them all and each is described by itself.
var verbs = []struct {
	name, summary string
	body          reflect.Type // nil: none
	do            func(*Server, context.Context, *Named, []byte) (*workloadOutput, error)
}{
	{"stop", "End a workload; its definition and logs stay", typeOf[api.StopOptions](), (*Server).stop},
	{"restart", "Run an ended workload again, as a new attempt", nil, (*Server).restart},
	{"approve", "Approve an admission check of a workload", typeOf[api.DecisionOptions](), (*Server).approve},
	{"reject", "Reject an admission check of a workload, which ends it", typeOf[api.DecisionOptions](), (*Server).reject},
	{"preempt", "Take the resources of a workload back; it is queued again", typeOf[api.PreemptOptions](), (*Server).preempt},
	{"move", "Start a workload again elsewhere; it keeps its reservation", typeOf[api.PreemptOptions](), (*Server).move},
	{"hold", "Keep a workload that waits from being queued", typeOf[api.HoldOptions](), (*Server).hold},
	{"release", "Let a workload go that is held", typeOf[api.HoldOptions](), (*Server).release},
	{"scale", "Change how many replicas an inference workload wants", typeOf[api.ScaleOptions](), (*Server).scale},
	{"update", "Replace the document of an inference workload, a few replicas at a time; the body is the document", nil, (*Server).update},
	{"revise", "Run an ended workload again with another document, as a new attempt; the body is the document", nil, (*Server).revise},
}

// canRunDry is the action that can be asked for without being carried out.
const canRunDry = "revise"

// actionRoutes serves POST …/NAME:verb.
func (s *Server) actionRoutes() {
	body := &huma.RequestBody{}
	huma.Register(s.api, huma.Operation{
		OperationID: "act-on-workload", Method: http.MethodPost, Path: "/v1/projects/{project}/workloads/{target}", Hidden: true, MaxBodyBytes: bodyMax + 1, RequestBody: body,
	}, func(ctx context.Context, in *actionInput) (*workloadOutput, error) {
		i := strings.LastIndexByte(in.Target, ':')
		if i <= 0 {
			return nil, newProblem(http.StatusNotFound, "not_found", "no action is named in "+strconv.Quote(in.Target), "POST …/NAME:stop, for example")
		}
		verb := in.Target[i+1:]
		var names []string
		name := &Named{Project: in.Project, Name: in.Target[:i]}
		if in.DryRun {
			if verb != canRunDry {
				return nil, badRequest("dry_run", "is an option of "+canRunDry+" alone, not of "+verb, "leave it out")
			}
			return s.revised(ctx, name, in.RawBody, true)
		}
		for _, v := range verbs {
			if v.name == verb {
				return v.do(s, ctx, name, in.RawBody)
			}
			names = append(names, v.name)
		}
		return nil, newProblem(http.StatusNotFound, "not_found", "there is no action "+strconv.Quote(verb), "there are "+strings.Join(names, ", "))
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
		return o, newProblem(http.StatusUnprocessableEntity, "invalid", "the body is not what is expected: "+unexpected(err), "see /docs for what is expected")
	}
	return o, nil
}

func (s *Server) restart(ctx context.Context, name *Named, _ []byte) (*workloadOutput, error) {
	return s.act(ctx, name, func(r engine.Ref) engine.Command { return engine.Restart(r, s.actor(ctx)) })
}

func (s *Server) approve(ctx context.Context, name *Named, body []byte) (*workloadOutput, error) {
	return s.decide(ctx, name, body, true)
}

func (s *Server) reject(ctx context.Context, name *Named, body []byte) (*workloadOutput, error) {
	return s.decide(ctx, name, body, false)
}

func (s *Server) decide(ctx context.Context, name *Named, body []byte, approve bool) (*workloadOutput, error) {
	o, err := options[api.DecisionOptions](body)
	if err != nil {
		return nil, err
	}
	return s.act(ctx, name, func(r engine.Ref) engine.Command {
		return engine.Decide(engine.Decision{Ref: r, Check: o.Check, Approve: approve, User: s.user(ctx), Actor: s.actor(ctx), Message: o.Message})
	})
}

func (s *Server) preempt(ctx context.Context, name *Named, body []byte) (*workloadOutput, error) {
	return s.evict(ctx, name, body, false)
}

func (s *Server) move(ctx context.Context, name *Named, body []byte) (*workloadOutput, error) {
	return s.evict(ctx, name, body, true)
}

func (s *Server) evict(ctx context.Context, name *Named, body []byte, move bool) (*workloadOutput, error) {
	o, err := options[api.PreemptOptions](body)
	if err != nil {
		return nil, err
	}
	return s.act(ctx, name, func(r engine.Ref) engine.Command {
		return engine.Preempt(engine.PreemptRequest{Ref: r, Actor: s.actor(ctx), Message: o.Message, Move: move})
	})
}

func (s *Server) hold(ctx context.Context, name *Named, body []byte) (*workloadOutput, error) {
	return s.held(ctx, name, body, engine.Hold)
}

func (s *Server) release(ctx context.Context, name *Named, body []byte) (*workloadOutput, error) {
	return s.held(ctx, name, body, engine.Release)
}

func (s *Server) held(ctx context.Context, name *Named, body []byte, do func(engine.HoldRequest) engine.Command) (*workloadOutput, error) {
	o, err := options[api.HoldOptions](body)
	if err != nil {
		return nil, err
	}
	return s.act(ctx, name, func(r engine.Ref) engine.Command {
		return do(engine.HoldRequest{Ref: r, Actor: s.actor(ctx), Message: o.Message})
	})
}

func (s *Server) scale(ctx context.Context, name *Named, body []byte) (*workloadOutput, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, badRequest("replicas", "is missing", "send {\"replicas\": 2}")
	}
	o, err := options[api.ScaleOptions](body)
	if err != nil {
		return nil, err
	}
	return s.act(ctx, name, func(r engine.Ref) engine.Command {
		return engine.Scale(engine.ScaleRequest{Ref: r, Replicas: o.Replicas, Actor: s.actor(ctx), Message: o.Message})
	})
}

func (s *Server) update(ctx context.Context, name *Named, body []byte) (*workloadOutput, error) {
	doc, err := spec.LoadWith(body, spec.Assets{}, s.taker(ctx, name.Project))
	if err != nil {
		return nil, problem(s.log, err)
	}
	return s.act(ctx, name, func(r engine.Ref) engine.Command {
		return engine.Update(engine.UpdateRequest{Ref: r, Doc: doc, Actor: s.actor(ctx)})
	})
}

func (s *Server) revise(ctx context.Context, name *Named, body []byte) (*workloadOutput, error) {
	return s.revised(ctx, name, body, false)
}

func (s *Server) revised(ctx context.Context, name *Named, body []byte, dry bool) (*workloadOutput, error) {
	doc, err := spec.LoadWith(body, spec.Assets{}, s.taker(ctx, name.Project))
	if err != nil {
		return nil, problem(s.log, err)
	}
	return s.act(ctx, name, func(r engine.Ref) engine.Command {
		return engine.Revise(engine.Revision{Ref: r, Doc: doc, Actor: s.actor(ctx), DryRun: dry})
	})
}

func (s *Server) stop(ctx context.Context, name *Named, body []byte) (*workloadOutput, error) {
	o, err := options[api.StopOptions](body)
	if err != nil {
		return nil, err
	}
	var grace *time.Duration
	if o.GracePeriod != "" {
		d, err := spec.ParseDuration(o.GracePeriod)
		if err != nil || d < 0 {
			return nil, badRequest("gracePeriod", strconv.Quote(o.GracePeriod)+" is not a length of time", "like 5s or 2m")
		}
		std := d.Std()
		grace = &std
	}
	return s.act(ctx, name, func(r engine.Ref) engine.Command {
		if o.Tasks != nil {
			return engine.StopTasks(engine.StopTasksRequest{Ref: r, Tasks: o.Tasks, Actor: s.actor(ctx), Message: o.Message, Grace: grace})
		}
		return engine.Stop(engine.StopRequest{Ref: r, Actor: s.actor(ctx), Message: o.Message, Grace: grace})
	})
}

// describe adds an action to the API's description.
func (s *Server) describe(id, path, summary string, body reflect.Type) {
	schemas := s.api.OpenAPI().Components.Schemas
	op := &huma.Operation{
		OperationID: id, Method: http.MethodPost, Path: path, Summary: summary, Tags: []string{"workloads"},
		Parameters: []*huma.Param{
			{Name: "project", In: "path", Required: true, Schema: &huma.Schema{Type: "string"}},
			{Name: "name", In: "path", Required: true, Schema: &huma.Schema{Type: "string"}},
		},
		Responses: map[string]*huma.Response{"200": {Description: "The workload", Content: map[string]*huma.MediaType{
			"application/json": {Schema: schemas.Schema(typeOf[api.Workload](), true, "Workload")},
		}}, "default": s.refusals()},
	}
	conditional(op)
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
