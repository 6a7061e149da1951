// Package reports is the command that tells what was used, what waited and what it cost.
package reports

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
)

// reportBy are what a report can be told apart by.
var reportBy = []string{"department", "project", "pool", "user", "gpu-type"}

// NewReport makes the command report.
func NewReport(s *session.Session) *cobra.Command {
	var t session.TableFlags
	var by []string
	var from, to, project, user, name string
	cmd := &cobra.Command{
		Use: "report", Short: "GPU-hours, cost, waits, waste and ends by department, project, pool, user and type of GPU",
		Long: `Shows what was used in the last 30 days, or in the time given: GPU-hours that were
charged, what they cost at the prices that held, for how long work waited (the
mean, and so long or less 95 of 100 waited), what was lost with attempts that
failed or had to leave, what was seen idle in the last day, and how workloads
ended. A workload that had GPUs of several pools or types counts in each.
With --week it is a text of one week that can be mailed: what ran, what waited and
why, what was wasted, what it cost.`,
		Example: `  muster report
  muster report --by department,user --from 2026-11-01 --to 2026-12-01
  muster report --by gpu-type -o csv > november.csv
  muster report --week | mail -s "Last week" team@example.org
  muster report --week=2026-W47 --by user --project vision`,
		Args: session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := client.ReportOptions{By: by, Project: project, User: user}
			err := knownBy(by)
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("week") {
				if from+to != "" {
					return session.UsageError("--week goes with neither --from nor --to", "a week has both ends")
				}
				w, err := weekOf(name, s.Clock().Local())
				if err != nil {
					return err
				}
				return showWeek(cmd.Context(), s, t, w, q)
			}
			if from != "" {
				if q.From, err = session.ParseWhen("from", from, s.Clock()); err != nil {
					return err
				}
			}
			if to != "" {
				if q.To, err = session.ParseWhen("to", to, s.Clock()); err != nil {
					return err
				}
			}
			return showReport(cmd.Context(), s, t, q)
		},
	}
	t.Register(cmd)
	f := cmd.Flags()
	f.StringSliceVar(&by, "by", []string{"project"}, "what it is told apart by: "+strings.Join(reportBy, ", ")+"; several by comma")
	f.StringVar(&from, "from", "", "from then on: 7d, or an instant; default: 30 days ago")
	f.StringVar(&to, "to", "", "until then: 1d, or an instant; default: now")
	f.StringVar(&name, "week", "", "as a text, of one week: last, this, or one like 2026-W47")
	f.Lookup("week").NoOptDefVal = lastWeek
	f.StringVarP(&project, "project", "p", "", "only of this project or department")
	f.StringVar(&user, "user", "", "only of this user")
	_ = cmd.RegisterFlagCompletionFunc("by", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return reportBy, cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

func showReport(ctx context.Context, s *session.Session, t session.TableFlags, q client.ReportOptions) error {
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	r, err := c.Report(ctx, q)
	if err != nil {
		return err
	}
	items := r.Items
	if s.Format() == "table" || s.Format() == "wide" { // the sum is a line of the table, but not of the data
		total := r.Total
		total.Department, total.Project, total.Pool, total.User, total.GPUType = "total", "total", "total", "total", "total"
		items = append(slices.Clone(items), total)
	}
	if err := session.Print(s, t, session.Table[api.ReportRow]{Items: items, Body: r, Columns: reportColumns(r), Name: func(x api.ReportRow) string {
		return strings.Trim(strings.Join([]string{x.Department, x.Project, x.Pool, x.User, x.GPUType}, "/"), "/")
	}}); err != nil {
		return err
	}
	if !s.Machine() && s.Format() != "name" && s.Format() != "csv" {
		m := s.Moments(t)
		s.Say("From %s to %s", m.Instant(session.TimeOf(r.From)), m.Instant(session.TimeOf(r.To)))
		for _, text := range r.Missing {
			s.Say("%s", text)
		}
	}
	return nil
}

func reportColumns(r *api.UsageReport) []session.Column[api.ReportRow] {
	var cols []session.Column[api.ReportRow]
	of := map[string]func(api.ReportRow) string{
		"department": func(x api.ReportRow) string { return x.Department }, "project": func(x api.ReportRow) string { return x.Project }, "pool": func(x api.ReportRow) string { return x.Pool },
		"user": func(x api.ReportRow) string { return x.User }, "gpu-type": func(x api.ReportRow) string { return x.GPUType },
	}
	for _, by := range r.By {
		cell := of[by]
		cols = append(cols, session.Column[api.ReportRow]{Title: strings.ToUpper(by), Cell: func(x api.ReportRow) string { return printers.OrDash(cell(x)) }})
	}
	seconds := func(n float64) string { return (time.Duration(n) * time.Second).String() }
	if s := r.Currency; s != "" {
		cols = append(cols, session.Column[api.ReportRow]{Title: "COST", Cell: func(x api.ReportRow) string { return fixed(x.Cost) + " " + s }})
	}
	return append(cols,
		session.Column[api.ReportRow]{Title: "GPU-HOURS", Cell: func(x api.ReportRow) string { return fixed(x.GPUHours) }},
		session.Column[api.ReportRow]{Title: "LOST", Cell: func(x api.ReportRow) string { return fixed(x.Lost) }},
		session.Column[api.ReportRow]{Title: "IDLE", Cell: func(x api.ReportRow) string { return fixed(x.Idle) }},
		session.Column[api.ReportRow]{Title: "WORKLOADS", Cell: func(x api.ReportRow) string { return strconv.Itoa(x.Workloads) }},
		session.Column[api.ReportRow]{Title: "WAIT", Cell: func(x api.ReportRow) string { return seconds(x.MeanWait) }},
		session.Column[api.ReportRow]{Title: "WAIT-95", Cell: func(x api.ReportRow) string { return seconds(x.Wait95) }},
		session.Column[api.ReportRow]{Title: "ENDS", Cell: endsOf})
}

// endsOf is how workloads ended, the most first.
func endsOf(x api.ReportRow) string {
	words := slices.SortedFunc(maps.Keys(x.Ends), func(a, b string) int { return cmp.Or(cmp.Compare(x.Ends[b], x.Ends[a]), strings.Compare(a, b)) })
	for i, w := range words {
		words[i] = fmt.Sprintf("%d %s", x.Ends[w], w)
	}
	return printers.OrDash(strings.Join(words, ", "))
}

// fixed is a number with two places.
func fixed(n float64) string { return strconv.FormatFloat(n, 'f', 2, 64) }
