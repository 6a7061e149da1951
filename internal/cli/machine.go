package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

type lifecycleOptions struct {
	table   tableFlags
	scope   scope
	diagram bool
}

func newLifecycle(s *session) *cobra.Command {
	o := &lifecycleOptions{}
	cmd := &cobra.Command{
		Use:   "lifecycle [WORKLOAD]",
		Short: "The life of workloads, or one workload's way through it",
		Long: `Without a workload it prints the machine that every workload follows: phases and
transitions. With one it prints its path, with the time spent in each phase.`,
		Example: `  muster lifecycle
  muster lifecycle --diagram        as a Mermaid state diagram
  muster lifecycle train-moons`,
		RunE: func(cmd *cobra.Command, args []string) error {
			args = dropNoun(args)
			if err := atMostOne(cmd, args); err != nil {
				return err
			}
			if len(args) == 0 {
				return s.machineTable(cmd.Context(), o)
			}
			return s.path(cmd.Context(), o, args[0])
		},
	}
	cmd.ValidArgsFunction = s.completeNames
	o.scope.register(s, cmd)
	o.table.register(cmd)
	cmd.Flags().BoolVar(&o.diagram, "diagram", false, "as a Mermaid state diagram")
	return cmd
}

// machineTable prints the machine. It is this program's own table, so no
// server is asked.
func (s *session) machineTable(_ context.Context, o *lifecycleOptions) error {
	if o.diagram {
		_, err := fmt.Fprintln(s.io.Out, strings.TrimRight(lifecycle.Mermaid(), "\n"))
		return err
	}
	if s.machine() {
		return s.document(machineBody())
	}
	yes := func(b bool) string {
		if b {
			return "yes"
		}
		return "-"
	}
	err := print(s, o.table, table[lifecycle.PhaseInfo]{
		items: lifecycle.Phases(), name: func(p lifecycle.PhaseInfo) string { return string(p.Phase) },
		columns: []column[lifecycle.PhaseInfo]{
			{title: "PHASE", cell: func(p lifecycle.PhaseInfo) string { return string(p.Phase) }, tone: func(p lifecycle.PhaseInfo) tone { return toneOf(string(p.Phase)) }},
			{title: "QUOTA", cell: func(p lifecycle.PhaseInfo) string { return yes(p.Quota) }},
			{title: "HELD", cell: func(p lifecycle.PhaseInfo) string { return yes(p.Held) }},
			{title: "END", cell: func(p lifecycle.PhaseInfo) string { return yes(p.End) }},
			{title: "MEANING", cell: func(p lifecycle.PhaseInfo) string { return p.Meaning }},
		},
	})
	if err != nil || s.format() == "name" || len(o.table.columns) > 0 {
		return err
	}
	if _, err := fmt.Fprintln(s.io.Out); err != nil {
		return err
	}
	return print(s, o.table, table[lifecycle.Rule]{
		items: lifecycle.Rules(),
		columns: []column[lifecycle.Rule]{
			{title: "EVENT", cell: func(r lifecycle.Rule) string { return string(r.On) }},
			{title: "TO", cell: func(r lifecycle.Rule) string { return ruleTo(r) }},
			{title: "WHEN", cell: func(r lifecycle.Rule) string { return orDash(string(r.When)) }},
			{title: "FROM", cell: func(r lifecycle.Rule) string { return phaseList(r.From) }},
		},
	})
}

func ruleTo(r lifecycle.Rule) string {
	if len(r.Targets) == 0 {
		return string(r.To)
	}
	return string(r.To) + "→" + strings.ReplaceAll(phaseList(r.Targets), " ", "|")
}

func phaseList(ps []lifecycle.Phase) string {
	var out []string
	for _, p := range ps {
		if p == lifecycle.None {
			p = "(none)"
		}
		out = append(out, string(p))
	}
	return strings.Join(out, " ")
}

// machineBody is what GET /v1/lifecycle answers.
func machineBody() api.Lifecycle {
	out := api.Lifecycle{Mermaid: lifecycle.Mermaid()}
	for _, p := range lifecycle.Phases() {
		out.Phases = append(out.Phases, api.Phase{Name: string(p.Phase), Quota: p.Quota, Held: p.Held, End: p.End, Meaning: p.Meaning})
	}
	for _, r := range lifecycle.Rules() {
		rule := api.Rule{Event: string(r.On), To: string(r.To), When: string(r.When), From: []string{}}
		for _, f := range r.From {
			rule.From = append(rule.From, string(f))
		}
		for _, t := range r.Targets {
			rule.Targets = append(rule.Targets, string(t))
		}
		out.Rules = append(out.Rules, rule)
	}
	return out
}

// path prints one workload's way, with the time spent in each phase.
func (s *session) path(ctx context.Context, o *lifecycleOptions, name string) error {
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	w, err := s.resolve(ctx, c, o.scope, name)
	if err != nil {
		return err
	}
	switch {
	case o.diagram:
		_, err := fmt.Fprint(s.io.Out, pathDiagram(w))
		return err
	case s.machine():
		return s.document(api.TransitionList{Items: w.Transitions})
	}
	m := s.moments(o.table)
	if !o.table.utc {
		m.absolute = o.table.absolute
	}
	g := grid{titles: []string{"AT", "TRY", "PHASE", "FOR", "EVENT", "BY", "WHY"}, noHeaders: o.table.noHeaders}
	for i, t := range w.Transitions {
		spent := "-"
		if i+1 < len(w.Transitions) {
			spent = length(timeOf(w.Transitions[i+1].At).Sub(timeOf(t.At)))
		} else if !ended(w) {
			spent = length(m.now.Sub(timeOf(t.At))) + "…"
		}
		reason := t.Reason
		if t.Message != "" {
			reason = strings.TrimPrefix(reason+": "+t.Message, ": ")
		}
		stamp := timeOf(t.At).Local().Format("15:04:05.000")
		if m.absolute {
			stamp = m.instant(timeOf(t.At))
		}
		g.rows = append(g.rows, []cell{
			{text: stamp}, {text: fmt.Sprint(t.Attempt)}, {text: toOf(t), tone: toneOf(t.To)}, {text: spent}, {text: t.Event}, {text: t.Actor}, {text: orDash(reason)},
		})
	}
	return s.grid(g)
}

// pathDiagram is the way as a Mermaid diagram, steps numbered in order.
func pathDiagram(w *api.Workload) string {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n")
	for i, t := range w.Transitions {
		from := t.From
		if from == "" {
			from = "[*]"
		}
		fmt.Fprintf(&b, "    %s --> %s: %d %s\n", from, t.To, i+1, t.Event)
	}
	if ended(w) {
		fmt.Fprintf(&b, "    %s --> [*]\n", w.Phase)
	}
	return b.String()
}
