package admin

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/amount"
)

// NewCluster makes the command cluster.
func NewCluster(s *session.Session) *cobra.Command {
	cmd := session.Group("cluster", "Clusters, which are where nodes are: list, describe", "clusters")
	var t session.TableFlags
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls", "get"}, Short: "List clusters: what each is, whether it answers, what is free", Example: "  muster cluster list",
		Args: session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			all, err := c.Clusters(cmd.Context())
			if err != nil {
				return err
			}
			if s.Machine() {
				return s.Document(all)
			}
			return clusterUse(s, all.Items, s.Moments(t), t)
		},
	}
	t.Register(list)
	describe := &cobra.Command{
		Use: "describe CLUSTER", Aliases: []string{"show"}, Short: "Show a cluster and its nodes", Example: "  muster cluster describe east",
		Args: session.OneName("cluster"),
		RunE: func(cmd *cobra.Command, args []string) error { return describeCluster(cmd.Context(), s, args[0]) },
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return s.CompleteClusters(cmd, args, typed)
		},
	}
	cmd.AddCommand(list, describe)
	return cmd
}

func clusterUse(s *session.Session, all []api.ClusterInfo, m session.Moments, t session.TableFlags) error {
	return session.Print(s, t, session.Table[api.ClusterInfo]{Items: all, Name: func(c api.ClusterInfo) string { return c.Name }, Columns: []session.Column[api.ClusterInfo]{
		{Title: "CLUSTER", Cell: func(c api.ClusterInfo) string { return c.Name }},
		{Title: "KIND", Cell: clusterKind},
		{Title: "STATUS", Cell: func(c api.ClusterInfo) string { return clusterStatus(c, m) }, Tone: func(c api.ClusterInfo) session.Tone {
			if !c.Reachable {
				return session.ToneBad
			}
			return session.ToneGood
		}},
		{Title: "NODES", Cell: func(c api.ClusterInfo) string { return fmt.Sprintf("%d/%d", c.Nodes.Ready, c.Nodes.Total) }},
		{Title: "GPUS FREE", Cell: func(c api.ClusterInfo) string {
			return amount.Thousandths(c.GPU.Free) + "/" + amount.Thousandths(c.GPU.Total)
		}},
		{Title: "WORKLOADS", Cell: func(c api.ClusterInfo) string { return strconv.Itoa(c.Workloads) }},
		{Title: "SERVER", Wide: true, Cell: func(c api.ClusterInfo) string { return printers.OrDash(c.Server) }},
		{Title: "MESSAGE", Wide: true, Cell: func(c api.ClusterInfo) string { return printers.OrDash(c.Message) }},
	}})
}

func clusterKind(c api.ClusterInfo) string {
	if c.Version == "" {
		return printers.OrDash(c.Kind)
	}
	return c.Kind + " " + c.Version
}

// clusterStatus says whether a cluster answers, and if not, for how long it has
// not.
func clusterStatus(c api.ClusterInfo, m session.Moments) string {
	switch {
	case c.Reachable:
		return "Reachable"
	case c.Since != nil:
		return "Unreachable for " + m.Ago(session.TimeOf(*c.Since))
	default:
		return "Unreachable"
	}
}

func describeCluster(ctx context.Context, s *session.Session, name string) error {
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	info, err := c.ClusterInfo(ctx, name)
	if err != nil {
		return err
	}
	if shown, err := s.Brief(info, info.Name); shown {
		return err
	}
	g := session.Grid{Whole: true}
	line := func(title, text string) {
		if text != "" {
			g.Line(title, text)
		}
	}
	line("Cluster", info.Name)
	line("Kind", clusterKind(*info))
	line("Server", info.Server)
	line("Status", clusterStatus(*info, s.Moments(session.TableFlags{})))
	line("Message", info.Message)
	line("Nodes", fmt.Sprintf("%d, of which %d take work", info.Nodes.Total, info.Nodes.Ready))
	line("GPUs", amount.Thousandths(info.GPU.Total)+", of which "+amount.Thousandths(info.GPU.Free)+" are free")
	line("Workloads", fmt.Sprintf("%d with %s", info.Workloads, session.Plural(info.Tasks, "task")))
	if err := s.Grid(g); err != nil {
		return err
	}
	nodes, err := nodesOf(ctx, s, c, name)
	if err != nil || len(nodes) == 0 {
		return err
	}
	if _, err := fmt.Fprintln(s.IO.Out); err != nil {
		return err
	}
	return utilNodes(s, nodes, session.TableFlags{})
}

func nodesOf(ctx context.Context, s *session.Session, c *client.Client, cluster string) ([]api.Node, error) {
	list, err := c.Nodes.List(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(n api.Node) bool { return n.Backend != cluster }), nil
}
