package inspect

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/document"
	"github.com/musterhq/muster/internal/cli/logs"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/spec"
)

type describeOptions struct {
	table   session.TableFlags
	scope   session.Scope
	dialect string
}

// NewDescribe makes the command describe.
func NewDescribe(s *session.Session) *cobra.Command {
	o := &describeOptions{}
	cmd := &cobra.Command{
		Use:     "describe [WORKLOAD]",
		Aliases: []string{"show", "status"},
		Short:   "Everything about one workload",
		Long:    "Shows one workload: where it stands, what it asked for and got, every attempt with the time in each state, and its tasks.",
		Example: `  muster describe train-moons
  muster describe            the latest of yours`,
		RunE: func(cmd *cobra.Command, args []string) error {
			args = session.DropNoun(args)
			if err := session.AtMostOne(cmd, args); err != nil {
				return err
			}
			if err := checkDialect(o.dialect); err != nil {
				return err
			}
			return describe(cmd.Context(), s, o, session.FirstName(args))
		},
	}
	cmd.ValidArgsFunction = s.CompleteNames
	o.scope.Register(s, cmd)
	o.table.Register(cmd)
	registerDialect(s, cmd, &o.dialect, "words of another platform")
	return cmd
}

func describe(ctx context.Context, s *session.Session, o *describeOptions, name string) error {
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	w, err := s.Resolve(ctx, c, o.scope, name)
	if err != nil {
		return err
	}
	if shown, err := s.Brief(w, w.Name); shown {
		return err
	}
	m := s.Moments(o.table)
	if err := facts(s, w, m, o.dialect); err != nil {
		return err
	}
	if err := logs.ErrorCard(ctx, s, c, w); err != nil {
		return err
	}
	if err := attempts(s, w, m); err != nil {
		return err
	}
	if err := tasks(s, w, m); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.IO.Out, "\nLogs  muster logs %s%s     Events  muster events %s\n", w.Name, followFlag(w), w.Name)
	return err
}

func followFlag(w *api.Workload) string {
	if printers.Ended(w) {
		return ""
	}
	return " -f"
}

// facts prints what holds of the workload as a whole.
func facts(s *session.Session, w *api.Workload, m session.Moments, dialect string) error {
	d := printers.DocOf(w)
	g := session.Grid{Whole: true}
	line := func(title, text string, t session.Tone) {
		if text != "" {
			g.Rows = append(g.Rows, []session.Cell{{Text: title, Tone: session.ToneTitle}, {Text: text, Tone: t}})
		}
	}
	preemptible := ""
	if w.Preemptible {
		preemptible = " (preemptible)"
	}
	line("Workload", w.Name, session.TonePlain)
	line("Owner", fmt.Sprintf("project %s · user %s · %s · priority %s%s", w.Project, w.User, w.Kind, spec.Priority(w.Priority), preemptible), session.TonePlain)
	foreign := dialect != "" && dialect != session.NativeDialect
	tint := printers.ToneOf(w.Phase)
	if foreign {
		tint = toneOfColor(w.Statuses[dialect].Color, tint)
	}
	line("Status", printers.StatusIn(w, dialect)+"  since "+m.Ago(session.TimeOf(w.Since))+session.SinceWord(m), tint)
	if foreign {
		line("Phase", printers.PhaseWord(w), printers.ToneOf(w.Phase))
	}
	line("Why", reasonLine(w, m), session.TonePlain)
	if st, ok := printers.StartOf(w); ok {
		line("Start", st.Line(s.IO.OutTerminal), session.ToneBusy)
	}
	for _, cond := range w.Conditions {
		line("Condition", printers.ConditionLine(cond, m), session.ToneWait)
	}
	for _, check := range w.Checks {
		line("Check", printers.CheckLine(check, m), printers.CheckTone(check))
	}
	if w.HeldTasks != "" {
		line("Held", "tasks "+w.HeldTasks+": muster release "+w.Name+" lets them go", session.ToneWait)
	}
	line("Replicas", printers.ReplicasLine(w), session.TonePlain)
	line("Asked", asked(w, d), session.TonePlain)
	line("Rules", rulesOf(w), session.TonePlain)
	line("Got", got(w), session.TonePlain)
	line("Image", printers.ImageLine(w, d), session.TonePlain)
	line("Command", oneLine(strings.TrimSpace(d.Command.String()+" "+strings.Join(d.Args, " "))), session.TonePlain)
	line("Workdir", d.Workdir, session.TonePlain)
	line("Made by", d.Annotations[madeBy], session.TonePlain)
	line("Labels", session.Pairs(d.Labels), session.TonePlain)
	line("Assets", strings.Join(document.AssetsOf(d), " · "), session.TonePlain)
	line("Secrets", printers.SecretsLine(d), session.TonePlain)
	line("Published", printers.PublishedLine(w), session.TonePlain)
	line("Cost", printers.Number(w.GPUSeconds)+" GPU-seconds", session.TonePlain)
	line("Submitted", m.Instant(session.TimeOf(w.CreatedAt)), session.TonePlain)
	line("ID", w.ID, session.TonePlain)
	line("Elsewhere", elsewhere(w), session.ToneDim)
	return s.Grid(g)
}

// rulesOf is what its project demanded of w when it was submitted.
func rulesOf(w *api.Workload) string {
	b := w.Bounds
	if b == nil {
		return ""
	}
	var out []string
	if b.TimeLimit != "" {
		out = append(out, "runs at most "+b.TimeLimit)
	}
	if b.IdleLimit != "" {
		out = append(out, "GPUs idle at most "+b.IdleLimit)
	}
	if len(b.NodeTypes) > 0 {
		out = append(out, "nodes of type "+strings.Join(b.NodeTypes, ", "))
	}
	return strings.Join(out, " · ") + ", as its project had it then"
}

// madeBy is an annotation of workloads that others made: by what.
const madeBy = "muster.dev/made-by"

func reasonLine(w *api.Workload, m session.Moments) string {
	if w.Pending != nil {
		_, text, _ := strings.Cut(printers.Situation(w, m), ": ")
		return text
	}
	out := printers.Why(w)
	if w.Message != "" && w.Message != out {
		out = strings.TrimPrefix(out+": "+w.Message, ": ")
	}
	return out
}

func asked(w *api.Workload, d *spec.Document) string {
	parts := []string{session.Plural(w.Tasks.Total, "task")}
	if d.Elastic() {
		parts[0] = fmt.Sprintf("%d to %s", d.MinSize(), parts[0])
	}
	each := []string{}
	if words := d.Resources.GPU.Words(); words != "" {
		each = append(each, words)
	}
	if cpu := d.Resources.CPU; cpu > 0 {
		each = append(each, cpu.String()+" CPU")
	}
	if mem := d.Resources.Memory; mem > 0 {
		each = append(each, mem.String()+" memory")
	}
	for _, name := range slices.Sorted(maps.Keys(d.Resources.Extended)) {
		each = append(each, fmt.Sprintf("%d %s", d.Resources.Extended[name], name))
	}
	if len(each) > 0 {
		parts = append(parts, strings.Join(each, ", ")+" each")
	}
	return strings.Join(parts, " × ")
}

// got is the nodes and devices of the present attempt.
func got(w *api.Workload) string {
	a := printers.LastAttempt(w)
	nodes := printers.NodesOf(a)
	if len(nodes) == 0 {
		return ""
	}
	var ds []string
	for _, t := range a.Tasks {
		ds = append(ds, t.Devices...)
	}
	out := printers.Fold(nodes)
	if len(ds) > 0 && len(ds) <= 16 {
		out += " (" + strings.Join(ds, ", ") + ")"
	} else if len(ds) > 0 {
		out += fmt.Sprintf(" (%d GPUs)", len(ds))
	}
	return out
}

func oneLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) == 1 {
		return lines[0]
	}
	return fmt.Sprintf("%s … (%d lines)", lines[0], len(lines))
}

// elsewhere is the status in the words of all other platforms.
func elsewhere(w *api.Workload) string {
	var out []string
	for _, d := range Dialects[1:] {
		if _, ok := w.Statuses[d]; ok {
			out = append(out, d+" "+printers.StatusIn(w, d))
		}
	}
	return strings.Join(out, " · ")
}

// attempts prints every attempt with the time in each state, newest first.
func attempts(s *session.Session, w *api.Workload, m session.Moments) error {
	g := session.Grid{Titles: []string{"TRY", "QUEUE", "START", "RUN", "ENDED", "EXIT", "WHY"}, Indent: " "}
	for _, a := range slices.Backward(w.Attempts) {
		ended := "-"
		if a.EndedAt != nil {
			ended = m.Ago(session.At(a.EndedAt))
		}
		queued := a.StartedAt
		if queued == nil {
			queued = a.EndedAt
		}
		started := a.RunningAt
		if started == nil {
			started = a.EndedAt
		}
		reason := caused(a.Reason, a.Cause)
		if a.Message != "" {
			reason = strings.TrimPrefix(reason+": "+a.Message, ": ")
		}
		g.Rows = append(g.Rows, []session.Cell{
			{Text: strconv.Itoa(a.Index)}, {Text: session.LengthOr(a.QueuedAt, queued, m.Now, "-")}, {Text: session.LengthOr(a.StartedAt, started, m.Now, "-")},
			{Text: session.LengthOr(a.RunningAt, a.EndedAt, m.Now, "-")}, {Text: ended}, {Text: ExitText(a.ExitCode)}, {Text: printers.OrDash(reason)},
		})
	}
	if _, err := fmt.Fprintln(s.IO.Out, "\nAttempts (newest first)"); err != nil {
		return err
	}
	return s.Grid(g)
}

// ExitText is the exit code of a task, or a dash where it has none.
func ExitText(code *int) string {
	if code == nil {
		return "-"
	}
	return strconv.Itoa(*code)
}
