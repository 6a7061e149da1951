package admin

import (
	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/session"
)

// projectRecord is a project or department as files have it.
type projectRecord struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	api.ProjectSpec
}

func newProjectExport(s *session.Session, n session.ProjectNoun) *cobra.Command {
	return &cobra.Command{
		Use: "export [" + n.Arg + "…]", Short: "Write " + n.Word + "s, with their quotas and budgets, as records that muster apply -f takes", Example: "  muster " + n.Word + " export vision > vision.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			list, err := c.Of(n.Records).List(cmd.Context())
			if err != nil {
				return err
			}
			items := list.Items
			if len(args) > 0 {
				items = nil
				for _, name := range args {
					p, err := projectNamed(cmd.Context(), c, n, name)
					if err != nil {
						return err
					}
					items = append(items, *p)
				}
			}
			kind := "Project"
			if n.Word == session.DepartmentWord.Word {
				kind = "Department"
			}
			var out []any
			for _, p := range items {
				out = append(out, projectRecord{kind, p.Name, p.ProjectSpec})
			}
			return s.Files(out)
		},
	}
}
