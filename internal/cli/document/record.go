package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/session"
)

// Scope are the flags that say whose a record is: a project's or department's, or the
// system's.
type Scope struct {
	session.Scope
	System bool
}

// Register adds the flags to a command.
func (x *Scope) Register(s *session.Session, cmd *cobra.Command) {
	x.Scope.Register(s, cmd)
	x.RegisterSystem(cmd)
}

// RegisterSystem adds the flag for the system alone.
func (x *Scope) RegisterSystem(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&x.System, "system", false, "what is there for all projects, instead of one's own")
}

// Of is the scope that the flags name; project is that of -p.
func (x *Scope) Of(project string) string {
	if x.System {
		return client.SystemScope
	}
	return TemplateProject(project)
}

// ReadRecord reads the file of a record of a kind, whose fields hint tells of.
func ReadRecord[T any](file string, data []byte, kind string, kindOf func(*T) string, hint string) (T, error) {
	var tree map[string]any
	var r T
	err := yaml.Unmarshal(data, &tree)
	if err == nil {
		if data, err = json.Marshal(tree); err == nil {
			d := json.NewDecoder(strings.NewReader(string(data)))
			d.DisallowUnknownFields()
			err = d.Decode(&r)
		}
	}
	if given := kindOf(&r); err == nil && given != "" && given != kind {
		err = fmt.Errorf("kind is %s, and not %s", given, kind)
	}
	if err == nil && tree == nil {
		err = errors.New("it is empty")
	}
	if err != nil {
		return r, WrongFile(file, err, hint)
	}
	return r, nil
}

// WrongFile says of a file that it cannot be read.
func WrongFile(file string, err error, hint string) error {
	text := strings.TrimPrefix(strings.SplitN(err.Error(), "\n", 2)[0], "json: ")
	return &session.Failure{Code: session.ExitUsage, File: file, Problem: &api.Problem{
		Title: "Wrong file", Code: "invalid", Detail: text, Errors: []api.FieldProblem{{Problem: text, Hint: hint}},
	}}
}

// RefusedOf says of a refusal which file it is about, if it is about one.
func RefusedOf(err error, file string) error {
	var p *api.Problem
	if file == "" || !errors.As(err, &p) || len(p.Errors) == 0 {
		return err
	}
	if file == "-" {
		file = "standard input"
	}
	c := *p
	for i := range c.Errors {
		c.Errors[i].Line = 0 // it is that of what was sent
	}
	return &session.Failure{Code: session.CodeOf(p), File: file, Problem: &c}
}
