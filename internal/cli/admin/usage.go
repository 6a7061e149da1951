package admin

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/spec"
)

type usageOptions struct {
	table           session.TableFlags
	project, user   string
	by              []string
	from, since, to string
	every           string
}

// usageBy are what usage can be told apart by.
var usageBy = []string{"project", "user", "workload"}

// NewUsage makes the command usage.
func NewUsage(s *session.Session) *cobra.Command {
	o := &usageOptions{}
	cmd := &cobra.Command{
		Use:   "usage",
		Short: "GPU-hours, and what they cost, by project, user and workload",
		Long: `Shows the GPU time that was charged, of the last 30 days or of the span given.
Charged is the time from a task's placement until its devices were given back,
times the fraction of each device that it held.`,
		Example: `  muster usage
  muster usage --by user,workload --since 7d
  muster usage -p vision --every 24h -o csv`,
		Args: session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return showUsage(cmd.Context(), s, o) },
	}
	o.table.Register(cmd)
	f := cmd.Flags()
	f.StringVarP(&o.project, "project", "p", "", "only this project's")
	f.StringVarP(&o.user, "user", "u", "", "only this user's; @me is yourself")
	f.StringSliceVar(&o.by, "by", []string{"project"}, "what it is told apart by: "+strings.Join(usageBy, ", ")+"; several by comma")
	f.StringVar(&o.from, "from", "", "from then on: 7d, or an instant; default: 30 days ago")
	f.StringVar(&o.since, "since", "", "the same as --from")
	f.StringVar(&o.to, "to", "", "until then: 1d, or an instant; default: now")
	f.StringVar(&o.every, "every", "", "split by time, into spans of this length, like 24h")
	_ = cmd.RegisterFlagCompletionFunc("project", s.CompleteProjects)
	_ = cmd.RegisterFlagCompletionFunc("by", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return usageBy, cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

// query checks the flags.
func (o *usageOptions) query(s *session.Session) (client.UsageOptions, error) {
	q := client.UsageOptions{Project: o.project, User: o.user, By: o.by}
	for _, by := range o.by {
		if !slices.Contains(usageBy, by) {
			return q, session.UsageError(fmt.Sprintf("--by: %q is not known", by), "some of "+strings.Join(usageBy, ", "))
		}
	}
	if o.from != "" && o.since != "" {
		return q, session.UsageError("--from and --since are the same", "leave one of them out")
	}
	var err error
	if from := o.from + o.since; from != "" {
		if q.From, err = session.ParseWhen("from", from, s.Clock()); err != nil {
			return q, err
		}
	}
	if o.to != "" {
		if q.To, err = session.ParseWhen("to", o.to, s.Clock()); err != nil {
			return q, err
		}
	}
	if o.every != "" {
		d, err := spec.ParseDuration(o.every)
		if err != nil || d <= 0 {
			return q, session.UsageError(fmt.Sprintf("--every: %q is not a length of time", o.every), "like 1h or 24h")
		}
		q.Every = d.Std()
	}
	return q, nil
}

func showUsage(ctx context.Context, s *session.Session, o *usageOptions) error {
	q, err := o.query(s)
	if err != nil {
		return err
	}
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	if q.User == "@me" {
		q.User = s.Me()
	}
	list, err := c.Usage(ctx, q)
	if err != nil {
		return err
	}
	t := session.Table[api.Usage]{Columns: usageColumns(o, q.Every, list.Currency), Items: list.Items, Body: list, Name: usageName}
	if s.Format() == "table" || s.Format() == "wide" { // the sum is a line of the table, but not of the data
		t.Items = append(slices.Clone(list.Items), api.Usage{Project: "total", User: "total", Workload: "total", GPUSeconds: list.Total, Cost: list.Cost, Workloads: -1})
	}
	if err := session.Print(s, o.table, t); err != nil {
		return err
	}
	if !s.Machine() && s.Format() != "name" && s.Format() != "csv" {
		m := s.Moments(o.table)
		s.Say("From %s to %s", m.Instant(session.TimeOf(list.From)), m.Instant(session.TimeOf(list.To)))
	}
	return nil
}

func usageName(u api.Usage) string {
	var parts []string
	for _, p := range []string{u.Project, u.User, u.Workload} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, "/")
}

func usageColumns(o *usageOptions, every time.Duration, currency string) []session.Column[api.Usage] {
	var cols []session.Column[api.Usage]
	if every > 0 {
		cols = append(cols, session.Column[api.Usage]{Title: "FROM", Cell: func(u api.Usage) string {
			if u.Bucket == nil {
				return "total"
			}
			t := session.At(u.Bucket).Local()
			if o.table.Utc {
				t = t.UTC()
			}
			return t.Format("2006-01-02 15:04")
		}})
	}
	by := func(name string) bool {
		return slices.Contains(o.by, name) || name == "project" && slices.Contains(o.by, "workload") // names are unique in a project only
	}
	first := every == 0 // the sum is named in one column only
	add := func(title string, cell func(api.Usage) string) {
		named := first
		first = false
		cols = append(cols, session.Column[api.Usage]{Title: title, Cell: func(u api.Usage) string {
			if u.Workloads < 0 && !named {
				return ""
			}
			return printers.OrDash(cell(u))
		}})
	}
	if by("project") {
		add("PROJECT", func(u api.Usage) string { return u.Project })
	}
	if by("user") {
		add("USER", func(u api.Usage) string { return u.User })
	}
	if by("workload") {
		add("WORKLOAD", func(u api.Usage) string { return u.Workload })
	} else {
		cols = append(cols, session.Column[api.Usage]{Title: "WORKLOADS", Cell: func(u api.Usage) string {
			if u.Workloads < 0 {
				return ""
			}
			return strconv.Itoa(u.Workloads)
		}})
	}
	if currency != "" { // as in reports
		cols = append(cols, session.Column[api.Usage]{Title: "COST", Cell: func(u api.Usage) string { return fixed(u.Cost) + " " + currency }})
	}
	return append(cols,
		session.Column[api.Usage]{Title: "GPU-HOURS", Cell: func(u api.Usage) string { return strconv.FormatFloat(u.GPUSeconds/3600, 'f', 3, 64) }},
		session.Column[api.Usage]{Title: "GPU-SECONDS", Wide: true, Cell: func(u api.Usage) string { return printers.Number(u.GPUSeconds) }})
}
