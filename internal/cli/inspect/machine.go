package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

type lifecycleOptions struct {
	table   session.TableFlags
	scope   session.Scope
	dialect string
	diagram string // mermaid, dot; "": none
}

// diagrams are the values of --diagram.
var diagrams = []string{"mermaid", "dot"}

// NewLifecycle makes the command lifecycle.
func NewLifecycle(s *session.Session) *cobra.Command {
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
			args = o.takeDiagram(cmd, session.DropNoun(args))
			if err := session.AtMostOne(cmd, args); err != nil {
				return err
			}
			if err := checkDialect(o.dialect); err != nil {
				return err
			}
			if o.diagram != "" && !slices.Contains(diagrams, o.diagram) {
				return session.UsageError(fmt.Sprintf("--diagram: %q is not known", o.diagram), "one of "+strings.Join(diagrams, ", "))
			}
			if o.dialect == session.NativeDialect {
				o.dialect = ""
			}
			if len(args) == 0 {
				return machineTable(s, o)
			}
			return path(cmd.Context(), s, o, args[0])
		},
	}
	cmd.ValidArgsFunction = s.CompleteNames
	o.scope.Register(s, cmd)
	o.table.Register(cmd)
	registerDialect(s, cmd, &o.dialect, "in the words of another platform")
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
func machineTable(s *session.Session, o *lifecycleOptions) error {
	d := lifecycle.Dialect(o.dialect)
	switch {
	case o.diagram == "dot":
		_, err := fmt.Fprintln(s.IO.Out, strings.TrimRight(lifecycle.Diagram(d).DOT(), "\n"))
		return err
	case o.diagram != "":
		_, err := fmt.Fprintln(s.IO.Out, strings.TrimRight(lifecycle.Diagram(d).Mermaid(), "\n"))
		return err
	case s.Machine():
		return s.Document(machineBody(d))
	case d != "":
		return wordTable(s, o, d)
	}
	err := session.Print(s, o.table, session.Table[lifecycle.PhaseInfo]{
		Items: lifecycle.Phases(), Name: func(p lifecycle.PhaseInfo) string { return string(p.Phase) },
		Columns: []session.Column[lifecycle.PhaseInfo]{
			{Title: "PHASE", Cell: func(p lifecycle.PhaseInfo) string { return string(p.Phase) }, Tone: func(p lifecycle.PhaseInfo) session.Tone { return printers.ToneOf(string(p.Phase)) }},
			{Title: "QUOTA", Cell: func(p lifecycle.PhaseInfo) string { return yes(p.Quota) }},
			{Title: "HELD", Cell: func(p lifecycle.PhaseInfo) string { return yes(p.Held) }},
			{Title: "END", Cell: func(p lifecycle.PhaseInfo) string { return yes(p.End) }},
			{Title: "MEANING", Cell: func(p lifecycle.PhaseInfo) string { return p.Meaning }},
		},
	})
	if err != nil || s.Format() == "name" || len(o.table.Columns) > 0 {
		return err
	}
	if _, err := fmt.Fprintln(s.IO.Out); err != nil {
		return err
	}
	return session.Print(s, o.table, session.Table[lifecycle.Rule]{
		Items: lifecycle.Rules(),
		Columns: []session.Column[lifecycle.Rule]{
			{Title: "EVENT", Cell: func(r lifecycle.Rule) string { return string(r.On) }},
			{Title: "TO", Cell: func(r lifecycle.Rule) string { return ruleTo(r) }},
			{Title: "WHEN", Cell: func(r lifecycle.Rule) string { return printers.OrDash(string(r.When)) }},
			{Title: "FROM", Cell: func(r lifecycle.Rule) string { return phaseList(r.From) }},
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
func wordTable(s *session.Session, o *lifecycleOptions, d lifecycle.Dialect) error {
	words := WordsOf(d)
	var rows []wordRow
	for _, w := range words {
		if how := w.How; s.IO.OutTerminal && len(o.table.Columns) == 0 && s.Format() != "csv" && s.Format() != "name" && len(how) > 1 {
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
	tint := func(r wordRow) session.Tone { return toneOfColor(r.Color, session.TonePlain) }
	some := func(has func(api.Word) bool) bool { return slices.ContainsFunc(words, has) }
	var cols []session.Column[wordRow]
	if some(func(w api.Word) bool { return w.Code != nil }) {
		cols = append(cols, session.Column[wordRow]{Title: "CODE", Cell: once(func(w api.Word) string { return ExitText(w.Code) })})
	}
	cols = append(cols, session.Column[wordRow]{Title: "STATUS", Cell: once(func(w api.Word) string { return w.Status }), Tone: tint})
	if some(func(w api.Word) bool { return w.Color != "" }) {
		cols = append(cols, session.Column[wordRow]{Title: "COLOUR", Cell: once(func(w api.Word) string { return printers.OrDash(w.Color) }), Tone: tint})
	}
	cols = append(cols,
		session.Column[wordRow]{Title: "END", Cell: once(func(w api.Word) string { return yes(w.End) })})
	if some(func(w api.Word) bool { return w.Resources != "" }) {
		cols = append(cols, session.Column[wordRow]{Title: "RESOURCES", Cell: once(func(w api.Word) string { return printers.OrDash(w.Resources) })})
	}
	cols = append(cols, session.Column[wordRow]{Title: "SAID OF", Cell: func(r wordRow) string { return r.how }})
	return session.Print(s, o.table, session.Table[wordRow]{Items: rows, Columns: cols, Whole: true, Name: func(r wordRow) string { return r.Status }})
}

// toneOfColor is a colour written #rrggbb, or another tone where there is none.
func toneOfColor(color string, none session.Tone) session.Tone {
	n, err := strconv.ParseUint(strings.TrimPrefix(color, "#"), 16, 32)
	if err != nil || len(color) != 7 {
		return none
	}
	return session.Tone(fmt.Sprintf("38;2;%d;%d;%d", n>>16, n>>8&0xff, n&0xff))
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
		out.Words = WordsOf(d)
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

// WordsOf is the vocabulary of a platform as the API has it.
func WordsOf(d lifecycle.Dialect) []api.Word {
	var out []api.Word
	for _, w := range lifecycle.Words(d) {
		word := api.Word{Status: w.Status, Code: w.Code, Color: w.Color, End: w.End, Resources: w.Resources, Phases: []string{}, How: lifecycle.Ways(d, w.Status)}
		for _, p := range lifecycle.PhasesOf(d, w.Status) {
			word.Phases = append(word.Phases, string(p))
		}
		out = append(out, word)
	}
	return out
}

// path prints one workload's way, with the time spent in each phase.
func path(ctx context.Context, s *session.Session, o *lifecycleOptions, name string) error {
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	w, err := s.Resolve(ctx, c, o.scope, name)
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
	if s.Machine() && o.diagram == "" {
		return s.Document(api.TransitionList{Items: w.Transitions})
	}
	w.Transitions = withStages(w, lifecycle.Dialect(o.dialect))
	switch o.diagram {
	case "":
	case "dot":
		_, err := fmt.Fprint(s.IO.Out, pathDOT(w))
		return err
	default:
		_, err := fmt.Fprint(s.IO.Out, pathMermaid(w))
		return err
	}
	return s.Grid(pathGrid(s, o, w))
}
