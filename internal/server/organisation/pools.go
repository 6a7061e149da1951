package organisation

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/report"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/request"
	"github.com/musterhq/muster/internal/server/wire"
)

type poolOutput struct {
	Status int
	Body   api.Pool
}

type poolsOutput struct{ Body api.PoolList }

func (s *routes) poolRoutes() {
	tags := []string{"pools"}
	huma.Register(s.api, huma.Operation{
		OperationID: "list-pools", Method: http.MethodGet, Path: "/v1/pools", Summary: "Every pool, with what is held of it", Tags: tags,
	}, func(ctx context.Context, _ *struct{}) (*poolsOutput, error) {
		all, err := s.pools(ctx)
		return &poolsOutput{Body: api.PoolList{Items: all}}, problem.OrNil(s.Log, err)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "pool", Method: http.MethodGet, Path: "/v1/pools/{name}", Summary: "One pool", Tags: tags,
	}, func(ctx context.Context, in *request.RecordName) (*poolOutput, error) {
		return s.onePool(ctx, in.Name, http.StatusOK)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "create-pool", Method: http.MethodPost, Path: "/v1/pools", Summary: "Make a pool", Tags: tags, DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *struct {
		request.DryRunning
		Body api.NewPool
	}) (*poolOutput, error) {
		return s.editPool(ctx, in.DryRun, http.StatusCreated, organisation.Edit{What: organisation.RecordPool, Name: in.Body.Name, Must: organisation.MustBeNew, Pool: func(p *core.Pool) error {
			return wire.DecidePool(in.Body.PoolSpec, p)
		}})
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "replace-pool", Method: http.MethodPut, Path: "/v1/pools/{name}", Summary: "Decide everything about a pool anew, making it where it is not there", Tags: tags,
	}, func(ctx context.Context, in *struct {
		request.RecordName
		request.DryRunning
		Body api.PoolSpec
	}) (*poolOutput, error) {
		return s.editPool(ctx, in.DryRun, http.StatusOK, organisation.Edit{What: organisation.RecordPool, Name: in.Name, Pool: func(p *core.Pool) error {
			return wire.DecidePool(in.Body, p)
		}})
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "change-pool", Method: http.MethodPatch, Path: "/v1/pools/{name}", Summary: "Change some fields of a pool: a JSON merge patch, in which null takes a field away", Tags: tags,
	}, func(ctx context.Context, in *struct {
		request.RecordName
		request.DryRunning
		Body map[string]any `contentType:"application/merge-patch+json"`
	}) (*poolOutput, error) {
		return s.editPool(ctx, in.DryRun, http.StatusOK, organisation.Edit{What: organisation.RecordPool, Name: in.Name, Must: organisation.MustExist, Pool: func(p *core.Pool) error {
			return request.Patch(wire.PoolSpec(*p), in.Body, func(n api.PoolSpec) error { return wire.DecidePool(n, p) })
		}})
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "delete-pool", Method: http.MethodDelete, Path: "/v1/pools/{name}", Summary: "Delete a pool that nothing needs any more", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, s.drop(organisation.RecordPool))
}

func (s *routes) pools(ctx context.Context) ([]api.Pool, error) {
	st, err := control.Do(ctx, s.Control, report.Cluster())
	if err != nil {
		return nil, err
	}
	return wire.PoolsOf(st), nil
}

func (s *routes) onePool(ctx context.Context, name string, status int) (*poolOutput, error) {
	all, err := s.pools(ctx)
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	p, err := request.Find("pool", name, all, func(p api.Pool) string { return p.Name })
	return &poolOutput{Status: status, Body: p}, err
}

func (s *routes) editPool(ctx context.Context, dry bool, status int, e organisation.Edit) (*poolOutput, error) {
	edited, err := control.Do(ctx, s.Control, organisation.Organise([]organisation.Edit{e}, dry))
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	done := edited[0]
	out := &poolOutput{Status: status, Body: wire.Pool(report.PoolState{Pool: *done.After.Pool})}
	if !dry {
		if out, err = s.onePool(ctx, e.Name, status); err != nil {
			return nil, err
		}
	}
	out.Body.Warnings = done.Warnings
	return out, nil
}
