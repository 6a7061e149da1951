// Package reports is the command that tells what was used, what waited and what it cost.
package reports

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/weekly"
)

// reportBy are what a report can be told apart by.
var reportBy = []string{"department", "project", "pool", "user", "gpu-type"}

// NewReport makes the command report.
func NewReport(s *session.Session) *cobra.Command {
	var t session.TableFlags
	var by []string
	var from, to, project, user, name string
	var mail mailing
	cmd := &cobra.Command{
		Use: "report", Short: "GPU-hours, cost, waits, waste and ends by department, project, pool, user and type of GPU",
		Long: `Shows what was used in the last 30 days, or in the time given: GPU-hours that were
charged, what they cost at the prices that held, for how long work waited (the
mean, and so long or less 95 of 100 waited), what was lost with attempts that
failed or had to leave, what was seen idle in the last day, and how workloads
ended. A workload that had GPUs of several pools or types counts in each.
With --week it is a text of one week: what ran, what waited and why, what was
wasted, what it cost. With --mail the server mails it, as text and HTML, and with
--mondays it does so each Monday: what you may see at that time, and no more.
The server has to be able to: muster server --smtp-server.`,
		Example: `  muster report
  muster report --by department,user --from 2026-11-01 --to 2026-12-01
  muster report --by gpu-type -o csv > november.csv
  muster report --week --mail team@example.org
  muster report --week --mail team@example.org --mondays --project vision
  muster report --mails
  muster report --end-mail 3f9a62d1c07b4e58
  muster report --week=2026-W47 --by user --project vision`,
		Args: session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := client.ReportOptions{By: by, Project: project, User: user}
			err := knownBy(by)
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("week") && mail.to != "" {
				return session.UsageError("--mail goes with --week", "muster report --week --mail ADDRESS")
			}
			if mail.asked() {
				if from+to != "" || cmd.Flags().Changed("by") {
					return session.UsageError("--mail goes with none of --from, --to and --by", "what is mailed is a week, by project, or of one project by person")
				}
				mail.project, mail.user, mail.byWeek = project, user, name
				return mail.do(cmd.Context(), s, t)
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
	f.Lookup("week").NoOptDefVal = weekly.Last
	f.StringVar(&mail.to, "mail", "", "with --week: have the server mail it to this address")
	f.BoolVar(&mail.mondays, "mondays", false, "with --mail: each Monday, of the week before, until it is ended")
	f.StringVar(&mail.zone, "zone", "", "with --mondays: in which weeks begin, like Europe/Berlin; by default the server's")
	f.BoolVar(&mail.list, "mails", false, "list who has reports mailed each Monday")
	f.StringVar(&mail.end, "end-mail", "", "end the one with this ID")
	cmd.MarkFlagsMutuallyExclusive("mail", "mails", "end-mail")
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
		cols = append(cols, session.Column[api.ReportRow]{Title: "COST", Cell: func(x api.ReportRow) string { return weekly.Fixed(x.Cost) + " " + s }})
	}
	return append(cols,
		session.Column[api.ReportRow]{Title: "GPU-HOURS", Cell: func(x api.ReportRow) string { return weekly.Fixed(x.GPUHours) }},
		session.Column[api.ReportRow]{Title: "LOST", Cell: func(x api.ReportRow) string { return weekly.Fixed(x.Lost) }},
		session.Column[api.ReportRow]{Title: "IDLE", Cell: func(x api.ReportRow) string { return weekly.Fixed(x.Idle) }},
		session.Column[api.ReportRow]{Title: "WORKLOADS", Cell: func(x api.ReportRow) string { return strconv.Itoa(x.Workloads) }},
		session.Column[api.ReportRow]{Title: "WAIT", Cell: func(x api.ReportRow) string { return seconds(x.MeanWait) }},
		session.Column[api.ReportRow]{Title: "WAIT-95", Cell: func(x api.ReportRow) string { return seconds(x.Wait95) }},
		session.Column[api.ReportRow]{Title: "ENDS", Cell: func(x api.ReportRow) string { return weekly.EndsOf(&x) }})
}
