package reports

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
)

// lastWeek is the week of --week where none is named.
const lastWeek = "last"

// week is a week of the calendar, from Monday on, in the time of this machine.
type week struct {
	name     string // 2026-W47
	from, to time.Time
}

// weekOf reads the name of a week: last, this, or 2026-W47 as ISO 8601 counts them.
func weekOf(text string, now time.Time) (week, error) {
	day := func(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location()) }
	monday := func(t time.Time) time.Time { return day(t.AddDate(0, 0, -(int(t.Weekday())+6)%7)) }
	from := monday(now)
	switch text {
	case "this":
	case lastWeek:
		from = monday(from.AddDate(0, 0, -7))
	default:
		y, n, ok := strings.Cut(text, "-W")
		year, bad := strconv.Atoi(y)
		number, worse := strconv.Atoi(n)
		if ok && bad == nil && worse == nil && year > 1970 && year < 10000 {
			from = monday(time.Date(year, 1, 4, 0, 0, 0, 0, now.Location())).AddDate(0, 0, 7*(number-1)) // the 4th of January is in the first
		}
		if is, at := from.ISOWeek(); !ok || bad != nil || worse != nil || is != year || at != number {
			return week{}, session.UsageError(fmt.Sprintf("--week: %q is not a week", text), "write last, this, or one like 2026-W47")
		}
	}
	year, number := from.ISOWeek()
	return week{fmt.Sprintf("%d-W%02d", year, number), from, day(from.AddDate(0, 0, 7))}, nil
}

// showWeek prints the report of a week as a text that can be read by itself, and mailed.
func showWeek(ctx context.Context, s *session.Session, t session.TableFlags, w week, q client.ReportOptions) error {
	q.From, q.To = w.from, w.to
	if f := s.Format(); f != "table" && f != "wide" {
		return showReport(ctx, s, t, q)
	}
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	r, err := c.Report(ctx, q)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(s.IO.Out, weekText(w, q, r))
	return err
}

func weekText(w week, q client.ReportOptions, r *api.UsageReport) string {
	var b strings.Builder
	of := "all that you may see"
	switch {
	case q.Project != "" && q.User != "":
		of = q.User + " in " + q.Project
	case q.Project+q.User != "":
		of = q.Project + q.User
	}
	last := w.to.AddDate(0, 0, -1)
	fmt.Fprintf(&b, "Muster, week %s (%s to %s): %s\n", w.name, w.from.Format("Mon 2 Jan 2006"), last.Format("Mon 2 Jan 2006"), of)
	t := &r.Total
	money := func(cost float64) string {
		if r.Currency == "" {
			return ""
		}
		return ", " + fixed(cost) + " " + r.Currency
	}
	fmt.Fprintf(&b, "\nRan      %d workloads, %s GPU-hours%s\n", t.Workloads, fixed(t.GPUHours), money(t.Cost))
	fmt.Fprintf(&b, "Ended    %s\n", endsOf(*t))
	fmt.Fprintf(&b, "Wasted   %s GPU-hours failed, %s had to be given up for others, %s idle\n", fixed(t.Lost-t.Displaced), fixed(t.Displaced), fixed(t.Idle))
	length := func(seconds float64) string { return (time.Duration(seconds) * time.Second).String() }
	if t.Waits > 0 {
		fmt.Fprintf(&b, "Waited   %s before a start, on average; 95 of 100 starts %s or less\n", length(t.MeanWait), length(t.Wait95))
	} else {
		b.WriteString("Waited   nothing was started\n")
	}
	sum := 0.0
	for _, x := range r.Waited {
		sum += x.Hours
	}
	var rows [][]string
	for _, x := range r.Waited {
		rows = append(rows, []string{x.Reason, fixed(x.Hours) + " h", fmt.Sprintf("%.0f %%", 100*x.Hours/max(sum, 1e-9))})
	}
	table(&b, "Why it waited, in hours of all workloads together", rows)
	rows = nil
	for _, x := range r.Items {
		rows = append(rows, []string{printers.OrDash(strings.Join(strings.Fields(strings.Join([]string{x.Department, x.Project, x.Pool, x.User, x.GPUType}, " ")), " ")), fixed(x.GPUHours) + " GPU-hours" + money(x.Cost), fixed(x.Lost) + " lost", fixed(x.Idle) + " idle", endsOf(x)})
	}
	table(&b, "By "+strings.Join(r.By, ", "), rows)
	rows = nil
	for _, x := range r.Largest {
		rows = append(rows, []string{x.Project + "/" + x.Name, x.User, fixed(x.GPUHours) + " GPU-hours" + money(x.Cost), x.Phase})
	}
	table(&b, "What ran most", rows)
	for i, text := range r.Missing {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "Not known: %s\n", text)
	}
	return b.String()
}

// table writes rows under a head, each column as wide as its widest cell; nothing where
// there are none.
func table(b *strings.Builder, head string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	var wide []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(wide) {
				wide = append(wide, 0)
			}
			wide[i] = max(wide[i], len([]rune(cell)))
		}
	}
	fmt.Fprintf(b, "\n%s\n", head)
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			line += "  " + cell + strings.Repeat(" ", wide[i]-len([]rune(cell)))
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// knownBy reports the first of what a report cannot be told apart by; empty: it can.
func knownBy(by []string) error {
	for _, b := range by {
		if !slices.Contains(reportBy, b) {
			return session.UsageError(fmt.Sprintf("--by: %q is not known", b), "some of "+strings.Join(reportBy, ", "))
		}
	}
	return nil
}
