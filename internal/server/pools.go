package server

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine"
)

type poolOutput struct {
	Status int
	Body   api.Pool
}

type poolsOutput struct{ Body api.PoolList }

func (s *Server) poolRoutes() {
	tags := []string{"pools"}
	huma.Register(s.api, huma.Operation{
		OperationID: "list-pools", Method: http.MethodGet, Path: "/v1/pools", Summary: "Every pool, with what is held of it", Tags: tags,
	}, func(ctx context.Context, _ *struct{}) (*poolsOutput, error) {
		all, err := s.pools(ctx)
		return &poolsOutput{Body: api.PoolList{Items: all}}, s.refusal(err)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "pool", Method: http.MethodGet, Path: "/v1/pools/{name}", Summary: "One pool", Tags: tags,
	}, func(ctx context.Context, in *RecordName) (*poolOutput, error) {
		return s.onePool(ctx, in.Name, http.StatusOK)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "create-pool", Method: http.MethodPost, Path: "/v1/pools", Summary: "Make a pool", Tags: tags, DefaultStatus: http.StatusCreated,
	}, func(ctx context.Context, in *struct {
		DryRunning
		Body api.NewPool
	}) (*poolOutput, error) {
		return s.editPool(ctx, in.DryRun, http.StatusCreated, engine.Edit{What: engine.RecordPool, Name: in.Body.Name, Must: engine.MustBeNew, Pool: func(p *core.Pool) error {
			return decidePool(in.Body.PoolSpec, p)
		}})
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "replace-pool", Method: http.MethodPut, Path: "/v1/pools/{name}", Summary: "Decide everything about a pool anew, making it where it is not there", Tags: tags,
	}, func(ctx context.Context, in *struct {
		RecordName
		DryRunning
		Body api.PoolSpec
	}) (*poolOutput, error) {
		return s.editPool(ctx, in.DryRun, http.StatusOK, engine.Edit{What: engine.RecordPool, Name: in.Name, Pool: func(p *core.Pool) error {
			return decidePool(in.Body, p)
		}})
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "change-pool", Method: http.MethodPatch, Path: "/v1/pools/{name}", Summary: "Change some fields of a pool: a JSON merge patch, in which null takes a field away", Tags: tags,
	}, func(ctx context.Context, in *struct {
		RecordName
		DryRunning
		Body map[string]any `contentType:"application/merge-patch+json"`
	}) (*poolOutput, error) {
		return s.editPool(ctx, in.DryRun, http.StatusOK, engine.Edit{What: engine.RecordPool, Name: in.Name, Must: engine.MustExist, Pool: func(p *core.Pool) error {
			return changed(poolSpec(*p), in.Body, func(n api.PoolSpec) error { return decidePool(n, p) })
		}})
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "delete-pool", Method: http.MethodDelete, Path: "/v1/pools/{name}", Summary: "Delete a pool that nothing needs any more", Tags: tags, DefaultStatus: http.StatusNoContent,
	}, func(ctx context.Context, in *RecordName) (*struct{}, error) {
		_, err := s.control.Do(ctx, engine.Organise([]engine.Edit{{What: engine.RecordPool, Name: in.Name, Drop: true}}, false))
		return nil, s.refusal(err)
	})
}

func (s *Server) pools(ctx context.Context) ([]api.Pool, error) {
	v, err := s.control.Do(ctx, engine.Cluster())
	if err != nil {
		return nil, err
	}
	return poolsOf(v.(*engine.ClusterState)), nil
}

func poolsOf(st *engine.ClusterState) []api.Pool {
	out := make([]api.Pool, 0, len(st.Pools))
	for _, p := range st.Pools {
		out = append(out, pool(p))
	}
	return out
}

func (s *Server) onePool(ctx context.Context, name string, status int) (*poolOutput, error) {
	all, err := s.pools(ctx)
	if err != nil {
		return nil, problem(s.log, err)
	}
	p, err := named("pool", name, all, func(p api.Pool) string { return p.Name })
	return &poolOutput{Status: status, Body: p}, err
}

func (s *Server) editPool(ctx context.Context, dry bool, status int, e engine.Edit) (*poolOutput, error) {
	v, err := s.control.Do(ctx, engine.Organise([]engine.Edit{e}, dry))
	if err != nil {
		return nil, problem(s.log, err)
	}
	done := v.([]engine.Edited)[0]
	out := &poolOutput{Status: status, Body: pool(engine.PoolState{Pool: *done.After.(*core.Pool)})}
	if !dry {
		if out, err = s.onePool(ctx, e.Name, status); err != nil {
			return nil, err
		}
	}
	out.Body.Warnings = done.Warnings
	return out, nil
}

func pool(p engine.PoolState) api.Pool {
	amount := func(r core.Resource, scale float64) api.Amount {
		return api.Amount{Total: int64(p.Total[r] * scale), Used: int64(p.Used[r] * scale)}
	}
	return api.Pool{
		Name: p.Name, CreatedAt: at(p.CreatedAt), PoolSpec: poolSpec(p.Pool), Nodes: p.Nodes,
		GPU: amount(core.GPU, 1000), CPU: amount(core.CPU, 1000), Memory: amount(core.Memory, 1),
		IdleGPU: int64(p.Idle * 1000), ShutGPU: int64(p.Shut * 1000),
	}
}

func poolSpec(p core.Pool) api.PoolSpec {
	out := api.PoolSpec{Topology: p.Topology, Note: p.Note}
	if p.Selector.Key != "" {
		out.Selector = p.Selector.String()
	}
	if p.Placement != (core.Placement{}) {
		out.Placement = &api.PoolPlacement{GPU: string(p.Placement.GPU), CPU: string(p.Placement.CPU)}
	}
	if p.MinRuntime > 0 {
		out.MinRuntime = spec.Duration(p.MinRuntime).String()
	}
	return out
}

// decidePool puts what was decided into a record, in place of all that was.
func decidePool(in api.PoolSpec, p *core.Pool) error {
	n := core.Pool{Name: p.Name, CreatedAt: p.CreatedAt, Topology: in.Topology, Note: in.Note}
	if in.Selector != "" {
		key, value, ok := strings.Cut(in.Selector, "=")
		if !ok {
			return badRequest("selector", strconv.Quote(in.Selector)+" is not KEY=VALUE", "like gpu=h100; muster node list shows the labels of nodes")
		}
		n.Selector = core.Label{Key: key, Value: value}
	}
	if in.Placement != nil {
		n.Placement = core.Placement{GPU: core.Strategy(in.Placement.GPU), CPU: core.Strategy(in.Placement.CPU)}
	}
	d, err := lengthOf("minRuntime", in.MinRuntime)
	if err != nil {
		return err
	}
	if d != nil {
		n.MinRuntime = *d
	}
	*p = n
	return nil
}
