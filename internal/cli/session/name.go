package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/core/nearest"
)

// Scope says among which workloads a name is looked for.
type Scope struct {
	Project string // "": the default one first, then all
}

// Register gives cmd the flag that names the project.
func (sc *Scope) Register(s *Session, cmd *cobra.Command) {
	cmd.Flags().StringVarP(&sc.Project, "project", "p", s.Setting("MUSTER_PROJECT"), "project (MUSTER_PROJECT)")
	_ = cmd.RegisterFlagCompletionFunc("project", s.CompleteProjects) // fails for unknown flags only
}

// DefaultProject is where a name without a project is looked for first.
const DefaultProject = "default"

// Resolve returns the workload that a user means: by name, id, unique prefix,
// @last, or, with an empty name, the latest of the user's own.
func (s *Session) Resolve(ctx context.Context, c *client.Client, sc Scope, name string) (*api.Workload, error) {
	if back, ok, err := history(name); err != nil {
		return nil, err
	} else if ok {
		return s.latest(ctx, c, sc, back, name == "")
	}
	project := sc.Project
	if project == "" {
		project = DefaultProject
	}
	w, err := c.Workload(ctx, project, name)
	if err == nil || !IsNotFound(err) {
		return w, err
	}
	if looksLikeID(name) {
		if w, err := c.Workload(ctx, client.AllProjects, name); err == nil {
			return w, nil
		}
	}
	return s.prefixed(ctx, c, sc, name)
}

// history reads "" and @last as 0, @{N} as N.
func history(name string) (back int, ok bool, err error) {
	switch {
	case name == "" || name == "@last":
		return 0, true, nil
	case strings.HasPrefix(name, "@{") && strings.HasSuffix(name, "}"):
		n, err := strconv.Atoi(name[2 : len(name)-1])
		if err != nil || n < 0 || n > 999 {
			return 0, false, UsageError(fmt.Sprintf("%s is not understood", name), "@{0} is the latest workload, @{1} the one before, up to @{999}")
		}
		return n, true, nil
	case strings.HasPrefix(name, "@"):
		return 0, false, UsageError(fmt.Sprintf("%s is not understood", name), "@last is the latest workload, @{1} the one before")
	default:
		return 0, false, nil
	}
}

func (s *Session) latest(ctx context.Context, c *client.Client, sc Scope, back int, unnamed bool) (*api.Workload, error) {
	list, err := c.Workloads(ctx, client.ListOptions{Project: sc.Project, User: s.Me(), Limit: back + 1, Summary: true})
	if err != nil {
		return nil, err
	}
	if len(list.Items) <= back {
		return nil, NotFoundError(fmt.Sprintf("you have %d workloads", len(list.Items)), "muster run submits one; muster get --all shows those of others")
	}
	w := list.Items[back]
	if unnamed {
		s.Say("No workload named; using the latest: %s", w.Name)
	}
	return c.Workload(ctx, w.Project, w.ID)
}

// prefixed looks for the one workload whose name begins with name, in any
// project unless one was given.
func (s *Session) prefixed(ctx context.Context, c *client.Client, sc Scope, name string) (*api.Workload, error) {
	list, err := c.Workloads(ctx, client.ListOptions{Project: sc.Project, Prefix: name, Limit: 100, Summary: true})
	if err != nil {
		return nil, err
	}
	found := list.Items
	if exact := slices.DeleteFunc(slices.Clone(found), func(w api.Workload) bool { return w.Name != name }); len(exact) > 0 {
		found = exact
	}
	switch len(found) {
	case 1:
		return c.Workload(ctx, found[0].Project, found[0].ID)
	case 0:
		return nil, s.unknown(ctx, c, sc, name)
	default:
		var names []string
		for _, w := range found[:min(len(found), 5)] {
			names = append(names, w.Project+"/"+w.Name)
		}
		return nil, &Failure{Code: ExitNotFound, Problem: &api.Problem{
			Title: "Ambiguous name", Code: "ambiguous", Detail: fmt.Sprintf("%q could be any of %d workloads: %s", name, len(found), strings.Join(names, ", ")),
			Hint: "write the whole name, with --project where it is in several",
		}}
	}
}

// unknown says that there is no such workload, and which there are.
func (s *Session) unknown(ctx context.Context, c *client.Client, sc Scope, name string) error {
	hint := "muster get lists what there is"
	if list, err := c.Workloads(ctx, client.ListOptions{Project: sc.Project, Limit: 500, Bare: true}); err == nil {
		var names []string
		for _, w := range list.Items {
			names = append(names, w.Name)
		}
		if near := nearest.Words(name, names); len(near) > 0 {
			hint = "did you mean " + strings.Join(near, " or ") + "?"
		}
	}
	where := ""
	if sc.Project != "" {
		where = fmt.Sprintf(" in project %q", sc.Project)
	}
	return NotFoundError(fmt.Sprintf("workload %q does not exist%s", name, where), hint)
}

// IsNotFound reports whether the server says that something does not exist.
func IsNotFound(err error) bool {
	var p *api.Problem
	return errors.As(err, &p) && p.Status == 404
}

// looksLikeID reports whether name has the form of an id.
func looksLikeID(name string) bool {
	return len(name) == 26 && strings.Trim(name, "0123456789abcdefghjkmnpqrstvwxyz") == ""
}

// ScopeText is what a scope of records is in words: the system, or a project.
func ScopeText(scope string) string {
	if scope == client.SystemScope {
		return "the system"
	}
	return "project " + scope
}

// ScopeName is such a scope in a table.
func ScopeName(scope string) string {
	if scope == client.SystemScope {
		return "system"
	}
	return scope
}
