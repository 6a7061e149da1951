// Package review has the commands of those who say what has to be approved before it
// runs, and of those who approve it.
package review

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/document"
	"github.com/musterhq/muster/internal/cli/session"
)

// scopeFlags say whose a check is: a project's or department's, or the system's.
type scopeFlags struct {
	session.Scope
	system bool
}

func (f *scopeFlags) register(s *session.Session, cmd *cobra.Command) {
	f.Scope.Register(s, cmd)
	cmd.Flags().BoolVar(&f.system, "system", false, "of the system, which is for all projects, instead of one's own")
}

// of is the scope that the flags name; project is that of -p.
func (f *scopeFlags) of(project string) string {
	if f.system {
		return client.SystemScope
	}
	return document.TemplateProject(project)
}

// scopeName is a scope in a table.
func scopeName(scope string) string {
	if scope == client.SystemScope {
		return "system"
	}
	return scope
}

// notACheck says of a file that it cannot be read.
func notACheck(file string, err error, hint string) error {
	text := strings.TrimPrefix(strings.SplitN(err.Error(), "\n", 2)[0], "json: ")
	return &session.Failure{Code: session.ExitUsage, File: file, Problem: &api.Problem{
		Title: "Wrong file", Code: "invalid", Detail: text, Errors: []api.FieldProblem{{Problem: text, Hint: hint}},
	}}
}
