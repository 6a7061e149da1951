package admin

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/document"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/convert/slurmsite"
)

// newProjectImport makes the command project import.
func newProjectImport(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use: "import FILE…", Short: "Make departments, projects and pools of how a site of Slurm is divided",
		Long: `Reads what sacctmgr dump writes and slurm.conf, and prints a file for muster apply:
accounts as departments and projects with their limits and shares, partitions as pools.
What is not there as it was, and the commands that give users their roles and nodes their
labels, stand above it as remarks. It asks no server and changes nothing: look it over,
then muster apply -f.`,
		Example: "  sacctmgr dump mycluster file=accounts.dump\n  muster project import accounts.dump /etc/slurm/slurm.conf > site.yaml\n  muster apply -f site.yaml --dry-run",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return session.UsageError("muster project import takes files", "muster project import accounts.dump slurm.conf")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			var texts []string
			for _, file := range args {
				data, err := document.Read(s, file)
				if err != nil {
					return err
				}
				texts = append(texts, string(data))
			}
			site, err := slurmsite.Read(texts...)
			if err == nil {
				var text string
				if text, err = site.Text(); err == nil {
					_, err = fmt.Fprint(s.IO.Out, text)
					return err
				}
			}
			var p *api.Problem
			if errors.As(err, &p) {
				return err
			}
			files := strings.Join(args, ", ")
			var unknown *slurmsite.UnknownFileError
			if errors.As(err, &unknown) {
				files = args[unknown.Index]
			}
			return &session.Failure{Code: session.ExitUsage, File: files, Problem: &api.Problem{
				Title: "Wrong file", Code: "invalid", Detail: fmt.Sprintf("%s: %v", files, err), Hint: "give it what sacctmgr dump CLUSTER file=FILE writes, and slurm.conf",
			}}
		},
	}
}
