package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
)

func newCluster(s *session) *cobra.Command {
	cmd := noun("cluster", "Clusters, which are where nodes are: list, describe", "clusters")
	var t tableFlags
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls", "get"}, Short: "List clusters: what each is, whether it answers, what is free", Example: "  muster cluster list",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.connect(cmd.Context())
			if err != nil {
				return err
			}
			all, err := c.Clusters(cmd.Context())
			if err != nil {
				return err
			}
			if s.machine() {
				return s.document(all)
			}
			return s.clusterUse(all.Items, s.moments(t), t)
		},
	}
	t.register(list)
	describe := &cobra.Command{
		Use: "describe CLUSTER", Aliases: []string{"show"}, Short: "Show a cluster and its nodes", Example: "  muster cluster describe east",
		Args: one("cluster"),
		RunE: func(cmd *cobra.Command, args []string) error { return s.describeCluster(cmd.Context(), args[0]) },
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return s.completeClusters(cmd, args, typed)
		},
	}
	cmd.AddCommand(list, describe)
	return cmd
}

func (s *session) clusterUse(all []api.ClusterInfo, m moments, t tableFlags) error {
	return print(s, t, table[api.ClusterInfo]{items: all, name: func(c api.ClusterInfo) string { return c.Name }, columns: []column[api.ClusterInfo]{
		{title: "CLUSTER", cell: func(c api.ClusterInfo) string { return c.Name }},
		{title: "KIND", cell: clusterKind},
		{title: "STATUS", cell: func(c api.ClusterInfo) string { return clusterStatus(c, m) }, tone: func(c api.ClusterInfo) tone {
			if !c.Reachable {
				return toneBad
			}
			return toneGood
		}},
		{title: "NODES", cell: func(c api.ClusterInfo) string { return fmt.Sprintf("%d/%d", c.Nodes.Ready, c.Nodes.Total) }},
		{title: "GPUS FREE", cell: func(c api.ClusterInfo) string { return thousandths(c.GPU.Free) + "/" + thousandths(c.GPU.Total) }},
		{title: "WORKLOADS", cell: func(c api.ClusterInfo) string { return strconv.Itoa(c.Workloads) }},
		{title: "SERVER", wide: true, cell: func(c api.ClusterInfo) string { return orDash(c.Server) }},
		{title: "MESSAGE", wide: true, cell: func(c api.ClusterInfo) string { return orDash(c.Message) }},
	}})
}

func clusterKind(c api.ClusterInfo) string {
	if c.Version == "" {
		return orDash(c.Kind)
	}
	return c.Kind + " " + c.Version
}

// clusterStatus says whether a cluster answers, and if not, for how long it has
// not.
func clusterStatus(c api.ClusterInfo, m moments) string {
	switch {
	case c.Reachable:
		return "Reachable"
	case c.Since != nil:
		return "Unreachable for " + m.ago(timeOf(*c.Since))
	default:
		return "Unreachable"
	}
}

func (s *session) describeCluster(ctx context.Context, name string) error {
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	info, err := c.ClusterInfo(ctx, name)
	if err != nil {
		return err
	}
	if shown, err := s.brief(info, info.Name); shown {
		return err
	}
	g := grid{whole: true}
	line := func(title, text string) {
		if text != "" {
			g.rows = append(g.rows, []cell{{title, toneTitle}, {text, tonePlain}})
		}
	}
	line("Cluster", info.Name)
	line("Kind", clusterKind(*info))
	line("Server", info.Server)
	line("Status", clusterStatus(*info, s.moments(tableFlags{})))
	line("Message", info.Message)
	line("Nodes", fmt.Sprintf("%d, of which %d take work", info.Nodes.Total, info.Nodes.Ready))
	line("GPUs", thousandths(info.GPU.Total)+", of which "+thousandths(info.GPU.Free)+" are free")
	line("Workloads", fmt.Sprintf("%d with %s", info.Workloads, plural(info.Tasks, "task")))
	if err := s.grid(g); err != nil {
		return err
	}
	nodes, err := s.nodesOf(ctx, c, name)
	if err != nil || len(nodes) == 0 {
		return err
	}
	if _, err := fmt.Fprintln(s.io.Out); err != nil {
		return err
	}
	return s.utilNodes(nodes, tableFlags{})
}

func (s *session) nodesOf(ctx context.Context, c *client.Client, cluster string) ([]api.Node, error) {
	list, err := c.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(n api.Node) bool { return n.Backend != cluster }), nil
}
