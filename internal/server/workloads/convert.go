package workloads

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/convert"
	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/request"
)

type convertedOutput struct{ Body api.Converted }

// convertRoutes turn files for other systems into workload documents. Nothing
// is submitted.
func (s *routes) convertRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "convert", Method: http.MethodPost, Path: "/v1/convert", Tags: []string{"workloads"}, MaxBodyBytes: request.BulkMax,
		Summary: "Make workload documents of a file for another system, and say what became of each of its fields",
	}, func(_ context.Context, in *struct{ Body api.ConvertRequest }) (*convertedOutput, error) {
		r, err := converted(in.Body)
		if err != nil {
			return nil, problem.OrNil(s.Log, err)
		}
		out := &convertedOutput{Body: api.Converted{Format: string(r.Format), Lossy: len(r.Lossy()) > 0, Notes: make([]api.ConvertNote, len(r.Notes))}}
		for _, d := range r.Documents {
			data, err := json.Marshal(d)
			if err != nil {
				return nil, problem.OrNil(s.Log, err)
			}
			out.Body.Documents = append(out.Body.Documents, data)
		}
		for i, n := range r.Notes {
			out.Body.Notes[i] = api.ConvertNote{Line: n.Line, Last: n.Last, Field: n.Field, Value: n.Value, Fate: string(n.Fate), To: n.To, Reason: n.Reason, Lossy: n.Lossy}
		}
		for _, d := range r.Documents { // what is asked for here is run once
			if when := r.Schedules[d]; when != nil {
				out.Body.Lossy = true
				out.Body.Notes = append(out.Body.Notes, api.ConvertNote{Field: "spec.schedule", Value: when.Cron, Fate: string(source.Ignored), Reason: "the document is of one run; muster schedule create -f keeps when it is run", Lossy: true})
			}
		}
		return out, nil
	})
}

func converted(in api.ConvertRequest) (*source.Result, error) {
	if in.Format != "" {
		return convert.ImportAs(source.Format(in.Format), []byte(in.Content))
	}
	return convert.Import([]byte(in.Content))
}
