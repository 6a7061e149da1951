package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
)

func newProject(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "project",
		Aliases: []string{"projects", "queue"},
		Short:   "Projects: list, describe, create, set, stop, start",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	o := &getOptions{}
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls", "get"}, Short: "List projects", Example: "  muster project list",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := s.connect(cmd.Context())
			if err != nil {
				return err
			}
			return s.getProjects(cmd.Context(), c, o, args)
		},
	}
	o.table.register(list)
	var note string
	stop := s.projectVerb("stop", "Keep new work of a project from being queued; what runs goes on", "muster project stop vision --note 'maintenance until noon'",
		func(ctx context.Context, c *client.Client, name string) (*api.Project, error) {
			return c.StopProject(ctx, name, api.ProjectOptions{Note: note})
		})
	stop.Flags().StringVarP(&note, "note", "m", "", "why; shown to whoever waits")
	cmd.AddCommand(list, newProjectDescribe(s), newProjectSet(s), stop,
		s.projectVerb("create", "Make a project", "muster project create vision", func(ctx context.Context, c *client.Client, name string) (*api.Project, error) {
			return c.CreateProject(ctx, name)
		}),
		s.projectVerb("start", "Open a stopped project again", "muster project start vision", func(ctx context.Context, c *client.Client, name string) (*api.Project, error) {
			return c.StartProject(ctx, name)
		}))
	return cmd
}

func (s *session) projectVerb(verb, short, example string, run func(context.Context, *client.Client, string) (*api.Project, error)) *cobra.Command {
	cmd := &cobra.Command{
		Use: verb + " PROJECT", Short: short, Example: "  " + example,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage(fmt.Sprintf("muster project %s takes one project, not %d", verb, len(args)), cmd.UseLine())
			}
			c, err := s.connect(cmd.Context())
			if err != nil {
				return err
			}
			p, err := run(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			switch {
			case s.machine():
				return s.document(p)
			case s.format() == "name":
				_, err := fmt.Fprintln(s.io.Out, p.Name)
				return err
			}
			s.say("project %s: %s", p.Name, projectStatus(*p))
			return nil
		},
	}
	if verb != "create" {
		cmd.ValidArgsFunction = s.completeProjects
	}
	return cmd
}
