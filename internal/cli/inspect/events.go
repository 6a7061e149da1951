package inspect

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// event is a transition with the name of its workload.
type event struct {
	api.Transition
	workload string
}

type eventsOptions struct {
	table   session.TableFlags
	scope   session.Scope
	dialect string
	all     bool
	follow  bool
	after   int64
	limit   int
}

// NewEvents makes the command events.
func NewEvents(s *session.Session) *cobra.Command {
	o := &eventsOptions{}
	cmd := &cobra.Command{
		Use:     "events [WORKLOAD]",
		Aliases: []string{"history", "transitions"},
		Short:   "Everything that happened to a workload, or to all",
		Example: `  muster events train-moons
  muster events -A -f -o jsonl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			args = session.DropNoun(args)
			if err := session.AtMostOne(cmd, args); err != nil {
				return err
			}
			if o.all && len(args) > 0 {
				return session.UsageError("--all contradicts a workload", "leave one of them out")
			}
			if err := checkDialect(o.dialect); err != nil {
				return err
			}
			return events(cmd.Context(), s, o, session.FirstName(args))
		},
	}
	cmd.ValidArgsFunction = s.CompleteNames
	o.scope.Register(s, cmd)
	o.table.Register(cmd)
	f := cmd.Flags()
	f.BoolVarP(&o.all, "all", "A", false, "of all workloads")
	f.BoolVarP(&o.follow, "follow", "f", false, "go on with what comes")
	f.Int64Var(&o.after, "after", 0, "only those with a greater seq")
	f.IntVar(&o.limit, "limit", 1000, "at most this many; 0: all")
	registerDialect(s, cmd, &o.dialect, "also the word of another platform for where each led")
	return cmd
}

func events(ctx context.Context, s *session.Session, o *eventsOptions, name string) error {
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	var w *api.Workload
	names := map[string]string{}
	if !o.all {
		if w, err = s.Resolve(ctx, c, o.scope, name); err != nil {
			return err
		}
	} else if !s.Machine() {
		if names, err = namesByID(ctx, c); err != nil {
			return err
		}
	}
	es, next, err := past(ctx, s, c, o, w, names)
	if err != nil {
		return err
	}
	if err := printEvents(s, o, es, next); err != nil || !o.follow {
		return err
	}
	o.table.NoHeaders = true
	if s.Format() == "json" {
		s.Output = "jsonl"
	}
	return followEvents(ctx, s, c, o, w, es)
}

// namesByID are the names of the workloads there are; histories carry ids.
func namesByID(ctx context.Context, c *client.Client) (map[string]string, error) {
	names, cursor := map[string]string{}, ""
	for {
		list, err := c.Workloads(ctx, client.ListOptions{Deleted: true, Summary: true, Limit: PageMost, Cursor: cursor})
		if err != nil {
			return nil, err
		}
		for _, w := range list.Items {
			names[w.ID] = w.Name
		}
		if cursor = list.Next; cursor == "" || len(names) >= 10*PageMost {
			return names, nil
		}
	}
}

// past reads the history, of all workloads when w is nil.
func past(ctx context.Context, s *session.Session, c *client.Client, o *eventsOptions, w *api.Workload, names map[string]string) ([]event, string, error) {
	var es []event
	after := o.after
	for {
		var list *api.TransitionList
		var err error
		if w == nil {
			list, err = c.Transitions(ctx, "", "", after, o.limit, o.dialect)
		} else {
			list, err = c.Transitions(ctx, w.Project, w.ID, after, o.limit, o.dialect)
		}
		if err != nil {
			return nil, "", err
		}
		for _, t := range list.Items {
			e := event{t, t.Workload}
			if n, ok := names[t.Workload]; ok {
				e.workload = n
			}
			es = append(es, e)
			after = t.Seq
		}
		if list.Next == "" || o.limit > 0 {
			return es, list.Next, nil
		}
	}
}

func printEvents(s *session.Session, o *eventsOptions, es []event, next string) error {
	list := api.TransitionList{Items: []api.Transition{}, Next: next}
	for _, e := range es {
		list.Items = append(list.Items, e.Transition)
	}
	return session.Print(s, o.table, session.Table[event]{
		Columns: transitionColumns(s.Moments(o.table), o.all, o.dialect), Items: es, Body: list,
		Name: func(e event) string { return strconv.FormatInt(e.Seq, 10) },
	})
}

// followEvents goes on with transitions as they come. After a lost connection
// it reads those that were missed.
func followEvents(ctx context.Context, s *session.Session, c *client.Client, o *eventsOptions, w *api.Workload, es []event) error {
	seen := o.after
	if len(es) > 0 {
		seen = es[len(es)-1].Seq
	}
	wo := client.WatchOptions{Broken: func(err error, _ time.Duration) { s.Say("the server does not answer; trying again: %v", err) }}
	if w != nil {
		wo.Name, wo.After = w.ID, w.Revision
	}
	names := map[string]string{}
	for e, err := range c.Watch(ctx, wo) {
		if err != nil {
			return err
		}
		var fresh []event
		if e.Synced {
			if fresh, _, err = past(ctx, s, c, &eventsOptions{after: seen, dialect: o.dialect}, w, names); err != nil {
				return err
			}
		} else {
			names[e.Workload.ID] = e.Workload.Name
			if fresh, err = news(ctx, s, c, o, e.Workload, seen); err != nil {
				return err
			}
		}
		fresh = slices.DeleteFunc(fresh, func(e event) bool { return e.Seq <= seen })
		for _, f := range fresh {
			seen = max(seen, f.Seq)
		}
		if len(fresh) == 0 {
			continue
		}
		if err := printEvents(s, o, fresh, ""); err != nil {
			return err
		}
	}
	return session.ExitCode(session.ExitInterrupted)
}

// news is what a change brings. A change has no words of other platforms: with
// a dialect the history is read for them.
func news(ctx context.Context, s *session.Session, c *client.Client, o *eventsOptions, w *api.Workload, seen int64) ([]event, error) {
	ts := w.Transitions
	if o.dialect != "" && o.dialect != session.NativeDialect && len(ts) > 0 {
		list, err := c.Transitions(ctx, w.Project, w.ID, seen, 0, o.dialect)
		if err != nil && !session.IsNotFound(err) { // it may have been deleted meanwhile
			return nil, err
		}
		if err == nil {
			ts = list.Items
		}
	}
	var fresh []event
	for _, t := range ts {
		t.Workload = w.ID
		fresh = append(fresh, event{t, w.Name})
	}
	return fresh, nil
}

// transitionColumns are the columns of `muster events`, with a dialect's word
// where one was asked for.
func transitionColumns(m session.Moments, names bool, dialect string) []session.Column[event] {
	cols := []session.Column[event]{
		{Title: "AT", Cell: func(e event) string { return m.Ago(time.Time(e.At)) }},
		{Title: "WORKLOAD", Cell: func(e event) string { return printers.OrDash(e.workload) }},
		{Title: "EVENT", Cell: func(e event) string { return e.Event }},
		{Title: "FROM", Cell: func(e event) string { return printers.OrDash(e.From) }},
		{Title: "TO", Cell: func(e event) string { return toOf(e.Transition) }, Tone: func(e event) session.Tone { return printers.ToneOf(e.To) }},
		{Title: "TRY", Cell: func(e event) string { return strconv.Itoa(e.Attempt) }},
		{Title: "ACTOR", Cell: func(e event) string { return e.Actor }},
		{Title: "REASON", Cell: func(e event) string { return printers.OrDash(e.Reason) }},
		{Title: "MESSAGE", Cell: func(e event) string { return printers.OrDash(e.Message) }},
	}
	if dialect != "" && dialect != session.NativeDialect {
		cols = slices.Insert(cols, 5, session.Column[event]{Title: "WORD", Cell: func(e event) string { return printers.OrDash(e.Word) }})
	}
	if !names {
		cols = append(cols[:1], cols[2:]...)
	}
	return cols
}

// toOf is where a transition leads, with the target where it is not the end.
func toOf(t api.Transition) string {
	if t.Target != "" && t.To == string(lifecycle.Terminating) {
		return t.To + "→" + t.Target
	}
	return t.To
}
