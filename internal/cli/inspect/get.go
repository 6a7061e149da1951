// Package inspect has the commands that show what workloads do and why, and change
// nothing: get, describe, why, events, wait and others like them.
package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/admin"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/cli/terminal"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// GetOptions are the flags of get.
type GetOptions struct {
	table   session.TableFlags
	scope   session.Scope
	filter  FilterFlags
	Dialect string
	watch   bool
}

// NewGet makes the command get.
func NewGet(s *session.Session) *cobra.Command {
	o := &GetOptions{}
	cmd := &cobra.Command{
		Use:     "get [workloads|nodes|pools|licenses|projects|departments] [NAME…]",
		Aliases: []string{"list", "ls", "ps"},
		Short:   "List workloads, nodes, pools, licenses, projects or departments",
		Long: `Lists workloads (also called run, runs, job, jobs or wl), nodes, pools, licenses,
projects or departments.

Without filters it lists your own workloads that are active or were submitted
in the last 24 hours, and says on standard error what it left out.`,
		Example: `  muster get                              mine, active or of the last day
  muster get -A --status failed --since 7d
  muster get runs -o json | jq '.items[].phase'
  muster get nodes
  muster stop $(muster get -o name --status queued)`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.filter.all && !cmd.Flags().Changed("project") {
				o.scope.Project = "" // a default project is nothing that was asked for
			}
			return get(cmd.Context(), s, o, args)
		},
	}
	cmd.ValidArgsFunction = s.CompleteNames
	o.table.Register(cmd)
	o.scope.Register(s, cmd)
	o.filter.register(cmd)
	f := cmd.Flags()
	registerDialect(s, cmd, &o.Dialect, "words of another platform")
	f.BoolVarP(&o.watch, "watch", "w", false, "go on showing changes")
	return cmd
}

func get(ctx context.Context, s *session.Session, o *GetOptions, args []string) error {
	what := "workloads"
	if len(args) > 0 {
		if k, ok := session.KindsOfThings[strings.ToLower(args[0])]; ok {
			what, args = k, args[1:]
		}
	}
	if err := checkDialect(o.Dialect); err != nil {
		return err
	}
	q, err := o.filter.Query(s, o.scope)
	if err != nil {
		return err
	}
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	switch what {
	case "nodes":
		return admin.GetNodes(ctx, s, c, o.table, args)
	case "projects":
		return admin.GetProjects(ctx, s, c, session.ProjectWord, o.table, args)
	case "departments":
		return admin.GetProjects(ctx, s, c, session.DepartmentWord, o.table, args)
	case "pools":
		return admin.GetPools(ctx, s, c, o.table, args)
	case "licenses":
		return admin.GetLicenses(ctx, s, c, o.table, args)
	}
	if len(args) > 0 && !o.watch {
		return getNamed(ctx, s, c, o, args)
	}
	q = q.InDialect(o.Dialect)
	q.Options.Deleted = q.Options.Deleted || q.AsksDeleted(o.Dialect)
	l := &Listing{s: s, c: c, O: o, q: q}
	named, err := s.ResolveAll(ctx, c, o.scope, args, false)
	if err != nil {
		return err
	}
	for _, w := range named {
		l.ids = append(l.ids, w.ID)
	}
	if o.watch {
		return l.watch(ctx)
	}
	left := make(chan []string, 1)
	go func() { left <- l.left(ctx) }() // while the list comes
	ws, next, err := l.load(ctx)
	if err != nil {
		return err
	}
	if err := l.print(ws, next); err != nil {
		return err
	}
	l.hidden(ws, next, <-left)
	return nil
}

// getNamed prints the workloads named; one of them as itself, not as a list.
func getNamed(ctx context.Context, s *session.Session, c *client.Client, o *GetOptions, names []string) error {
	var ws []api.Workload
	if o.filter.deleted {
		var err error
		if ws, names, err = departed(ctx, c, o.scope, names); err != nil {
			return err
		}
	}
	var named []*api.Workload
	if len(names) > 0 {
		var err error
		if named, err = s.ResolveAll(ctx, c, o.scope, names, false); err != nil {
			return err
		}
	}
	for _, w := range named {
		ws = append(ws, *w)
	}
	if len(ws) == 1 && (len(names) == 0 || !session.IsGlob(names[0])) && (s.Format() == "json" || s.Format() == "yaml") {
		return s.Document(ws[0])
	}
	return (&Listing{s: s, c: c, O: o}).print(ws, "")
}

// departed are the workloads of these names that were deleted, and the names that
// are of none.
func departed(ctx context.Context, c *client.Client, sc session.Scope, names []string) (gone []api.Workload, others []string, err error) {
	for _, name := range names {
		list, err := c.Workloads(ctx, client.ListOptions{Project: sc.Project, Prefix: name, Deleted: true, Limit: 1000})
		if err != nil {
			return nil, nil, err
		}
		found := slices.DeleteFunc(list.Items, func(w api.Workload) bool {
			return w.Name != name || w.Phase != string(lifecycle.Deleting) && w.Phase != string(lifecycle.Deleted)
		})
		if gone = append(gone, found...); len(found) == 0 {
			others = append(others, name)
		}
	}
	return gone, others, nil
}

// Listing is a list of workloads that may be loaded again.
type Listing struct {
	s *session.Session
	c *client.Client
	O *GetOptions
	q query

	ids []string // only these; nil: what q says
}

func (l *Listing) print(ws []api.Workload, next string) error {
	m := l.s.Moments(l.O.table)
	if ws == nil {
		ws = []api.Workload{}
	}
	return session.Print(l.s, l.O.table, session.Table[api.Workload]{
		Columns: printers.WorkloadColumns(m, l.O.Dialect), Items: ws, Name: func(w api.Workload) string { return w.Name },
		Body: api.WorkloadList{Items: ws, Next: next},
	})
}

// watch prints the list, and again whenever something in it has changed: in
// place on a terminal, as further lines elsewhere.
func (l *Listing) watch(ctx context.Context) error {
	ws, next, err := l.load(ctx)
	if err != nil {
		return err
	}
	lines, versions := 0, map[string]int64{}
	show := func() error {
		if l.s.IO.OutTerminal && !l.s.Machine() {
			if lines > 0 {
				fmt.Fprintf(terminal.Bare(l.s.IO.Out), "\x1b[%dA\x1b[J", lines)
			}
			rows, more := ws, 0
			if most := l.s.IO.Height - 3; l.s.IO.Height > 0 && len(ws) > most { // what does not fit cannot be painted over
				rows, more = ws[:max(most, 1)], len(ws)-max(most, 1)
			}
			lines = len(rows) + 1
			if err := l.print(rows, next); err != nil || more == 0 {
				return err
			}
			lines++
			_, err := fmt.Fprintf(l.s.IO.Out, "… and %d more\n", more)
			return err
		}
		var changed []api.Workload
		for _, w := range ws {
			if versions[w.ID] != w.Version {
				changed = append(changed, w)
			}
			versions[w.ID] = w.Version
		}
		if l.s.Format() == "json" {
			l.s.Output = "jsonl"
		}
		err := l.print(changed, "")
		l.O.table.NoHeaders = true
		return err
	}
	after := int64(1)
	for _, w := range ws {
		after = max(after, w.Revision)
	}
	if err := show(); err != nil {
		return err
	}
	changes := l.changes(ctx, after)
	for range changes {
		// What comes in a burst is shown once.
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
		select {
		case <-changes:
		default:
		}
		if ws, next, err = l.load(ctx); err != nil {
			break
		}
		if err = show(); err != nil {
			break
		}
	}
	if ctx.Err() != nil {
		return session.ExitCode(session.ExitInterrupted)
	}
	return err
}

// changes says that something has changed, as often as the reader asks. It is
// closed when the watch ends.
func (l *Listing) changes(ctx context.Context, after int64) <-chan struct{} {
	out := make(chan struct{}, 1)
	go func() {
		defer close(out)
		o := client.WatchOptions{Project: l.q.Options.Project, After: after, Broken: func(err error, _ time.Duration) {
			l.s.Say("the server does not answer; trying again: %v", err)
		}}
		for _, err := range l.c.Watch(ctx, o) {
			if err != nil {
				return
			}
			select {
			case out <- struct{}{}:
			default:
			}
		}
	}()
	return out
}
