package wire

import (
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/report"
	"github.com/musterhq/muster/internal/server/problem"
)

// PoolsOf are the pools of a cluster.
func PoolsOf(st *report.ClusterState) []api.Pool {
	out := make([]api.Pool, 0, len(st.Pools))
	for _, p := range st.Pools {
		out = append(out, Pool(p))
	}
	return out
}

// Pool is the API's form of a pool.
func Pool(p report.PoolState) api.Pool {
	amount := func(r core.Resource, scale float64) api.Amount {
		return api.Amount{Total: int64(p.Total[r] * scale), Used: int64(p.Used[r] * scale)}
	}
	return api.Pool{
		Name: p.Name, CreatedAt: At(p.CreatedAt), PoolSpec: PoolSpec(p.Pool), Nodes: p.Nodes,
		GPU: amount(core.GPU, 1000), CPU: amount(core.CPU, 1000), Memory: amount(core.Memory, 1),
		IdleGPU: int64(p.Idle * 1000), ShutGPU: int64(p.Shut * 1000),
	}
}

// PoolSpec is what was decided about a pool.
func PoolSpec(p core.Pool) api.PoolSpec {
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

// DecidePool puts what was decided into a record, in place of all that was.
func DecidePool(in api.PoolSpec, p *core.Pool) error {
	n := core.Pool{Name: p.Name, CreatedAt: p.CreatedAt, Topology: in.Topology, Note: in.Note}
	if in.Selector != "" {
		key, value, ok := strings.Cut(in.Selector, "=")
		if !ok {
			return problem.BadValue("selector", in.Selector, "is not KEY=VALUE", "write one like gpu=h100; muster node list shows the labels of nodes")
		}
		n.Selector = core.Label{Key: key, Value: value}
	}
	if in.Placement != nil {
		n.Placement = core.Placement{GPU: core.Strategy(in.Placement.GPU), CPU: core.Strategy(in.Placement.CPU)}
	}
	d, err := lengthOf("minRuntime", in.MinRuntime, "; 0s for none")
	if err != nil {
		return err
	}
	if d != nil {
		n.MinRuntime = *d
	}
	*p = n
	return nil
}

// License is the API's form of a license with its holders.
func License(l organisation.LicenseState) api.License {
	out := api.License{Name: l.Name, CreatedAt: At(l.CreatedAt), LicenseSpec: LicenseSpec(l.License), Used: l.Used, Waiting: l.Waiting, Holders: []api.Licensee{}}
	for _, h := range l.Holders {
		out.Holders = append(out.Holders, api.Licensee{ID: string(h.Workload.ID), Name: h.Workload.Name, Project: string(h.Workload.Project), User: h.Workload.User, Count: h.Count})
	}
	return out
}

// LicenseSpec is what was decided about a license.
func LicenseSpec(l core.License) api.LicenseSpec {
	return api.LicenseSpec{Total: l.Total, Note: l.Note}
}

// DecideLicense puts what was decided into a record, in place of all that was.
func DecideLicense(in api.LicenseSpec) func(*core.License) error {
	return func(l *core.License) error {
		l.Total, l.Note = in.Total, in.Note
		return nil
	}
}
