package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
)

func newWhy(s *session) *cobra.Command {
	var sc scope
	cmd := &cobra.Command{
		Use:   "why [WORKLOAD]",
		Short: "Why a workload waits, or why it ended",
		Long: `Says everything that keeps a workload from starting, with the numbers, who goes
before it and when it may start. One that never fits exits with 6.`,
		Example: "  muster why eval-72b",
		RunE: func(cmd *cobra.Command, args []string) error {
			args = dropNoun(args)
			if err := atMostOne(cmd, args); err != nil {
				return err
			}
			return s.why(cmd.Context(), sc, first(args))
		},
	}
	cmd.ValidArgsFunction = s.completeNames
	sc.register(s, cmd)
	return cmd
}

func (s *session) why(ctx context.Context, sc scope, name string) error {
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	w, err := s.resolve(ctx, c, sc, name)
	if err != nil {
		return err
	}
	if s.machine() {
		var body any = w.Pending
		if w.Pending == nil {
			body = map[string]any{"phase": w.Phase, "reason": w.Reason, "message": w.Message}
		}
		if err := s.document(body); err != nil {
			return err
		}
		return silent(neverFits(w))
	}
	var b strings.Builder
	m := s.moments(tableFlags{})
	since := age(m.now.Sub(timeOf(w.Since)))
	if w.Pending == nil {
		s.whyNot(&b, w, since)
	} else {
		s.whyPending(ctx, &b, c, w, since)
	}
	if _, err := fmt.Fprint(s.io.Out, b.String()); err != nil {
		return err
	}
	return silent(neverFits(w))
}

// neverFits is the exit code of a workload that can never start as written.
func neverFits(w *api.Workload) int {
	if w.Pending != nil {
		for _, r := range w.Pending.Reasons {
			if r.Token == "NeverFits" {
				return exitUnschedulable
			}
		}
	}
	return exitOK
}

// whyNot tells of a workload that does not wait for a place.
func (s *session) whyNot(b *strings.Builder, w *api.Workload, since string) {
	fmt.Fprintf(b, "%s %s for %s", w.Name, s.paint(s.io.OutTerminal, toneOf(w.Phase), phaseWord(w)), since)
	if r := why(w); r != "" {
		fmt.Fprintf(b, ": %s", r)
	}
	b.WriteByte('\n')
	if w.Message != "" {
		fmt.Fprintf(b, "  %s\n", w.Message)
	}
	a := lastAttempt(w)
	if a == nil {
		return
	}
	for _, t := range a.Tasks {
		if t.State == "starting" && t.Waiting != "" {
			fmt.Fprintf(b, "  %s %d on %s: %s %s\n", t.Role, t.Index, t.Node, t.Waiting, t.Message)
		}
	}
	if a.Culprit != nil && ended(w) {
		fmt.Fprintf(b, "  task %d failed first; muster logs %s --task %d --tail 20\n", *a.Culprit, w.Name, *a.Culprit)
	}
}

func (s *session) whyPending(ctx context.Context, b *strings.Builder, c *client.Client, w *api.Workload, since string) {
	p := w.Pending
	m := s.moments(tableFlags{})
	fmt.Fprintf(b, "%s %s for %s", w.Name, s.paint(s.io.OutTerminal, toneOf(w.Phase), w.Phase), since)
	if p.Position > 0 {
		fmt.Fprintf(b, " · #%d of %d in project %s", p.Position, max(p.Waiting, p.Position), w.Project)
	}
	if a := asked(w, docOf(w)); a != "" {
		fmt.Fprintf(b, " · asks for %s", a)
	}
	b.WriteByte('\n')
	for _, r := range p.Reasons {
		fmt.Fprintf(b, " %s %-20s %s\n", s.paint(s.io.OutTerminal, toneBad, "✗"), r.Token, r.Message)
	}
	if w.Message != "" {
		fmt.Fprintf(b, "   %s\n", w.Message)
	}
	if len(p.Ahead) > 0 {
		fmt.Fprintf(b, "Ahead of it     %s%s\n", strings.Join(p.Ahead, ", "), more(p.Position-1-len(p.Ahead)))
	}
	if hs := s.holders(ctx, c, w, m); hs != "" {
		fmt.Fprintf(b, "Held by         %s\n", hs)
	}
	if p.EstimatedStart != nil {
		fmt.Fprintf(b, "Expected start  %s (from the known ends of what runs)\n", m.clockTime(at(p.EstimatedStart)))
	}
	fmt.Fprintf(b, "As of           %s ago\n", age(m.now.Sub(timeOf(p.EvaluatedAt))))
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

// holdersShown is how many workloads that hold what is missing are named.
const holdersShown = 3

// holders names what runs in the way. It is a courtesy: without an answer the
// rest still holds.
func (s *session) holders(ctx context.Context, c *client.Client, w *api.Workload, m moments) string {
	list, err := c.Workloads(ctx, client.ListOptions{Phases: []string{"Starting", "Running", "Restarting", "Terminating"}, Limit: 50, Summary: true})
	if err != nil {
		return ""
	}
	var out []string
	left := 0
	for _, h := range list.Items {
		if w.GPUs > 0 && h.GPUs == 0 {
			continue
		}
		if len(out) == holdersShown {
			left++
			continue
		}
		what := plural(h.Tasks.Total, "task")
		if h.GPUs > 0 {
			what = plural(h.GPUs, "GPU")
		}
		out = append(out, fmt.Sprintf("%s (%s, %s, for %s)", h.Name, h.User, what, age(m.now.Sub(timeOf(h.Since)))))
	}
	return strings.Join(out, " · ") + more(left)
}
