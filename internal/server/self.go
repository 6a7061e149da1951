package server

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/store"
)

// selfPath is all that the token of a task opens.
const selfPath = "/v1/self"

// caller is the attempt whose task asks.
type caller struct {
	id      core.WorkloadID
	attempt int
}

type callerKey struct{}

// taskOf checks the token of a task, which opens its own workload and nothing
// else, whichever way it comes. With neither an answer nor a problem it is
// another sort of token.
func (s *Server) taskOf(r *http.Request) (*caller, *api.Problem) {
	given, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	id, attempt, ok := engine.TokenOf(given)
	if !ok {
		return nil, nil
	}
	if s.mac == nil || id == "" || subtle.ConstantTimeCompare([]byte(given), []byte(engine.TaskToken(id, attempt, s.mac))) != 1 {
		return nil, newProblem(http.StatusUnauthorized, "unauthenticated", "the token is none of a task of this server", "send the content of the file that MUSTER_TASK_TOKEN_FILE names")
	}
	if r.URL.Path != selfPath && !strings.HasPrefix(r.URL.Path, selfPath+"/") {
		return nil, newProblem(http.StatusForbidden, "forbidden", "the token of a task opens "+selfPath+" only: its own workload", "use the token of a user for anything else")
	}
	return &caller{id, attempt}, nil
}

func (s *Server) selfRoutes() {
	tags := []string{"self"}
	huma.Register(s.api, huma.Operation{
		OperationID: "self", Method: http.MethodGet, Path: selfPath, Summary: "The workload of the task that asks", Tags: tags,
	}, func(ctx context.Context, _ *struct{}) (*workloadOutput, error) {
		c, w, err := s.itself(ctx)
		switch {
		case err != nil:
		case w.Phase == lifecycle.Deleted:
			err = store.ErrNotFound
		case c.attempt != w.Attempt || w.Phase.End():
			err = newProblem(http.StatusForbidden, "forbidden", fmt.Sprintf("attempt %d of %s is over, and with it what its token opens", c.attempt, w.Name), "its tasks should end")
		}
		if err != nil {
			return nil, problem(s.log, err)
		}
		return s.answer(ctx, w, http.StatusOK)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "report", Method: http.MethodPost, Path: selfPath + "/report", Summary: "Say how far the workload of the task that asks has come", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *struct{ Body api.Report }) (*struct{}, error) {
		r := in.Body
		return s.tell(ctx, engine.Told{Progress: &core.Progress{Step: r.Step, Total: r.Total, Metrics: r.Metrics, Message: r.Message, Task: r.Task}})
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "report-checkpoint", Method: http.MethodPost, Path: selfPath + "/checkpoint", Summary: "Say from where the workload of the task that asks can go on", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *struct{ Body api.NewCheckpoint }) (*struct{}, error) {
		return s.tell(ctx, engine.Told{Checkpoint: &core.Checkpoint{Path: in.Body.Path, Step: in.Body.Step}})
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "change-own-metadata", Method: http.MethodPatch, Path: selfPath + "/metadata", Summary: "Merge into the metadata of the workload of the task that asks; null takes a key away", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *struct {
		Body map[string]json.RawMessage `contentType:"application/merge-patch+json"`
	}) (*struct{}, error) {
		return s.tell(ctx, engine.Told{Metadata: in.Body})
	})
	huma.Register(s.api, matched(huma.Operation{
		OperationID: "change-metadata", Method: http.MethodPatch, Path: "/v1/projects/{project}/workloads/{name}/metadata", Tags: []string{"workloads"},
		Summary: "Merge into the metadata of a workload; null takes a key away",
	}), func(ctx context.Context, in *struct {
		Named
		Body map[string]json.RawMessage `contentType:"application/merge-patch+json"`
	}) (*workloadOutput, error) {
		return s.act(ctx, &in.Named, func(r engine.Ref) engine.Command {
			return engine.Tell(engine.Told{Ref: r, Attempt: -1, Metadata: in.Body})
		})
	})
	huma.Register(s.api, matched(huma.Operation{
		OperationID: "change-workload", Method: http.MethodPatch, Path: "/v1/projects/{project}/workloads/{name}", Tags: []string{"workloads"},
		Summary: "Change priority and limits of a workload that has not ended: a JSON merge patch of its document, with " + strings.Join(amendable, ", "),
	}), func(ctx context.Context, in *struct {
		Named
		Body map[string]any `contentType:"application/merge-patch+json"`
	}) (*workloadOutput, error) {
		return s.act(ctx, &in.Named, func(r engine.Ref) engine.Command {
			return engine.Amend(engine.Amendment{Ref: r, Change: func(d *spec.Document) (*spec.Document, error) { return amended(d, in.Body) }})
		})
	})
}

// itself is the workload of the task that asks.
func (s *Server) itself(ctx context.Context) (*caller, *core.Workload, error) {
	c, ok := ctx.Value(callerKey{}).(*caller)
	if !ok {
		return nil, nil, newProblem(http.StatusForbidden, "forbidden", selfPath+" is for tasks, which have a token of their own", "name the workload: /v1/projects/PROJECT/workloads/NAME")
	}
	w, err := s.store.Workload(ctx, c.id)
	return c, w, err
}

func (s *Server) tell(ctx context.Context, t engine.Told) (*struct{}, error) {
	c, _, err := s.itself(ctx)
	if err != nil {
		return nil, problem(s.log, err)
	}
	t.Ref, t.Attempt = engine.Ref{ID: c.id}, c.attempt
	if _, err := s.control.Do(ctx, engine.Tell(t)); err != nil {
		return nil, problem(s.log, err)
	}
	return nil, nil
}

// amendable are the fields of a document that may change while it lives.
var amendable = spec.LiveFields()

// amended is a document after a merge patch of what may change.
func amended(d *spec.Document, patch map[string]any) (*spec.Document, error) {
	may := map[string]bool{}
	for _, name := range amendable {
		may[name] = true
	}
	if len(patch) == 0 {
		return nil, badRequest("body", "says nothing to change", "name one of "+strings.Join(amendable, ", "))
	}
	for name := range patch {
		if !may[name] {
			return nil, badRequest(name, "does not change while a workload lives", "what does: "+strings.Join(amendable, ", ")+"; for the rest submit a new one")
		}
	}
	m, err := record(d)
	if err != nil {
		return nil, err
	}
	delete(m, "namePrefix") // its name has been made
	text, err := json.Marshal(merged(m, patch))
	if err != nil {
		return nil, err
	}
	return spec.Load(text)
}
