package workloads

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/request"
	"github.com/musterhq/muster/internal/server/wire"
)

type draftOutput struct{ Body api.Draft }

// documentRoutes are for whoever writes a document: an editor or a form.
func (s *routes) documentRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "schema", Method: http.MethodGet, Path: "/v1/schema", Summary: "Every field of a workload document: what it means, what it may be", Tags: []string{"workloads"},
	}, func(context.Context, *struct{}) (*struct{ Body api.Field }, error) {
		return &struct{ Body api.Field }{wire.DocumentField(spec.Schema())}, nil
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "draft", Method: http.MethodPost, Path: "/v1/drafts", MaxBodyBytes: request.BodyMax + 1, Tags: []string{"workloads"},
		Summary: "What a document says, what is wrong with it, and what would become of it; nothing is submitted, and a wrong document is no error",
	}, func(ctx context.Context, in *struct {
		RawBody []byte `contentType:"application/yaml" doc:"The workload document, YAML or JSON, finished or not"`
	}) (*draftOutput, error) {
		out := &draftOutput{}
		written, err := codec.Written(in.RawBody)
		if err != nil {
			out.Body.Problem = problem.Of(s.Log, err)
			return out, nil
		}
		out.Body.Document = written
		sub, err := s.submission(ctx, request.AllProjects, "", in.RawBody, spec.Assets{})
		if err != nil {
			out.Body.Problem = problem.Of(s.Log, err)
			return out, nil
		}
		if out.Body.Spec, err = json.Marshal(sub.Doc); err != nil {
			return nil, problem.Of(s.Log, err)
		}
		w, err := s.dryRun(ctx, sub)
		if err != nil {
			out.Body.Problem = problem.Of(s.Log, err)
			return out, nil
		}
		out.Body.Spec, out.Body.Plan, out.Body.Warnings = w.Body.Spec, w.Body.Plan, w.Body.Warnings
		whole := new(spec.Document) // with what policies say
		if err := json.Unmarshal(w.Body.Spec, whole); err != nil {
			return nil, problem.Of(s.Log, err)
		}
		out.Body.GPUs, out.Body.Tasks = float64(whole.TotalMilli())/1000, whole.Size()
		return out, nil
	})
}
