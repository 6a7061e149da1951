package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core/spec"
)

type describeOptions struct {
	table   tableFlags
	scope   scope
	dialect string
}

func newDescribe(s *session) *cobra.Command {
	o := &describeOptions{}
	cmd := &cobra.Command{
		Use:     "describe [WORKLOAD]",
		Aliases: []string{"show", "status"},
		Short:   "Everything about one workload",
		Long:    "Shows one workload: where it stands, what it asked for and got, every attempt with the time in each state, and its tasks.",
		Example: `  muster describe train-moons
  muster describe            the latest of yours`,
		RunE: func(cmd *cobra.Command, args []string) error {
			args = dropNoun(args)
			if err := atMostOne(cmd, args); err != nil {
				return err
			}
			if err := checkDialect(o.dialect); err != nil {
				return err
			}
			return s.describe(cmd.Context(), o, first(args))
		},
	}
	cmd.ValidArgsFunction = s.completeNames
	o.scope.register(s, cmd)
	o.table.register(cmd)
	s.registerDialect(cmd, &o.dialect, "words of another platform")
	return cmd
}

func (s *session) describe(ctx context.Context, o *describeOptions, name string) error {
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	w, err := s.resolve(ctx, c, o.scope, name)
	if err != nil {
		return err
	}
	if shown, err := s.brief(w, w.Name); shown {
		return err
	}
	m := s.moments(o.table)
	if err := s.facts(w, m, o.dialect); err != nil {
		return err
	}
	if err := s.errorCard(ctx, c, w); err != nil {
		return err
	}
	if err := s.attempts(w, m); err != nil {
		return err
	}
	if err := s.tasks(w, m); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.io.Out, "\nLogs  muster logs %s%s     Events  muster events %s\n", w.Name, followFlag(w), w.Name)
	return err
}

func followFlag(w *api.Workload) string {
	if ended(w) {
		return ""
	}
	return " -f"
}

// facts prints what holds of the workload as a whole.
func (s *session) facts(w *api.Workload, m moments, dialect string) error {
	d := docOf(w)
	g := grid{whole: true}
	line := func(title, text string, t tone) {
		if text != "" {
			g.rows = append(g.rows, []cell{{title, toneTitle}, {text, t}})
		}
	}
	preemptible := ""
	if w.Preemptible {
		preemptible = " (preemptible)"
	}
	line("Workload", w.Name, tonePlain)
	line("Owner", fmt.Sprintf("project %s · user %s · %s · priority %s%s", w.Project, w.User, w.Kind, spec.Priority(w.Priority), preemptible), tonePlain)
	foreign := dialect != "" && dialect != nativeDialect
	tint := toneOf(w.Phase)
	if foreign {
		tint = toneOfColor(w.Statuses[dialect].Color, tint)
	}
	line("Status", statusIn(w, dialect)+"  since "+m.ago(timeOf(w.Since))+sinceWord(m), tint)
	if foreign {
		line("Phase", phaseWord(w), toneOf(w.Phase))
	}
	line("Why", reasonLine(w, m), tonePlain)
	if st, ok := startOf(w); ok {
		line("Start", st.line(s.io.OutTerminal), toneBusy)
	}
	for _, cond := range w.Conditions {
		line("Condition", conditionLine(cond, m), toneWait)
	}
	for _, check := range w.Checks {
		line("Check", checkLine(check, m), checkTone(check))
	}
	line("Replicas", replicasLine(w), tonePlain)
	line("Asked", asked(w, d), tonePlain)
	line("Got", got(w), tonePlain)
	line("Image", imageLine(w, d), tonePlain)
	line("Command", oneLine(strings.TrimSpace(d.Command.String()+" "+strings.Join(d.Args, " "))), tonePlain)
	line("Workdir", d.Workdir, tonePlain)
	line("Made by", d.Annotations[madeBy], tonePlain)
	line("Labels", pairs(d.Labels), tonePlain)
	line("Assets", strings.Join(assetsOf(d), " · "), tonePlain)
	line("Secrets", secretsLine(d), tonePlain)
	line("Published", publishedLine(w), tonePlain)
	line("Cost", number(w.GPUSeconds)+" GPU-seconds", tonePlain)
	line("Submitted", m.instant(timeOf(w.CreatedAt)), tonePlain)
	line("ID", w.ID, tonePlain)
	line("Elsewhere", elsewhere(w), toneDim)
	return s.grid(g)
}

// madeBy is an annotation of workloads that others made: by what.
const madeBy = "muster.dev/made-by"

func reasonLine(w *api.Workload, m moments) string {
	if w.Pending != nil {
		_, text, _ := strings.Cut(situation(w, m), ": ")
		return text
	}
	out := why(w)
	if w.Message != "" && w.Message != out {
		out = strings.TrimPrefix(out+": "+w.Message, ": ")
	}
	return out
}

func asked(w *api.Workload, d *spec.Document) string {
	parts := []string{plural(w.Tasks.Total, "task")}
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
	a := lastAttempt(w)
	nodes := nodesOf(a)
	if len(nodes) == 0 {
		return ""
	}
	var ds []string
	for _, t := range a.Tasks {
		ds = append(ds, t.Devices...)
	}
	out := fold(nodes)
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
	for _, d := range dialects[1:] {
		if _, ok := w.Statuses[d]; ok {
			out = append(out, d+" "+statusIn(w, d))
		}
	}
	return strings.Join(out, " · ")
}

// attempts prints every attempt with the time in each state, newest first.
func (s *session) attempts(w *api.Workload, m moments) error {
	g := grid{titles: []string{"TRY", "QUEUE", "START", "RUN", "ENDED", "EXIT", "WHY"}, indent: " "}
	for _, a := range slices.Backward(w.Attempts) {
		ended := "-"
		if a.EndedAt != nil {
			ended = m.ago(at(a.EndedAt))
		}
		queued := a.StartedAt
		if queued == nil {
			queued = a.EndedAt
		}
		started := a.RunningAt
		if started == nil {
			started = a.EndedAt
		}
		reason := a.Reason
		if a.Message != "" {
			reason = strings.TrimPrefix(reason+": "+a.Message, ": ")
		}
		g.rows = append(g.rows, []cell{
			{text: strconv.Itoa(a.Index)}, {text: lengthOr(a.QueuedAt, queued, m.now, "-")}, {text: lengthOr(a.StartedAt, started, m.now, "-")},
			{text: lengthOr(a.RunningAt, a.EndedAt, m.now, "-")}, {text: ended}, {text: exitText(a.ExitCode)}, {text: orDash(reason)},
		})
	}
	if _, err := fmt.Fprintln(s.io.Out, "\nAttempts (newest first)"); err != nil {
		return err
	}
	return s.grid(g)
}

func exitText(code *int) string {
	if code == nil {
		return "-"
	}
	return strconv.Itoa(*code)
}
