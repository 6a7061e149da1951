package wire

import (
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core/org"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/report"
)

// Node is the API's form of a node, with what is held of it.
func Node(n report.NodeState) api.Node {
	out := api.Node{
		Name: string(n.ID), Backend: n.Backend, Pool: n.Pool, Labels: n.Labels, Ready: n.Ready, Message: n.Message, Tasks: n.Tasks,
		Cordoned: n.Cordon, Draining: n.Drain, CutOff: n.CutOff, Note: n.Note,
		CPU: api.Amount{Total: n.CPU, Used: n.UsedCPU}, Memory: api.Amount{Total: n.Memory, Used: n.UsedMemory}, Devices: []api.Device{},
	}
	for _, t := range n.Taints {
		out.Taints = append(out.Taints, api.Taint{Key: t.Key, Value: t.Value, Effect: string(t.Effect)})
	}
	for name, total := range n.Extra {
		if spec.ExtendedName(name) == nil {
			if out.Extended == nil {
				out.Extended = map[string]api.Amount{}
			}
			out.Extended[name] = api.Amount{Total: int64(total), Used: int64(n.Others.Extra[name] + n.Counted[name])}
		}
	}
	for profile, total := range n.MIG {
		if out.MIG == nil {
			out.MIG = map[string]api.Amount{}
		}
		out.MIG[profile] = api.Amount{Total: int64(total), Used: int64(min(total, n.Others.MIG[profile]+n.Counted[profile]))}
	}
	for _, d := range n.Devices {
		used := n.Milli[d.ID]
		out.GPU.Total += 1000
		out.GPU.Used += int64(used)
		out.Devices = append(out.Devices, api.Device{ID: d.ID, Index: d.Index, Product: d.Product, Memory: d.Memory, Fake: d.Fake, Healthy: d.Healthy, Used: used})
	}
	out.Links = links(n)
	return out
}

// links are what connects the GPUs of a node, where its backend knows.
func links(n report.NodeState) []api.DeviceLink {
	if !n.Links.Known(len(n.Devices)) {
		return nil
	}
	var out []api.DeviceLink
	for a := range n.Devices {
		for b := a + 1; b < len(n.Devices); b++ {
			kind, count := n.Links.Between(a, b, len(n.Devices)).Kind()
			out = append(out, api.DeviceLink{A: n.Devices[a].Index, B: n.Devices[b].Index, Kind: kind, Links: count})
		}
	}
	return out
}

// Cluster is the API's form of all nodes, pools and projects.
func Cluster(st *report.ClusterState, now time.Time) api.Cluster {
	out := api.Cluster{Nodes: []api.Node{}, Pools: PoolsOf(st), Projects: []api.Project{}, Running: st.Holding, Waiting: st.Waiting, At: api.Time(now)}
	for _, n := range st.Nodes {
		out.Nodes = append(out.Nodes, Node(n))
	}
	tree := org.TreeOf(st.Projects)
	for _, p := range st.Projects {
		out.Projects = append(out.Projects, Project(p, tree))
	}
	return out
}
