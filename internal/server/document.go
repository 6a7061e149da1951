package server

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core/spec"
)

type draftOutput struct{ Body api.Draft }

// documentRoutes are for whoever writes a document: an editor or a form.
func (s *Server) documentRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "schema", Method: http.MethodGet, Path: "/v1/schema", Summary: "Every field of a workload document: what it means, what it may be", Tags: []string{"workloads"},
	}, func(context.Context, *struct{}) (*struct{ Body api.Field }, error) {
		return &struct{ Body api.Field }{documentField(spec.Schema())}, nil
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "draft", Method: http.MethodPost, Path: "/v1/drafts", MaxBodyBytes: bodyMax + 1, Tags: []string{"workloads"},
		Summary: "What a document says, what is wrong with it, and what would become of it; nothing is submitted, and a wrong document is no error",
	}, func(ctx context.Context, in *struct {
		RawBody []byte `contentType:"application/yaml" doc:"The workload document, YAML or JSON, finished or not"`
	}) (*draftOutput, error) {
		out := &draftOutput{}
		said, err := spec.Said(in.RawBody)
		if err != nil {
			out.Body.Problem = problem(s.log, err)
			return out, nil
		}
		out.Body.Document = said
		sub, err := s.submission(ctx, allProjects, "", in.RawBody, spec.Assets{})
		if err != nil {
			out.Body.Problem = problem(s.log, err)
			return out, nil
		}
		if out.Body.Spec, err = json.Marshal(sub.Doc); err != nil {
			return nil, problem(s.log, err)
		}
		w, err := s.dryRun(ctx, sub)
		if err != nil {
			out.Body.Problem = problem(s.log, err)
			return out, nil
		}
		out.Body.Spec, out.Body.Plan = w.Body.Spec, w.Body.Plan
		out.Body.GPUs, out.Body.Tasks = float64(sub.Doc.TotalMilli())/1000, sub.Doc.Size()
		return out, nil
	})
}

func documentField(t spec.Topic) api.Field {
	out := api.Field{
		Path: t.Path, Name: t.Name, Type: t.Type, Doc: t.Doc, Default: t.Default, Enum: t.Enum, Min: t.Min, Max: t.Max,
		Example: t.Example, Only: t.Only, Required: t.Required, Short: t.Short, Part: t.Part,
	}
	for _, c := range t.Children {
		out.Fields = append(out.Fields, documentField(c))
	}
	return out
}
