package submit

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/document"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/spec"
)

func newScheduleList(s *session.Session) *cobra.Command {
	var table session.TableFlags
	var sc session.Scope
	var all bool
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls", "get"}, Short: "List the schedules of a project", Args: session.NoArgs, Example: "  muster schedule list\n  muster schedule list -A",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			project := document.TemplateProject(sc.Project)
			if all {
				project = ""
			}
			list, err := c.Schedules.List(cmd.Context(), project)
			if err != nil {
				return err
			}
			return printSchedules(s, table, list)
		},
	}
	sc.Register(s, cmd)
	table.Register(cmd)
	cmd.Flags().BoolVarP(&all, "all", "A", false, "those of every project")
	return cmd
}

func printSchedules(s *session.Session, f session.TableFlags, list *api.ScheduleList) error {
	m := s.Moments(f)
	return session.Print(s, f, session.Table[api.Schedule]{
		Items: list.Items, Name: func(r api.Schedule) string { return r.Name }, Body: list,
		Columns: []session.Column[api.Schedule]{
			{Title: "NAME", Cell: func(r api.Schedule) string { return r.Name }},
			{Title: "PROJECT", Cell: func(r api.Schedule) string { return r.Project }},
			{Title: "CRON", Cell: func(r api.Schedule) string { return r.Cron }},
			{Title: "ZONE", Cell: func(r api.Schedule) string { return r.TimeZone }},
			{Title: "STATE", Cell: stateOf, Tone: func(r api.Schedule) session.Tone {
				switch {
				case r.Suspended:
					return session.ToneDim
				case troubled(r):
					return session.ToneWait
				}
				return session.ToneGood
			}},
			{Title: "LAST", Cell: func(r api.Schedule) string {
				if r.Last == nil {
					return "-"
				}
				return m.Ago(session.TimeOf(*r.Last))
			}},
			{Title: "NEXT", Cell: func(r api.Schedule) string {
				if len(r.Next) == 0 {
					return "-"
				}
				if m.Absolute {
					return m.Instant(session.TimeOf(r.Next[0]))
				}
				return "in " + session.Age(session.TimeOf(r.Next[0]).Sub(m.Now))
			}},
			{Title: "ACTIVE", Cell: func(r api.Schedule) string { return fmt.Sprint(len(activeRuns(r))) }},
			{Title: "USER", Wide: true, Cell: func(r api.Schedule) string { return r.User }},
			{Title: "CONCURRENCY", Wide: true, Cell: func(r api.Schedule) string { return r.Concurrency }},
			{Title: "DESCRIPTION", Wide: true, Cell: func(r api.Schedule) string { return printers.OrDash(r.Description) }},
		},
	})
}

// stateOf is how a schedule fares, in a word.
func stateOf(r api.Schedule) string {
	switch {
	case r.Suspended:
		return "suspended"
	case troubled(r):
		return strings.ToLower(r.Events[len(r.Events)-1].What)
	}
	return "active"
}

// troubled reports whether the last of its times had no run.
func troubled(r api.Schedule) bool {
	if len(r.Events) == 0 {
		return false
	}
	last := r.Events[len(r.Events)-1]
	return last.What != "Replaced" && (r.Last == nil || session.TimeOf(last.Due).After(session.TimeOf(*r.Last)))
}

func activeRuns(r api.Schedule) (out []api.ScheduledRun) {
	for _, run := range r.Runs {
		if run.EndedAt == nil {
			out = append(out, run)
		}
	}
	return out
}

func newScheduleDescribe(s *session.Session) *cobra.Command {
	var sc session.Scope
	var f session.TableFlags
	cmd := &cobra.Command{
		Use: "describe SCHEDULE", Aliases: []string{"show"}, Short: "Show a schedule: its next times, its runs, and what has become of times without one", Example: "  muster schedule describe report\n  muster schedule describe report -o yaml",
		Args: session.OneName("schedule"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := s.Connect(cmd.Context())
			if err != nil {
				return err
			}
			r, err := c.Schedules.Get(cmd.Context(), document.TemplateProject(sc.Project), args[0])
			if err != nil {
				return err
			}
			if shown, err := s.Brief(r, r.Name); shown {
				return err
			}
			return describeSchedule(s, r, s.Moments(f))
		},
		ValidArgsFunction: completeSchedules(s),
	}
	sc.Register(s, cmd)
	f.Register(cmd)
	return cmd
}

func describeSchedule(s *session.Session, r *api.Schedule, m session.Moments) error {
	g := session.Grid{Whole: true}
	line := func(title, text string) {
		if text != "" {
			g.Line(title, text)
		}
	}
	line("Schedule", r.Name)
	line("Project", r.Project)
	line("State", stateOf(*r))
	line("Description", r.Description)
	line("Cron", r.Cron)
	line("Time zone", r.TimeZone)
	line("Concurrency", r.Concurrency)
	line("Starts within", r.StartingDeadline)
	line("Keeps", fmt.Sprintf("%d completed, %d that ended otherwise", *r.KeepCompleted, *r.KeepFailed))
	line("User", r.User)
	if r.Last != nil {
		line("Last", inZone(*r.Last, r.TimeZone))
	}
	for i, at := range r.Next {
		title := ""
		if i == 0 {
			title = "Next"
		}
		line(title, inZone(at, r.TimeZone))
	}
	if err := s.Grid(g); err != nil {
		return err
	}
	if err := printRuns(s, r, m); err != nil {
		return err
	}
	data, err := json.Marshal(r.Document)
	if err != nil {
		return err
	}
	doc, err := spec.Parse(data)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.IO.Out, "\nDocument\n%s", spec.YAML(doc))
	return err
}

// printRuns prints the runs, newest first, and the events.
func printRuns(s *session.Session, r *api.Schedule, m session.Moments) error {
	if len(r.Runs) > 0 {
		if _, err := fmt.Fprintln(s.IO.Out, "\nRuns"); err != nil {
			return err
		}
		g := session.Grid{}
		for i := len(r.Runs) - 1; i >= 0; i-- {
			run := r.Runs[i]
			due := "asked for"
			if run.Due != nil {
				due = inZone(*run.Due, r.TimeZone)
			}
			g.Rows = append(g.Rows, []session.Cell{{Text: "  " + run.Name}, {Text: run.Phase, Tone: printers.ToneOf(run.Phase)}, {Text: due}})
		}
		if err := s.Grid(g); err != nil {
			return err
		}
	}
	if len(r.Events) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(s.IO.Out, "\nEvents"); err != nil {
		return err
	}
	for _, e := range r.Events {
		often := ""
		if e.Count > 1 {
			often = fmt.Sprintf(" (%d times in a row)", e.Count)
		}
		if _, err := fmt.Fprintf(s.IO.Out, "  %s  %s%s: %s\n", inZone(e.Due, r.TimeZone), e.What, often, e.Message); err != nil {
			return err
		}
	}
	return nil
}

// inZone is an instant by the clocks of a zone; in UTC where this machine does not know
// it.
func inZone(at api.Time, zone string) string {
	z, err := time.LoadLocation(zone)
	if err != nil {
		z = time.UTC
	}
	return session.TimeOf(at).In(z).Format("2006-01-02 15:04 MST")
}
