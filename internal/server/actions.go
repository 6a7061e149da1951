package server

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core/spec"
)

type actionInput struct {
	Project string `path:"project"`
	Target  string `path:"target" doc:"NAME:stop or NAME:restart"`
	Body    *api.StopOptions
}

// actionRoutes serves POST …/NAME:verb. The router cannot split a path segment,
// so one route takes all verbs and each is described by itself.
func (s *Server) actionRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "act-on-workload", Method: http.MethodPost, Path: "/v1/projects/{project}/workloads/{target}", Hidden: true,
	}, func(ctx context.Context, in *actionInput) (*workloadOutput, error) {
		i := strings.LastIndexByte(in.Target, ':')
		if i <= 0 {
			return nil, newProblem(http.StatusNotFound, "not_found", "no action is named in "+strconv.Quote(in.Target), "POST …/NAME:stop or …/NAME:restart")
		}
		name := &Named{Project: in.Project, Name: in.Target[:i]}
		switch verb := in.Target[i+1:]; verb {
		case "stop":
			return s.stop(ctx, name, in.Body)
		case "restart":
			return s.act(ctx, name, func(r control.Ref) control.Command { return control.Restart(r, s.actor(ctx)) })
		default:
			return nil, newProblem(http.StatusNotFound, "not_found", "there is no action "+strconv.Quote(verb), "stop and restart are")
		}
	})
	s.describe("stop-workload", "/v1/projects/{project}/workloads/{name}:stop", "End a workload; its definition and logs stay")
	s.describe("restart-workload", "/v1/projects/{project}/workloads/{name}:restart", "Run an ended workload again, as a new attempt")
}

func (s *Server) stop(ctx context.Context, name *Named, body *api.StopOptions) (*workloadOutput, error) {
	var o api.StopOptions
	if body != nil {
		o = *body
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
	return s.act(ctx, name, func(r control.Ref) control.Command {
		return control.Stop(control.StopRequest{Ref: r, Actor: s.actor(ctx), Message: o.Message, Grace: grace})
	})
}

// describe adds an action to the API's description.
func (s *Server) describe(id, path, summary string) {
	body := s.api.OpenAPI().Components.Schemas.Schema(typeOf[api.Workload](), true, "Workload")
	s.api.OpenAPI().AddOperation(&huma.Operation{
		OperationID: id, Method: http.MethodPost, Path: path, Summary: summary, Tags: []string{"workloads"},
		Parameters: []*huma.Param{
			{Name: "project", In: "path", Required: true, Schema: &huma.Schema{Type: "string"}},
			{Name: "name", In: "path", Required: true, Schema: &huma.Schema{Type: "string"}},
		},
		Responses: map[string]*huma.Response{"200": {Description: "The workload", Content: map[string]*huma.MediaType{"application/json": {Schema: body}}}},
	})
}
