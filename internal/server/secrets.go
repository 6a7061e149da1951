package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine"
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
		all, err := s.store.Secrets(ctx)
		if err != nil {
			return nil, problem(s.log, err)
		}
		out := &struct{ Body api.SecretList }{api.SecretList{Items: []api.Secret{}}}
		for _, x := range all {
			if x.User == s.user(ctx) {
				out.Body.Items = append(out.Body.Items, secret(x))
			}
		}
		return out, nil
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "create-secret", Method: http.MethodPost, Path: "/v1/secrets", Summary: "Store a secret; it cannot be read again nor changed", Tags: []string{"secrets"},
		DefaultStatus: http.StatusCreated, MaxBodyBytes: 8 << 20,
	}, func(ctx context.Context, in *struct{ Body api.NewSecret }) (*secretOutput, error) {
		if s.sealer == nil {
			return nil, newProblem(http.StatusUnprocessableEntity, "unsupported", "this server keeps no secrets", "start it with a data directory")
		}
		x, err := s.sealer.Seal(s.user(ctx), in.Body.Name, in.Body.Type, in.Body.Fields, in.Body.Values)
		if err != nil {
			return nil, problem(s.log, err)
		}
		x.Everywhere = in.Body.Everywhere
		v, err := s.control.Do(ctx, engine.CreateSecret(x))
		if err != nil {
			return nil, problem(s.log, err)
		}
		return &secretOutput{Status: http.StatusCreated, Body: secret(v.(core.Secret))}, nil
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "delete-secret", Method: http.MethodDelete, Path: "/v1/secrets/{name}", Summary: "Forget a secret; tasks that have it keep it", Tags: []string{"secrets"},
		DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *struct {
		Name string `path:"name"`
	}) (*struct{}, error) {
		if _, err := s.control.Do(ctx, engine.DeleteSecret(core.SecretID{User: s.user(ctx), Name: in.Name})); err != nil {
			return nil, problem(s.log, err)
		}
		return nil, nil
	})
}

func secret(x core.Secret) api.Secret {
	return api.Secret{Name: x.Name, Type: x.Type, Fields: x.Fields, Everywhere: x.Everywhere, CreatedAt: api.Time(x.CreatedAt)}
}
