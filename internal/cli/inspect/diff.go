package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli/document"
	"github.com/musterhq/muster/internal/cli/printers"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/spec"
)

type diffOptions struct {
	table session.TableFlags
	scope session.Scope
	all   bool
}

// NewDiff makes the command diff.
func NewDiff(s *session.Session) *cobra.Command {
	o := &diffOptions{}
	cmd := &cobra.Command{
		Use:   "diff [WORKLOAD[@ATTEMPT]] [WORKLOAD[@ATTEMPT]]",
		Short: "What differs between two attempts or two workloads",
		Long: `Compares two attempts: the document field by field, where they ran, the image's
digest, times, and how they ended with what was lost. Of one workload its last
two attempts; of two their last ones, unless @N says which.

The document of an attempt is the one that it began with. Values that are the
same are left out; --all shows them too.`,
		Example: `  muster diff train-moons           its last two attempts
  muster diff train-moons@0 train-moons@2
  muster diff train-moons train-sun -o json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if args = session.DropNoun(args); len(args) > 2 {
				return session.UsageError(fmt.Sprintf("muster diff takes two attempts at most, not %d", len(args)), cmd.UseLine())
			}
			return diff(cmd.Context(), s, o, args)
		},
	}
	cmd.ValidArgsFunction = s.CompleteNames
	o.scope.Register(s, cmd)
	o.table.Register(cmd)
	cmd.Flags().BoolVar(&o.all, "all", false, "also what is the same")
	return cmd
}

// attemptOf is one side of a comparison.
type attemptOf struct {
	w       *api.Workload
	attempt *api.Attempt
	Fields  spec.Fields
}

// side is what -o json says of a side.
type side struct {
	Workload string `json:"workload"`
	Project  string `json:"project"`
	Attempt  int    `json:"attempt"`
}

// difference is what two attempts differ in.
type difference struct {
	A        side              `json:"a"`
	B        side              `json:"b"`
	Document []api.FieldChange `json:"document"`
	Outcome  []api.FieldChange `json:"outcome"`
}

func diff(ctx context.Context, s *session.Session, o *diffOptions, args []string) error {
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	a, b, err := sides(ctx, s, c, o.scope, args)
	if err != nil {
		return err
	}
	if a.w.ID != b.w.ID { // names are of course others
		for _, f := range []spec.Fields{a.Fields, b.Fields} {
			delete(f, "name")
			delete(f, "namePrefix")
		}
	}
	d := difference{A: a.side(), B: b.side(), Document: []api.FieldChange{}, Outcome: []api.FieldChange{}}
	for _, change := range a.Fields.Changes(b.Fields) {
		d.Document = append(d.Document, api.FieldChange(change))
	}
	now := s.Clock()
	was, is := a.outcome(now), b.outcome(now)
	for i := range was {
		if o.all || string(was[i].value) != string(is[i].value) {
			d.Outcome = append(d.Outcome, api.FieldChange{Path: was[i].name, From: was[i].value, To: is[i].value})
		}
	}
	if o.all {
		d.Document = whole(a.Fields, b.Fields)
	}
	if s.Machine() {
		return s.Document(d)
	}
	return showDifference(s, o, d)
}

// sides resolves what the words of the command line mean.
func sides(ctx context.Context, s *session.Session, c *client.Client, sc session.Scope, args []string) (a, b *attemptOf, err error) {
	name, number, err := SplitAttempt(session.FirstName(args))
	if err != nil {
		return nil, nil, err
	}
	w, err := s.Resolve(ctx, c, sc, name)
	if err != nil {
		return nil, nil, err
	}
	if len(args) < 2 && number < 0 {
		if len(w.Attempts) < 2 {
			return nil, nil, session.UsageError(w.Name+" has one attempt, with nothing to compare it with", "name another workload: muster diff "+w.Name+" OTHER")
		}
		number = len(w.Attempts) - 2
	}
	if a, err = SideOf(w, number); err != nil {
		return nil, nil, err
	}
	last := -1
	if len(args) == 2 {
		var other string
		if other, last, err = SplitAttempt(args[1]); err != nil {
			return nil, nil, err
		}
		if w, err = s.Resolve(ctx, c, sc, other); err != nil {
			return nil, nil, err
		}
	}
	b, err = SideOf(w, last)
	return a, b, err
}

// SplitAttempt parts NAME@N; without a number it is -1.
func SplitAttempt(text string) (name string, attempt int, err error) {
	at := strings.LastIndexByte(text, '@')
	if at <= 0 {
		return text, -1, nil
	}
	n, err := strconv.Atoi(text[at+1:])
	if err != nil || n < 0 {
		return "", 0, session.UsageError(fmt.Sprintf("%s: %q is not the number of an attempt", text, text[at+1:]), "write WORKLOAD@0 for the first attempt, @1 for the next")
	}
	return text[:at], n, nil
}

// SideOf is the attempt of this number, the latest where it is negative, as a side of
// a comparison.
func SideOf(w *api.Workload, number int) (*attemptOf, error) {
	if number < 0 {
		number = len(w.Attempts) - 1
	}
	i := slices.IndexFunc(w.Attempts, func(a api.Attempt) bool { return a.Index == number })
	if i < 0 {
		return nil, session.NotFoundError(fmt.Sprintf("%s has no attempt %d; its last is %d", w.Name, number, w.Attempt), "muster describe "+w.Name+" lists its attempts")
	}
	var later [][]spec.Change
	for _, a := range w.Attempts[i:] {
		var round []spec.Change
		for _, c := range a.Revised {
			round = append(round, spec.Change(c))
		}
		later = append(later, round)
	}
	return &attemptOf{w: w, attempt: &w.Attempts[i], Fields: spec.FieldsOf(document.WithoutKept(printers.DocOf(w))).Before(spec.Together(later...))}, nil
}

func (a *attemptOf) side() side { return side{a.w.Name, a.w.Project, a.attempt.Index} }

// fact is one thing that is known of an attempt, as JSON; nil: it is not known.
type fact struct {
	name  string
	value json.RawMessage
}

// outcome is what became of an attempt, always the same facts in the same order.
func (a *attemptOf) outcome(now time.Time) []fact {
	t := a.attempt
	var out []fact
	add := func(name string, known bool, v any) {
		f := fact{name: name}
		if known {
			f.value, _ = json.Marshal(v) // of plain values
		}
		out = append(out, f)
	}
	seconds := func(name string, from, to *api.Time) {
		d, ok := session.Between(from, to, now)
		add(name, ok, math.Round(d.Seconds()*1e3)/1e3)
	}
	nodes, devices, images := map[string]bool{}, []string{}, map[string]bool{}
	for _, task := range t.Tasks {
		if task.Node != "" {
			nodes[task.Node] = true
		}
		if task.Image != "" {
			images[task.Image] = true
		}
		for _, d := range task.Devices {
			devices = append(devices, task.Node+"/"+d)
		}
	}
	slices.Sort(devices)
	add("nodes", len(nodes) > 0, slices.Sorted(maps.Keys(nodes)))
	add("devices", len(devices) > 0, devices)
	add("imageDigest", len(images) > 0, slices.Sorted(maps.Keys(images)))
	add("tasks", true, len(t.Tasks))
	seconds("queueSeconds", t.QueuedAt, cmp.Or(t.StartedAt, t.EndedAt))
	seconds("startSeconds", t.StartedAt, cmp.Or(t.RunningAt, t.EndedAt))
	seconds("runSeconds", t.RunningAt, t.EndedAt)
	add("exitCode", t.ExitCode != nil, t.ExitCode)
	add("reason", t.Reason != "", t.Reason)
	add("message", t.Message != "", t.Message)
	add("culprit", t.Culprit != nil, t.Culprit)
	add("step", t.Step > 0, t.Step)
	add("checkpointStep", t.Saved != nil, savedOf(t).Step)
	add("lostSeconds", t.Lost != nil, lostOf(t).Seconds)
	add("lostGpuSeconds", t.Lost != nil, lostOf(t).GPUSeconds)
	add("lostSteps", t.Lost != nil && t.Lost.Steps > 0, lostOf(t).Steps)
	return out
}

func savedOf(t *api.Attempt) api.Saved {
	if t.Saved == nil {
		return api.Saved{}
	}
	return *t.Saved
}

func lostOf(t *api.Attempt) api.Lost {
	if t.Lost == nil {
		return api.Lost{}
	}
	return *t.Lost
}

// whole are all fields of both documents.
func whole(a, b spec.Fields) []api.FieldChange {
	out := []api.FieldChange{}
	for _, c := range (spec.Fields{}).Changes(a) {
		out = append(out, api.FieldChange{Path: c.Path, From: c.To, To: b[c.Path]})
	}
	for _, c := range (spec.Fields{}).Changes(b) {
		if _, both := a[c.Path]; !both {
			out = append(out, api.FieldChange{Path: c.Path, To: c.To})
		}
	}
	slices.SortFunc(out, func(x, y api.FieldChange) int { return cmp.Compare(x.Path, y.Path) })
	return out
}

func showDifference(s *session.Session, o *diffOptions, d difference) error {
	if len(d.Document)+len(d.Outcome) == 0 {
		s.Say("%s and %s differ in nothing", d.A, d.B)
		return nil
	}
	rows := append(slices.Clone(d.Document), d.Outcome...)
	if len(d.Document) == 0 {
		s.Say("their documents are the same")
	}
	tint := func(c api.FieldChange) session.Tone {
		if string(c.From) == string(c.To) {
			return session.ToneDim
		}
		return session.TonePlain
	}
	return session.Print(s, o.table, session.Table[api.FieldChange]{
		Items: rows, Name: func(c api.FieldChange) string { return c.Path }, Body: d, Whole: true,
		Columns: []session.Column[api.FieldChange]{
			{Title: "FIELD", Cell: func(c api.FieldChange) string { return c.Path }, Tone: tint},
			{Title: d.A.String(), Cell: func(c api.FieldChange) string { return ValueText(c.From) }, Tone: tint},
			{Title: d.B.String(), Cell: func(c api.FieldChange) string { return ValueText(c.To) }, Tone: tint},
		},
	})
}

// String is the side as it is written on the command line.
func (x side) String() string { return x.Workload + "@" + strconv.Itoa(x.Attempt) }

// ValueText is a value of a document for people: texts without quotes where
// that says the same.
func ValueText(v json.RawMessage) string {
	var text string
	switch {
	case len(v) == 0:
		return "-"
	case json.Unmarshal(v, &text) == nil && text != "" && text != "-":
		return text
	default:
		return string(v)
	}
}
