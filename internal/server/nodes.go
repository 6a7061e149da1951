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

type nodeOutput struct{ Body api.Node }

type nodesOutput struct{ Body api.NodeList }

type drainOutput struct{ Body api.Drain }

func (s *Server) nodeRoutes() {
	tags := []string{"nodes"}
	huma.Register(s.api, huma.Operation{
		OperationID: "list-nodes", Method: http.MethodGet, Path: "/v1/nodes", Summary: "Every node, with what is held of it", Tags: tags,
	}, func(ctx context.Context, _ *struct{}) (*nodesOutput, error) {
		all, err := s.nodes(ctx)
		return &nodesOutput{Body: api.NodeList{Items: all}}, s.refusal(err)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "node", Method: http.MethodGet, Path: "/v1/nodes/{name}", Summary: "One node", Tags: tags,
	}, func(ctx context.Context, in *RecordName) (*nodeOutput, error) { return s.oneNode(ctx, in.Name) })
	for _, v := range [][2]string{
		{"cordon", "Keep new work from a node"}, {"uncordon", "Let work in again"}, {"label", "Set and drop labels of a node"}, {"taint", "Set and drop taints of a node"},
	} {
		verb, summary := v[0], v[1]
		huma.Register(s.api, huma.Operation{
			OperationID: verb + "-node", Method: http.MethodPost, Path: "/v1/nodes/{name}/" + verb, Summary: summary, Tags: tags,
		}, func(ctx context.Context, in *struct {
			RecordName
			Body *api.NodeOptions
		}) (*nodeOutput, error) {
			c, err := nodeCommand(verb, core.NodeID(in.Name), given(in.Body))
			if err == nil {
				_, err = s.control.Do(ctx, c)
			}
			if err != nil {
				return nil, problem(s.log, err)
			}
			return s.oneNode(ctx, in.Name)
		})
	}
	huma.Register(s.api, huma.Operation{
		OperationID: "drain-node", Method: http.MethodPost, Path: "/v1/nodes/{name}/drain", Summary: "Keep new work from a node and have what runs there move away", Tags: tags,
	}, func(ctx context.Context, in *struct {
		RecordName
		DryRunning
		Body *api.NodeOptions
	}) (*drainOutput, error) {
		o := given(in.Body)
		return s.drain(ctx, engine.DrainRequest{Node: core.NodeID(in.Name), Force: o.Force, Note: o.Note, DryRun: in.DryRun, Actor: s.actor(ctx)})
	})
}

// nodeCommand is the use case of a verb.
func nodeCommand(verb string, id core.NodeID, o api.NodeOptions) (engine.Command, error) {
	switch verb {
	case "cordon", "uncordon":
		return engine.CordonNode(id, verb == "cordon", o.Note), nil
	case "label":
		return engine.LabelNode(id, o.Set, o.Drop), nil
	}
	r := engine.Tainting{Node: id}
	for _, t := range o.Taints {
		r.Set = append(r.Set, core.Taint{Key: t.Key, Value: t.Value, Effect: core.TaintEffect(t.Effect)})
	}
	for _, text := range o.Drop {
		key, effect, _ := strings.Cut(text, ":")
		if key == "" {
			return nil, badRequest("drop", strconv.Quote(text)+" is not KEY or KEY:EFFECT", "like maintenance or maintenance:NoSchedule")
		}
		r.Drop = append(r.Drop, core.Taint{Key: key, Effect: core.TaintEffect(effect)})
	}
	return engine.TaintNode(r), nil
}

func (s *Server) nodes(ctx context.Context) ([]api.Node, error) {
	v, err := s.control.Do(ctx, engine.Cluster())
	if err != nil {
		return nil, err
	}
	out := []api.Node{}
	for _, n := range v.(*engine.ClusterState).Nodes {
		out = append(out, node(n))
	}
	return out, nil
}

func (s *Server) oneNode(ctx context.Context, name string) (*nodeOutput, error) {
	all, err := s.nodes(ctx)
	if err != nil {
		return nil, problem(s.log, err)
	}
	n, err := named("node", name, all, func(n api.Node) string { return n.Name })
	return &nodeOutput{Body: n}, err
}

// given is an optional body; what is left out is empty.
func given[T any](body *T) (o T) {
	if body != nil {
		o = *body
	}
	return o
}

// named is the one of that name, or a problem that says that there is none.
func named[T any](kind, name string, all []T, nameOf func(T) string) (one T, err error) {
	for _, x := range all {
		if nameOf(x) == name {
			return x, nil
		}
	}
	return one, newProblem(http.StatusNotFound, "not_found", kind+" "+strconv.Quote(name)+" does not exist", "muster "+kind+" list shows all")
}

func (s *Server) drain(ctx context.Context, r engine.DrainRequest) (*drainOutput, error) {
	v, err := s.control.Do(ctx, engine.Drain(r))
	if err != nil {
		return nil, problem(s.log, err)
	}
	n, err := s.oneNode(ctx, string(r.Node))
	if err != nil {
		return nil, err
	}
	out := &drainOutput{Body: api.Drain{Node: n.Body, Items: []api.DrainStep{}}}
	for _, d := range v.(*engine.Drained).Steps {
		w := d.Workload
		step := api.DrainStep{
			Project: string(w.Project), Workload: w.Name, ID: string(w.ID), Kind: string(w.Kind), User: w.User,
			Tasks: d.Tasks, GPU: int64(d.GPUMilli), Action: string(d.Do), EndsBy: at(d.By),
		}
		if d.Within > 0 {
			step.Grace = spec.Duration(d.Within).String()
		}
		out.Body.Items = append(out.Body.Items, step)
	}
	return out, nil
}

func node(n engine.NodeState) api.Node {
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
	for _, d := range n.Devices {
		used := n.Milli[d.ID]
		out.GPU.Total += 1000
		out.GPU.Used += int64(used)
		out.Devices = append(out.Devices, api.Device{ID: d.ID, Index: d.Index, Product: d.Product, Memory: d.Memory, Fake: d.Fake, Healthy: d.Healthy, Used: used})
	}
	return out
}
