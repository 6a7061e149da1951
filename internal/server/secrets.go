package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/request"
	"github.com/musterhq/muster/internal/server/wire"
)

// Sealer makes secrets of what users send.
type Sealer interface {
	Seal(user, name, typ string, fields map[string]string, values map[string][]byte) (core.Secret, error)
}

type secretOutput struct {
	Status int
	Body   api.Secret
}

func (s *Server) secretRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "list-secrets", Method: http.MethodGet, Path: "/v1/secrets", Summary: "Your secrets, without their values", Tags: []string{"secrets"},
	}, func(ctx context.Context, _ *struct{}) (*struct{ Body api.SecretList }, error) {
		all, err := s.Store.Secrets(ctx)
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		out := &struct{ Body api.SecretList }{api.SecretList{Items: []api.Secret{}}}
		for _, x := range all {
			if x.User == access.User(ctx) {
				out.Body.Items = append(out.Body.Items, wire.Secret(x))
			}
		}
		return out, nil
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "create-secret", Method: http.MethodPost, Path: "/v1/secrets", Summary: "Store a secret; it cannot be read again nor changed", Tags: []string{"secrets"},
		DefaultStatus: http.StatusCreated, MaxBodyBytes: 8 << 20,
	}, func(ctx context.Context, in *struct{ Body api.NewSecret }) (*secretOutput, error) {
		return s.makeSecret(ctx, access.User(ctx), "", &in.Body)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "delete-secret", Method: http.MethodDelete, Path: "/v1/secrets/{name}", Summary: "Forget a secret; tasks that have it keep it", Tags: []string{"secrets"},
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *struct {
		Name string `path:"name"`
	}) (*struct{}, error) {
		if err := s.Control.Apply(ctx, organisation.DeleteSecret(core.SecretID{User: access.User(ctx), Name: in.Name})); err != nil {
			return nil, problem.Of(s.Log, err)
		}
		return nil, nil
	})
}

// makeSecret stores what was sent as a secret of a owner: a user, or a scope, for
// which it was made by somebody.
func (s *Server) makeSecret(ctx context.Context, owner, by string, in *api.NewSecret) (*secretOutput, error) {
	if s.sealer == nil {
		return nil, problem.New(http.StatusUnprocessableEntity, "unsupported", "this server was started without a data directory, so it cannot keep secrets", "start it with muster server --data-dir DIRECTORY")
	}
	x, err := s.sealer.Seal(owner, in.Name, in.Type, in.Fields, in.Values)
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	x.Everywhere, x.By = in.Everywhere, by
	made, err := control.Do(ctx, s.Control, organisation.CreateSecret(x))
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	return &secretOutput{Status: http.StatusCreated, Body: wire.Secret(made)}, nil
}

// sharedSecretRoutes are about secrets of projects, of departments and of the system, which
// all who submit there use.
func (s *Server) sharedSecretRoutes() {
	const path = "/v1/projects/{project}/secrets"
	huma.Register(s.api, huma.Operation{
		OperationID: "list-project-secrets", Method: http.MethodGet, Path: path, Summary: "Secrets that workloads of a project may name beside their user's own: its own, those of the departments above it, and those of the system; without their values", Tags: []string{"secrets"},
	}, func(ctx context.Context, in *struct {
		Project string `path:"project" doc:"'-': all"`
	}) (*struct{ Body api.SecretList }, error) {
		of := core.ProjectID(in.Project)
		every := in.Project == request.AllProjects
		if every {
			of = ""
		}
		all, err := control.Do(ctx, s.Control, organisation.Secrets(of))
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		out := &struct{ Body api.SecretList }{api.SecretList{Items: []api.Secret{}}}
		for _, x := range all {
			at := of
			if every {
				at, _ = x.Scope()
			}
			// What the system has is for everybody who submits, as its assets are.
			if every && at == core.SystemScope || access.Allowed(ctx, rbac.Read, rbac.Credentials, at, x.By) {
				out.Body.Items = append(out.Body.Items, wire.Secret(x))
			}
		}
		return out, nil
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "create-project-secret", Method: http.MethodPost, Path: path, Summary: "Store a secret of a project or department, or of the system with -, for all who submit there; it cannot be read again nor changed", Tags: []string{"secrets"},
		DefaultStatus: http.StatusCreated, MaxBodyBytes: 8 << 20,
	}, func(ctx context.Context, in *struct {
		Project string `path:"project" doc:"Project or department; '-': the system"`
		Body    api.NewSecret
	}) (*secretOutput, error) {
		return s.makeSecret(ctx, core.SecretsOf(core.ProjectID(in.Project)), access.User(ctx), &in.Body)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "delete-project-secret", Method: http.MethodDelete, Path: path + "/{name}", Summary: "Forget a secret of a project, a department or the system; tasks that have it keep it", Tags: []string{"secrets"},
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *struct {
		Project string `path:"project" doc:"Project or department; '-': the system"`
		Name    string `path:"name"`
	}) (*struct{}, error) {
		scope := core.ProjectID(in.Project)
		id := core.SecretID{User: core.SecretsOf(scope), Name: in.Name}
		if !access.Allowed(ctx, rbac.Delete, rbac.Credentials, scope, "") { // one's own only
			x, err := control.Do(ctx, s.Control, organisation.Secret(id))
			if err == nil {
				err = access.May(ctx, rbac.Delete, rbac.Credentials, scope, x.By)
			}
			if err != nil {
				return nil, problem.Of(s.Log, err)
			}
		}
		if err := s.Control.Apply(ctx, organisation.DeleteSecret(id)); err != nil {
			return nil, problem.Of(s.Log, err)
		}
		return nil, nil
	})
}
