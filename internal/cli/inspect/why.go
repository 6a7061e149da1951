package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
)

// NewWhy makes the command why.
func NewWhy(s *session.Session) *cobra.Command {
	var sc session.Scope
	cmd := &cobra.Command{
		Use:   "why [WORKLOAD]",
		Short: "Why a workload waits, when it will start, or why it ended",
		Long: `Says everything that keeps a workload from starting, with the numbers and what
can be done about each; what was checked and is fine; who goes before it; when
it is expected to start, as a range, and how often such ranges were right; and
with which changes it would start now, each of which the scheduler has tried.
One that never fits exits with 6.`,
		Example: `  muster why eval-72b
  muster why eval-72b -o json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			args = session.DropNoun(args)
			if err := session.AtMostOne(cmd, args); err != nil {
				return err
			}
			return why(cmd.Context(), s, sc, session.FirstName(args))
		},
	}
	cmd.ValidArgsFunction = s.CompleteNames
	sc.Register(s, cmd)
	return cmd
}

func why(ctx context.Context, s *session.Session, sc session.Scope, name string) error {
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	w, err := s.Resolve(ctx, c, sc, name)
	if err != nil {
		return err
	}
	y, err := c.Why(ctx, w.Project, w.ID)
	if err != nil {
		return err
	}
	if s.Machine() {
		if err := s.Document(y); err != nil {
			return err
		}
		return session.ExitCode(neverFits(y.Reasons))
	}
	var b strings.Builder
	since := session.Age(s.Clock().Sub(session.TimeOf(y.Since)))
	if y.Waits {
		whyWaits(s, &b, w, y, since)
	} else {
		whyNot(s, &b, w, since)
		deadlineLine(s, &b, y.Deadline, s.Moments(session.TableFlags{}))
	}
	if _, err := fmt.Fprint(s.IO.Out, b.String()); err != nil {
		return err
	}
	return session.ExitCode(neverFits(y.Reasons))
}

// neverFits is the exit code of a workload that can never start as written.
func neverFits(reasons []api.PendingReason) int {
	for _, r := range reasons {
		if r.Token == "NeverFits" {
			return session.ExitUnschedulable
		}
	}
	return session.ExitOK
}

// whyNot tells of a workload that does not wait for anything.
func whyNot(s *session.Session, b *strings.Builder, w *api.Workload, since string) {
	fmt.Fprintf(b, "%s %s for %s", w.Name, s.Paint(s.IO.OutTerminal, printers.ToneOf(w.Phase), printers.PhaseWord(w)), since)
	switch r := printers.Why(w); {
	case r != "":
		fmt.Fprintf(b, ": %s", r)
	case w.Phase == "Running":
		b.WriteString(": it runs")
	}
	b.WriteByte('\n')
	if w.Message != "" {
		fmt.Fprintf(b, "  %s\n", w.Message)
	}
	a := printers.LastAttempt(w)
	if a == nil {
		return
	}
	if a.Culprit != nil && printers.Ended(w) {
		fmt.Fprintf(b, "  task %d failed first; muster logs %s --task %d --tail 20\n", *a.Culprit, w.Name, *a.Culprit)
	}
}

// whyWaits tells of one that does.
func whyWaits(s *session.Session, b *strings.Builder, w *api.Workload, y *api.Why, since string) {
	m := s.Moments(session.TableFlags{})
	fmt.Fprintf(b, "%s %s for %s", w.Name, s.Paint(s.IO.OutTerminal, printers.ToneOf(y.Phase), y.Phase), since)
	if y.Running > 0 {
		fmt.Fprintf(b, " · %d of its %s run, the others wait", y.Running, session.Plural(w.Tasks.Total, "task"))
	} else if y.Position > 0 {
		fmt.Fprintf(b, " · %s of %d in queue %q", Ordinal(y.Position), max(y.Waiting, y.Position), y.Project)
	}
	if a := asked(w, printers.DocOf(w)); a != "" {
		fmt.Fprintf(b, " · needs %s", a)
	}
	b.WriteByte('\n')
	forecast(s, b, &y.Forecast, m)
	deadlineLine(s, b, y.Deadline, m)
	fmt.Fprintf(b, "Evaluated       %s ago, at %s\n", session.Age(m.Now.Sub(session.TimeOf(y.EvaluatedAt))), session.TimeOf(y.EvaluatedAt).Local().Format("15:04:05"))
}

// forecast prints what stands in the way, what does not, and what to expect.
// The workloads that hold the missing resources are listed only where it is unknown which of them will end first.
func forecast(s *session.Session, b *strings.Builder, o *api.Forecast, m session.Moments) {
	for _, r := range o.Reasons {
		fmt.Fprintf(b, " %s %-20s %s\n", s.Paint(s.IO.OutTerminal, session.ToneBad, "✗"), r.Token, r.Message)
		if r.Hint != "" && r.Hint != "wait" {
			fmt.Fprintf(b, "   %-20s %s\n", "", s.Paint(s.IO.OutTerminal, session.ToneDim, "→ "+r.Hint))
		}
	}
	if fine := checked(o.Checked); fine != "" {
		fmt.Fprintf(b, " %s %s\n", s.Paint(s.IO.OutTerminal, session.ToneGood, "✓"), fine)
	}
	if len(o.Ahead) > 0 {
		fmt.Fprintf(b, "Ahead of it     %s%s\n", strings.Join(each(o.Ahead, func(n api.RelatedWorkload) string { return ahead(n, m) }), " · "), more(o.Position-1-len(o.Ahead)))
	}
	if len(o.Frees) > 0 {
		fmt.Fprintf(b, "Makes room      %s\n", strings.Join(each(o.Frees, func(n api.RelatedWorkload) string { return frees(n, m) }), " · "))
	}
	if len(o.Frees) == 0 && len(o.Holders) > 0 {
		fmt.Fprintf(b, "Held by         %s\n", holders(o.Holders, m))
	}
	expected(s, b, o.Estimate, m)
	for i, f := range o.Suggestions {
		title := ""
		if i == 0 {
			title = "Would start now if:"
		}
		fmt.Fprintf(b, "%-19s %s%s\n", title, f.Flags, offered(f))
	}
}

// terse are the checks of which the name says enough.
var terse = []string{"queue", "priority", "limits", "size", "gpu", "cpu", "memory"}

// checked is what is fine: names, then what has a note worth reading.
func checked(all []api.Checked) string {
	var names, noted []string
	for _, c := range all {
		if c.Note == "" || slices.Contains(terse, c.What) {
			names = append(names, c.What)
		} else {
			noted = append(noted, c.What+" ("+c.Note+")")
		}
	}
	if len(names)+len(noted) == 0 {
		return ""
	}
	return strings.Join(append(names, noted...), ", ") + " fine"
}

func each[T any](all []T, word func(T) string) []string {
	out := make([]string, len(all))
	for i, v := range all {
		out[i] = word(v)
	}
	return out
}

// Ordinal is 1st, 2nd, 3rd, 4th.
func Ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}

func gpusOf(n api.RelatedWorkload) string {
	if n.GPUs == 0 {
		return "no GPU"
	}
	if n.GPUs == 1 {
		return "1 GPU"
	}
	if n.GPUs < 1 {
		return strconv.FormatFloat(n.GPUs, 'f', -1, 64) + " GPU"
	}
	return strconv.FormatFloat(n.GPUs, 'f', -1, 64) + " GPUs"
}

// ahead is one that goes before it.
func ahead(n api.RelatedWorkload, m session.Moments) string {
	if n.Start == nil {
		return fmt.Sprintf("%s (needs %s)", seen(n), gpusOf(n))
	}
	return fmt.Sprintf("%s (needs %s, starts ~%s)", seen(n), gpusOf(n), m.ClockTime(session.At(n.Start)))
}

// seen is the name of a workload, or what stands in its place where one may not see it.
func seen(n api.RelatedWorkload) string {
	return cmp.Or(n.Name, "work that you may not see")
}

// frees describes a workload whose end makes room.
func frees(n api.RelatedWorkload, m session.Moments) string {
	out := fmt.Sprintf("%s (frees %s ~%s", seen(n), gpusOf(n), m.ClockTime(session.At(n.End)))
	if n.Early != nil && n.Late != nil {
		if d := session.At(n.Late).Sub(session.At(n.Early)) / 2; d >= time.Minute {
			out += " ±" + session.Age(d)
		}
	}
	return out + ")"
}

// offered is what follows an offer's flags.
func offered(f api.Suggestion) string {
	if len(f.Displaces) == 0 {
		if f.Now {
			return ""
		}
		return "   once its place is free"
	}
	return "   displaces " + displaced(f.Displaces)
}

func displaced(all []api.RelatedWorkload) string {
	const shown = 5
	names := each(all[:min(len(all), shown)], func(n api.RelatedWorkload) string {
		if n.Name == "" {
			return fmt.Sprintf("%s (%s)", seen(n), gpusOf(n))
		}
		return fmt.Sprintf("%s (%s, project %s, %s)", n.Name, gpusOf(n), n.Project, n.User)
	})
	return strings.Join(names, ", ") + more(len(all)-shown)
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

// holdersShown is how many workloads that hold what is missing are named.
const holdersShown = 3

// holders names those who hold what is missing.
func holders(all []api.RelatedWorkload, m session.Moments) string {
	out := each(all[:min(len(all), holdersShown)], func(n api.RelatedWorkload) string {
		what := session.Plural(n.Tasks, "task")
		if n.GPUs > 0 {
			what = gpusOf(n)
		}
		since := session.Age(m.Now.Sub(session.At(n.Since)))
		if n.Name == "" {
			return fmt.Sprintf("%s (%s, for %s)", seen(n), what, since)
		}
		return fmt.Sprintf("%s (%s, %s, for %s)", n.Name, n.User, what, since)
	})
	return strings.Join(out, " · ") + more(len(all)-holdersShown)
}
