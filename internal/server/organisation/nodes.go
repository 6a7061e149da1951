package organisation

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/engine/report"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/server/problem"
	"github.com/musterhq/muster/internal/server/request"
	"github.com/musterhq/muster/internal/server/wire"
)

type nodeOutput struct{ Body api.Node }

type nodesOutput struct{ Body api.NodeList }

type drainOutput struct{ Body api.Drain }

func (s *routes) nodeRoutes() {
	tags := []string{"nodes"}
	huma.Register(s.api, huma.Operation{
		OperationID: "list-nodes", Method: http.MethodGet, Path: "/v1/nodes", Summary: "Every node, with what is held of it", Tags: tags,
	}, func(ctx context.Context, _ *struct{}) (*nodesOutput, error) {
		all, err := s.nodes(ctx)
		return &nodesOutput{Body: api.NodeList{Items: all}}, problem.OrNil(s.Log, err)
	})
	huma.Register(s.api, huma.Operation{
		OperationID: "node", Method: http.MethodGet, Path: "/v1/nodes/{name}", Summary: "One node", Tags: tags,
	}, func(ctx context.Context, in *request.RecordName) (*nodeOutput, error) { return s.oneNode(ctx, in.Name) })
	for _, v := range [][2]string{
		{"cordon", "Keep new work from a node"}, {"uncordon", "Let work in again"}, {"label", "Set and drop labels of a node"}, {"taint", "Set and drop taints of a node"},
	} {
		verb, summary := v[0], v[1]
		huma.Register(s.api, huma.Operation{
			OperationID: verb + "-node", Method: http.MethodPost, Path: "/v1/nodes/{name}/" + verb, Summary: summary, Tags: tags,
		}, func(ctx context.Context, in *struct {
			request.RecordName
			Body *api.NodeOptions
		}) (*nodeOutput, error) {
			c, err := nodeCommand(verb, core.NodeID(in.Name), request.Given(in.Body))
			if err == nil {
				err = s.Control.Apply(ctx, c)
			}
			if err != nil {
				return nil, problem.Of(s.Log, err)
			}
			return s.oneNode(ctx, in.Name)
		})
	}
	huma.Register(s.api, huma.Operation{
		OperationID: "drain-node", Method: http.MethodPost, Path: "/v1/nodes/{name}/drain", Summary: "Keep new work from a node and have what runs there move away", Tags: tags,
	}, func(ctx context.Context, in *struct {
		request.RecordName
		request.DryRunning
		Body *api.NodeOptions
	}) (*drainOutput, error) {
		o := request.Given(in.Body)
		return s.drain(ctx, organisation.DrainRequest{Node: core.NodeID(in.Name), Force: o.Force, Note: o.Note, DryRun: in.DryRun, Actor: access.Actor(ctx)})
	})
}

// nodeCommand is the use case of a verb.
func nodeCommand(verb string, id core.NodeID, o api.NodeOptions) (draft.Command[[]organisation.Edited], error) {
	switch verb {
	case "cordon", "uncordon":
		return organisation.CordonNode(id, verb == "cordon", o.Note), nil
	case "label":
		return organisation.LabelNode(id, o.Set, o.Drop), nil
	}
	r := organisation.Tainting{Node: id}
	for _, t := range o.Taints {
		r.Set = append(r.Set, core.Taint{Key: t.Key, Value: t.Value, Effect: core.TaintEffect(t.Effect)})
	}
	for _, text := range o.Drop {
		key, effect, _ := strings.Cut(text, ":")
		if key == "" {
			return nil, problem.BadValue("drop", text, "is not KEY or KEY:EFFECT", "write one like maintenance or maintenance:NoSchedule")
		}
		r.Drop = append(r.Drop, core.Taint{Key: key, Effect: core.TaintEffect(effect)})
	}
	return organisation.TaintNode(r), nil
}

func (s *routes) nodes(ctx context.Context) ([]api.Node, error) {
	st, err := control.Do(ctx, s.Control, report.Cluster())
	if err != nil {
		return nil, err
	}
	out := []api.Node{}
	for _, n := range st.Nodes {
		out = append(out, wire.Node(n))
	}
	return out, nil
}

func (s *routes) oneNode(ctx context.Context, name string) (*nodeOutput, error) {
	all, err := s.nodes(ctx)
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	n, err := request.Find("node", name, all, func(n api.Node) string { return n.Name })
	return &nodeOutput{Body: n}, err
}

func (s *routes) drain(ctx context.Context, r organisation.DrainRequest) (*drainOutput, error) {
	drained, err := control.Do(ctx, s.Control, organisation.Drain(r))
	if err != nil {
		return nil, problem.Of(s.Log, err)
	}
	n, err := s.oneNode(ctx, string(r.Node))
	if err != nil {
		return nil, err
	}
	out := &drainOutput{Body: api.Drain{Node: n.Body, Items: []api.DrainStep{}}}
	for _, d := range drained.Steps {
		w := d.Workload
		step := api.DrainStep{
			Project: string(w.Project), Workload: w.Name, ID: string(w.ID), Kind: string(w.Kind), User: w.User,
			Tasks: d.Tasks, GPU: int64(d.GPUMilli), Action: string(d.Do), EndsBy: wire.At(d.By),
		}
		if !access.Sees(ctx, w) {
			step.Project, step.Workload, step.ID, step.User = "", "", "", ""
		}
		if d.Within > 0 {
			step.Grace = spec.Duration(d.Within).String()
		}
		out.Body.Items = append(out.Body.Items, step)
	}
	return out, nil
}
