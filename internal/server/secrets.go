package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/server/problem"
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
		if s.sealer == nil {
			return nil, problem.New(http.StatusUnprocessableEntity, "unsupported", "this server was started without a data directory, so it cannot keep secrets", "start it with muster server --data-dir DIRECTORY")
		}
		x, err := s.sealer.Seal(access.User(ctx), in.Body.Name, in.Body.Type, in.Body.Fields, in.Body.Values)
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		x.Everywhere = in.Body.Everywhere
		made, err := control.Do(ctx, s.Control, organisation.CreateSecret(x))
		if err != nil {
			return nil, problem.Of(s.Log, err)
		}
		return &secretOutput{Status: http.StatusCreated, Body: wire.Secret(made)}, nil
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
