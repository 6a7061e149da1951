package session

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/client"
	"github.com/spf13/cobra"
)

// completionLimit bounds what a press of the tab key may take.
const completionLimit = 300 * time.Millisecond

// CompleteNames offers the names of workloads.
func (s *Session) CompleteNames(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return s.Complete(cmd, typed, func(ctx context.Context, c *client.Client) (names []string) {
		list, err := c.Workloads(ctx, client.ListOptions{Prefix: typed, Limit: 100, Bare: true})
		if err != nil {
			return nil
		}
		for _, w := range list.Items {
			names = append(names, w.Name+"\t"+w.Phase)
		}
		return names
	})
}

// CompleteProjects offers the names of projects.
func (s *Session) CompleteProjects(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	return s.CompleteRecords(ProjectWord)(cmd, args, typed)
}

// CompleteRecords completes the names of projects or departments.
func (s *Session) CompleteRecords(n ProjectNoun) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return s.Complete(cmd, typed, func(ctx context.Context, c *client.Client) (names []string) {
			list, err := c.Of(n.Records).List(ctx)
			if err != nil {
				return nil
			}
			for _, p := range list.Items {
				names = append(names, p.Name)
			}
			return names
		})
	}
}

// Complete offers those of the names asked for that begin with what is typed.
func (s *Session) Complete(cmd *cobra.Command, typed string, ask func(context.Context, *client.Client) []string) ([]string, cobra.ShellCompDirective) {
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completionLimit)
	defer cancel()
	s.chooseServer()
	c, err := s.ConnectOnly(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return slices.DeleteFunc(ask(ctx, c), func(name string) bool { return !strings.HasPrefix(name, typed) }), cobra.ShellCompDirectiveNoFileComp
}

// CompleteClusters offers the names of clusters.
func (s *Session) CompleteClusters(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return s.Complete(cmd, typed, func(ctx context.Context, c *client.Client) (names []string) {
		all, err := c.Clusters(ctx)
		if err != nil {
			return nil
		}
		for _, x := range all.Items {
			names = append(names, x.Name)
		}
		return names
	})
}

// CompleteSecrets offers the names of secrets.
func (s *Session) CompleteSecrets(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return s.Complete(cmd, typed, func(ctx context.Context, c *client.Client) (names []string) {
		list, err := c.Secrets.List(ctx)
		if err != nil {
			return nil
		}
		for _, x := range list.Items {
			names = append(names, x.Name+"\t"+x.Type)
		}
		return names
	})
}

// CompleteTemplates offers the names of assets of these kinds.
func (s *Session) CompleteTemplates(kinds ...string) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return s.Complete(cmd, typed, func(ctx context.Context, c *client.Client) (names []string) {
			list, err := c.Templates.Assets(ctx, "")
			if err != nil {
				return nil
			}
			for _, t := range list.Items {
				if slices.Contains(kinds, t.Kind) {
					names = append(names, t.Name+"\t"+t.Description)
				}
			}
			return names
		})
	}
}

// CompleteNodes offers the names of nodes.
func (s *Session) CompleteNodes(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return s.Complete(cmd, typed, func(ctx context.Context, c *client.Client) (names []string) {
		list, err := c.Nodes.List(ctx)
		if err != nil {
			return nil
		}
		for _, n := range list.Items {
			names = append(names, n.Name)
		}
		return names
	})
}
