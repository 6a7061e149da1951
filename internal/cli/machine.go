package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

type lifecycleOptions struct {
	table   tableFlags
	scope   scope
	dialect string
	diagram string // mermaid, dot; "": none
}

// diagrams are the values of --diagram.
var diagrams = []string{"mermaid", "dot"}

func newLifecycle(s *session) *cobra.Command {
	o := &lifecycleOptions{}
	cmd := &cobra.Command{
		Use:   "lifecycle [WORKLOAD]",
		Short: "The life of workloads, or one workload's way through it",
		Long: `Without a workload it prints the machine that every workload follows: phases and
transitions. With one it prints its path, with the time spent in each phase.

With --dialect it speaks of another platform: its words with their numbers and
colours, and when each is said; or a workload's path in these words.`,
		Example: `  muster lifecycle
  muster lifecycle --dialect modelarts
  muster lifecycle --diagram             as a Mermaid state diagram
  muster lifecycle --dialect mcli --diagram=dot | dot -Tsvg > mcli.svg
  muster lifecycle train-moons --dialect runai-job`,
		RunE: func(cmd *cobra.Command, args []string) error {
			args = o.takeDiagram(cmd, dropNoun(args))
			if err := atMostOne(cmd, args); err != nil {
				return err
			}
			if err := checkDialect(o.dialect); err != nil {
				return err
			}
			if o.diagram != "" && !slices.Contains(diagrams, o.diagram) {
				return usage(fmt.Sprintf("--diagram: %q is not known", o.diagram), "one of "+strings.Join(diagrams, ", "))
			}
			if o.dialect == nativeDialect {
				o.dialect = ""
			}
			if len(args) == 0 {
				return s.machineTable(o)
			}
			return s.path(cmd.Context(), o, args[0])
		},
	}
	cmd.ValidArgsFunction = s.completeNames
	o.scope.register(s, cmd)
	o.table.register(cmd)
	s.registerDialect(cmd, &o.dialect, "in the words of another platform")
	cmd.Flags().StringVar(&o.diagram, "diagram", "", "as a state diagram: mermaid (the default) or dot")
	cmd.Flags().Lookup("diagram").NoOptDefVal = diagrams[0]
	return cmd
}

// takeDiagram lets people write --diagram dot as well as --diagram=dot.
func (o *lifecycleOptions) takeDiagram(cmd *cobra.Command, args []string) []string {
	if !cmd.Flags().Changed("diagram") || o.diagram != diagrams[0] {
		return args
	}
	if i := slices.IndexFunc(args, func(a string) bool { return slices.Contains(diagrams, a) }); i >= 0 {
		o.diagram = args[i]
		return slices.Delete(args, i, i+1)
	}
	return args
}

// machineTable prints the machine. It is this program's own table, so no
// server is asked.
func (s *session) machineTable(o *lifecycleOptions) error {
	d := lifecycle.Dialect(o.dialect)
	switch {
	case o.diagram == "dot":
		_, err := fmt.Fprintln(s.io.Out, strings.TrimRight(lifecycle.Diagram(d).DOT(), "\n"))
		return err
	case o.diagram != "":
		_, err := fmt.Fprintln(s.io.Out, strings.TrimRight(lifecycle.Diagram(d).Mermaid(), "\n"))
		return err
	case s.machine():
		return s.document(machineBody(d))
	case d != "":
		return s.wordTable(o, d)
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

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "-"
}

// wordRow is a word, or a further state that it is said of.
type wordRow struct {
	api.Word
	how   string
	again bool
}

// wordTable prints the vocabulary of a platform, and when each word is said: on
// a terminal a line for each, elsewhere all in one.
func (s *session) wordTable(o *lifecycleOptions, d lifecycle.Dialect) error {
	words := wordsOf(d)
	var rows []wordRow
	for _, w := range words {
		if how := w.How; s.io.OutTerminal && len(o.table.columns) == 0 && s.format() != "csv" && s.format() != "name" && len(how) > 1 {
			rows = append(rows, wordRow{Word: w, how: how[0]})
			for _, h := range how[1:] {
				rows = append(rows, wordRow{Word: w, how: h, again: true})
			}
			continue
		}
		rows = append(rows, wordRow{Word: w, how: cmp.Or(strings.Join(w.How, " · "), "nothing here")})
	}
	once := func(cell func(api.Word) string) func(wordRow) string {
		return func(r wordRow) string {
			if r.again {
				return ""
			}
			return cell(r.Word)
		}
	}
	tint := func(r wordRow) tone { return toneOfColor(r.Color, tonePlain) }
	some := func(has func(api.Word) bool) bool { return slices.ContainsFunc(words, has) }
	var cols []column[wordRow]
	if some(func(w api.Word) bool { return w.Code != nil }) {
		cols = append(cols, column[wordRow]{title: "CODE", cell: once(func(w api.Word) string { return exitText(w.Code) })})
	}
	cols = append(cols, column[wordRow]{title: "STATUS", cell: once(func(w api.Word) string { return w.Status }), tone: tint})
	if some(func(w api.Word) bool { return w.Color != "" }) {
		cols = append(cols, column[wordRow]{title: "COLOUR", cell: once(func(w api.Word) string { return orDash(w.Color) }), tone: tint})
	}
	cols = append(cols,
		column[wordRow]{title: "END", cell: once(func(w api.Word) string { return yes(w.End) })})
	if some(func(w api.Word) bool { return w.Resources != "" }) {
		cols = append(cols, column[wordRow]{title: "RESOURCES", cell: once(func(w api.Word) string { return orDash(w.Resources) })})
	}
	cols = append(cols, column[wordRow]{title: "SAID OF", cell: func(r wordRow) string { return r.how }})
	return print(s, o.table, table[wordRow]{items: rows, columns: cols, whole: true, name: func(r wordRow) string { return r.Status }})
}

// toneOfColor is a colour written #rrggbb, or another tone where there is none.
func toneOfColor(color string, none tone) tone {
	n, err := strconv.ParseUint(strings.TrimPrefix(color, "#"), 16, 32)
	if err != nil || len(color) != 7 {
		return none
	}
	return tone(fmt.Sprintf("38;2;%d;%d;%d", n>>16, n>>8&0xff, n&0xff))
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
func machineBody(d lifecycle.Dialect) api.Lifecycle {
	g := lifecycle.Diagram(d)
	out := api.Lifecycle{Mermaid: g.Mermaid(), DOT: g.DOT()}
	if d != "" {
		out.Words = wordsOf(d)
	}
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

// wordsOf is the vocabulary of a platform as the API has it.
func wordsOf(d lifecycle.Dialect) []api.Word {
	var out []api.Word
	for _, w := range lifecycle.Words(d) {
		word := api.Word{Status: w.Status, Code: w.Code, Color: w.Color, End: w.End, Resources: w.Resources, Phases: []string{}, How: lifecycle.Said(d, w.Status)}
		for _, p := range lifecycle.Hear(d, w.Status) {
			word.Phases = append(word.Phases, string(p))
		}
		out = append(out, word)
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
	if o.dialect != "" { // the history comes again with the words
		list, err := c.Transitions(ctx, w.Project, w.ID, 0, 10_000, o.dialect)
		if err != nil {
			return err
		}
		w.Transitions = list.Items
	}
	if s.machine() && o.diagram == "" {
		return s.document(api.TransitionList{Items: w.Transitions})
	}
	w.Transitions = withStages(w, lifecycle.Dialect(o.dialect))
	switch o.diagram {
	case "":
	case "dot":
		_, err := fmt.Fprint(s.io.Out, pathDOT(w))
		return err
	default:
		_, err := fmt.Fprint(s.io.Out, pathMermaid(w))
		return err
	}
	return s.grid(s.pathGrid(o, w))
}
