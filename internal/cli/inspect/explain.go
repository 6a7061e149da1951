package inspect

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
	"github.com/musterhq/muster/internal/core/spec/schema"
)

// NewExplain makes the command explain.
func NewExplain(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "explain [FIELD]",
		Short: "What a field of a workload document means",
		Example: `  muster explain
  muster explain resources.gpu`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return session.UsageError(fmt.Sprintf("muster explain takes one field, not %d", len(args)), cmd.UseLine())
			}
			return explainField(s, session.FirstName(args))
		},
		ValidArgsFunction: func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			return fieldsFrom(spec.Schema(), typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		},
	}
}

func explainField(s *session.Session, path string) error {
	for _, noun := range []string{"workload.", "run.", "spec."} { // muster explain run.resources.gpu
		path = strings.TrimPrefix(path, noun)
	}
	if slices.Contains([]string{"workload", "run"}, path) {
		path = ""
	}
	t, err := spec.Explain(path)
	var fe codec.FieldError
	if errors.As(err, &fe) {
		f := session.BadDocument("", codec.Errors{fe})
		f.Code = session.ExitNotFound
		return f
	}
	if err != nil {
		return err
	}
	if s.Machine() {
		return s.Document(t)
	}
	_, err = fmt.Fprint(s.IO.Out, t.Text())
	return err
}

func fieldsFrom(t schema.Topic, typed string) (paths []string) {
	for _, c := range t.Children {
		if strings.HasPrefix(c.Path, typed) {
			paths = append(paths, c.Path)
		}
		if strings.HasPrefix(typed, c.Path+".") {
			paths = append(paths, fieldsFrom(c, typed)...)
		}
	}
	return paths
}
