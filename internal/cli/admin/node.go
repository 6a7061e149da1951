package admin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/amount"
)

// NewNode makes the command node.
func NewNode(s *session.Session) *cobra.Command {
	cmd := session.Group("node", "Nodes: list, describe, cordon, uncordon, drain, label, taint", "nodes")
	var t session.TableFlags
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls", "get"}, Short: "List nodes", Example: "  muster node list",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			return GetNodes(cmd.Context(), s, c, t, args)
		},
	}
	t.Register(list)
	var note string
	cordon := nodeVerb(s, "cordon NODE", "Keep new work from a node; what runs goes on", "muster node cordon gpu-a03 --note 'fan to be changed'", 1,
		func(ctx context.Context, c *client.Client, name string, _ []string) (*api.Node, error) {
			return c.Nodes.Change(ctx, name, "cordon", api.NodeOptions{Note: note})
		})
	cordon.Flags().StringVarP(&note, "note", "m", "", "why")
	uncordon := nodeVerb(s, "uncordon NODE", "Let work in again; ends a drain", "muster node uncordon gpu-a03", 1,
		func(ctx context.Context, c *client.Client, name string, _ []string) (*api.Node, error) {
			return c.Nodes.Change(ctx, name, "uncordon", api.NodeOptions{})
		})
	label := nodeVerb(s, "label NODE KEY=VALUE… KEY-…", "Set labels of a node, and drop those written KEY-", "muster node label gpu-a03 gpu=h100 rack=r7 old-", 2,
		func(ctx context.Context, c *client.Client, name string, words []string) (*api.Node, error) {
			in, err := labelsOf(words)
			if err != nil {
				return nil, err
			}
			return c.Nodes.Change(ctx, name, "label", in)
		})
	taint := nodeVerb(s, "taint NODE KEY[=VALUE]:EFFECT… KEY[:EFFECT]-…", "Set taints of a node, and drop those that end in -", "muster node taint gpu-a03 maintenance=fan:NoSchedule\n  muster node taint gpu-a03 maintenance-", 2,
		func(ctx context.Context, c *client.Client, name string, words []string) (*api.Node, error) {
			in, err := taintsOf(words)
			if err != nil {
				return nil, err
			}
			return c.Nodes.Change(ctx, name, "taint", in)
		})
	cmd.AddCommand(list, newNodeDescribe(s), cordon, uncordon, newNodeDrain(s), label, taint)
	return cmd
}

// nodeVerb is a command that changes the node that its first word names.
func nodeVerb(s *session.Session, use, short, example string, words int, run func(context.Context, *client.Client, string, []string) (*api.Node, error)) *cobra.Command {
	verb, _, _ := strings.Cut(use, " ")
	return &cobra.Command{
		Use: use, Short: short, Example: "  " + example,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < words || words == 1 && len(args) > 1 {
				return session.UsageError(fmt.Sprintf("muster node %s does not take %s", verb, session.Plural(len(args), "word")), cmd.UseLine())
			}
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			n, err := run(cmd.Context(), c, args[0], args[1:])
			if err != nil {
				return err
			}
			if shown, err := s.Brief(n, n.Name); shown {
				return err
			}
			s.Say("node %s: %s, pool %s%s", n.Name, printers.NodeStatus(*n), n.Pool, nodeMarks(n))
			return nil
		},
		ValidArgsFunction: s.CompleteNodes,
	}
}

// nodeMarks are the labels and taints of a node.
func nodeMarks(n *api.Node) string {
	out := ""
	if len(n.Labels) > 0 {
		out += ", labels " + strings.Join(pairsOf(n.Labels), " ")
	}
	if len(n.Taints) > 0 {
		out += ", taints " + strings.Join(taintTexts(n.Taints), " ")
	}
	return out
}

func pairsOf(m map[string]string) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, k+"="+m[k])
	}
	return out
}

func taintTexts(taints []api.Taint) []string {
	var out []string
	for _, t := range taints {
		text := t.Key
		if t.Value != "" {
			text += "=" + t.Value
		}
		out = append(out, text+":"+t.Effect)
	}
	return out
}

func labelsOf(words []string) (api.NodeOptions, error) {
	o := api.NodeOptions{Set: map[string]string{}}
	for _, w := range words {
		key, value, ok := strings.Cut(w, "=")
		switch {
		case ok && key != "":
			o.Set[key] = value
		case !ok && strings.HasSuffix(w, "-") && w != "-":
			o.Drop = append(o.Drop, strings.TrimSuffix(w, "-"))
		default:
			return o, session.UsageError(fmt.Sprintf("%q is neither KEY=VALUE nor KEY-", w), "write gpu=h100 to set a label, gpu- to drop it")
		}
	}
	return o, nil
}

func taintsOf(words []string) (api.NodeOptions, error) {
	var o api.NodeOptions
	for _, w := range words {
		if drop, ok := strings.CutSuffix(w, "-"); ok && drop != "" {
			key, effect, _ := strings.Cut(drop, ":")
			key, _, _ = strings.Cut(key, "=")
			o.Drop = append(o.Drop, strings.TrimSuffix(key+":"+effect, ":"))
			continue
		}
		pair, effect, ok := strings.Cut(w, ":")
		key, value, _ := strings.Cut(pair, "=")
		if !ok || key == "" {
			return o, session.UsageError(fmt.Sprintf("%q is neither KEY[=VALUE]:EFFECT nor KEY-", w), "the effects are NoSchedule, PreferNoSchedule and NoExecute; write maintenance=fan:NoSchedule")
		}
		o.Taints = append(o.Taints, api.Taint{Key: key, Value: value, Effect: effect})
	}
	return o, nil
}

func newNodeDescribe(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use: "describe NODE", Aliases: []string{"show"}, Short: "Show a node", Example: "  muster node describe gpu-a03",
		Args: session.OneName("node"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			n, err := c.Nodes.Get(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return describeNode(s, n)
		},
		ValidArgsFunction: s.CompleteNodes,
	}
}

func describeNode(s *session.Session, n *api.Node) error {
	if shown, err := s.Brief(n, n.Name); shown {
		return err
	}
	g := session.Grid{Whole: true}
	line := func(title, text string) {
		if text != "" {
			g.Line(title, text)
		}
	}
	line("Node", n.Name)
	line("Status", printers.NodeStatus(*n))
	line("Message", n.Message)
	line("Note", n.Note)
	line("Backend", n.Backend)
	line("Pool", n.Pool)
	line("CPU", used(n.CPU)+" cores")
	line("Memory", printers.Size(n.Memory.Used)+"/"+printers.Size(n.Memory.Total))
	line("GPUs", used(n.GPU)+" "+printers.Devices(n.Devices))
	for _, name := range slices.Sorted(maps.Keys(n.Extended)) {
		line(name, fmt.Sprintf("%d/%d", n.Extended[name].Used, n.Extended[name].Total))
	}
	line("Tasks", strconv.Itoa(n.Tasks))
	for _, l := range pairsOf(n.Labels) {
		line("Label", l)
	}
	for _, t := range taintTexts(n.Taints) {
		line("Taint", t)
	}
	for _, d := range n.Devices {
		state := fmt.Sprintf("%s %s, %s, %s held", d.ID, d.Product, printers.Size(d.Memory), amount.Thousandths(int64(d.Used)))
		if !d.Healthy {
			state += ", broken"
		}
		line(fmt.Sprintf("GPU %d", d.Index), state)
	}
	return s.Grid(g)
}

// GetNodes prints the nodes of these names; without names, all.
func GetNodes(ctx context.Context, s *session.Session, c *client.Client, t session.TableFlags, names []string) error {
	cluster, err := c.Cluster(ctx)
	if err != nil {
		return err
	}
	nodes := cluster.Nodes
	if len(names) > 0 {
		nodes = slices.DeleteFunc(nodes, func(n api.Node) bool { return !slices.Contains(names, n.Name) })
		if err := missing("node", "muster get nodes", names, nodes, func(x api.Node) string { return x.Name }); err != nil {
			return err
		}
	}
	var body any = map[string]any{"items": nodes}
	if len(names) == 1 {
		body = nodes[0]
	}
	return session.Print(s, t, session.Table[api.Node]{Columns: printers.NodeColumns(), Items: nodes, Name: func(n api.Node) string { return n.Name }, Body: body})
}
