package submit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/document"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/convert"
)

type applyOptions struct {
	files    []string
	dry, yes bool
}

// NewApply makes the command apply.
func NewApply(s *session.Session) *cobra.Command {
	o := &applyOptions{}
	cmd := &cobra.Command{
		Use: "apply -f FILE [flags]", Short: "Make workloads, projects, departments, pools, licenses, nodes, reservations, policies and schedules what files say",
		Long: `Makes records what files say: of projects, departments, pools, licenses,
nodes, reservations and policies all of them, or none where one of them cannot be; then
schedules and workloads, one after the other. A file holds one or several documents, divided by
lines of ---, each with its kind (Project, Department, Pool, License, Node,
Reservation, Policy, Schedule, or the kind of a workload), its name (of a policy scope and for), and its other fields as in
-o yaml of the record. What a document does not say is what it is by default, but for what changes by the day: stopMode of projects and cordon
of nodes stay as they are unless they are named. Records that no document names
stay as they are. Doing it again changes nothing.

Of a workload that exists every field that differs is shown, with what it takes:
priority, limits and labels change live; a service takes the rest over a few
replicas at a time; other workloads are ended for it and run again. Name, project
and kind cannot change. On a terminal it asks first; elsewhere only --yes lets it
end what runs.`,
		Example: "  muster apply -f organisation.yaml --dry-run\n  muster apply -f departments.yaml -f projects.yaml\n  muster apply -f train.yaml --yes",
		Args:    session.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(o.files) == 0 {
				return session.UsageError("muster apply takes a file", "name it with -f FILE; - is standard input")
			}
			return apply(cmd.Context(), s, o)
		},
	}
	cmd.Flags().StringArrayVarP(&o.files, "file", "f", nil, "file with the records; - is standard input; repeat for several")
	cmd.Flags().BoolVar(&o.dry, "dry-run", false, "say what would change, and change nothing")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	return cmd
}

// placedRecord is where a record of a manifest stands.
type placedRecord struct {
	file   string
	before int // lines before its document
	node   ast.Node
}

// Line is that of the field at path.
func (r placedRecord) Line(path string) int { return r.before + lineOf(r.node, path) }

// Manifest is what the files of an apply say.
type Manifest struct {
	Records api.Manifest
	Places  []placedRecord // of records
	works   []*applyWork
	// schedules are made after records and before works.
	schedules []*applySchedule
}

func readManifest(s *session.Session, files []string) (*Manifest, error) {
	m := &Manifest{Records: api.Manifest{Items: []map[string]any{}}}
	for _, file := range files {
		data, err := document.Read(s, file)
		if err != nil {
			return nil, err
		}
		if file == "-" {
			file = "standard input"
		}
		if err := m.Read(file, data); err != nil {
			return nil, err
		}
	}
	if len(m.Records.Items)+len(m.works)+len(m.schedules) == 0 {
		return nil, session.UsageError("there is no record in "+strings.Join(files, ", "), "each has its kind and name; muster apply --help shows how")
	}
	if err := twiceScheduled(m.schedules); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, a := range m.works {
		key := a.doc.Project + "/" + a.doc.Name
		if seen[key] {
			return nil, session.UsageError(fmt.Sprintf("workload %s stands there twice", a.doc.Name), "write each record once")
		}
		seen[key] = true
	}
	return m, nil
}

func apply(ctx context.Context, s *session.Session, o *applyOptions) error {
	m, err := readManifest(s, o.files)
	if err != nil {
		return err
	}
	c, err := s.Connect(ctx)
	if err != nil {
		return err
	}
	if err := compare(ctx, s, c, m.works); err != nil {
		return err
	}
	if err := compareSchedules(ctx, s, c, m.schedules); err != nil {
		return err
	}
	done := &api.Applied{Items: []api.AppliedItem{}, DryRun: o.dry}
	records := func(dry bool) error {
		if len(m.Records.Items) == 0 {
			return nil
		}
		out, err := c.Apply(ctx, m.Records, dry)
		if err == nil {
			done = out
		}
		return placedProblem(err, m.Places)
	}
	ask := !o.dry && !o.yes && (s.IO.InTerminal || len(m.works) > 0)
	if o.dry || ask || len(m.works) > 0 {
		if err := records(true); err != nil {
			return err
		}
		if !slices.ContainsFunc(done.Items, func(i api.AppliedItem) bool { return i.Action != "unchanged" }) { // else they may need what changes with them
			if err := applySchedules(ctx, s, c, m.schedules, true); err != nil {
				return err
			}
		}
		if err := foresee(ctx, s, c, m.works, done.Items); err != nil {
			return err
		}
	}
	if ask {
		if about, ending, any := planOf(s, append(slices.Clone(done.Items), scheduleItems(m.schedules)...), m.works); any {
			if err := agreed(s, about, ending); err != nil {
				return err
			}
		}
	}
	if !o.dry {
		if err := records(false); err != nil {
			return err
		}
		if err := applySchedules(ctx, s, c, m.schedules, false); err != nil {
			return err
		}
	}
	done.Items = append(done.Items, scheduleItems(m.schedules)...)
	for _, item := range done.Items {
		if err := applied(s, item, o.dry); err != nil {
			return err
		}
	}
	if !o.dry {
		for i, a := range m.works {
			if err := carryOutWork(ctx, s, c, a); err != nil {
				return errors.Join(err, showApplied(s, done, m.works[:i], false))
			}
		}
	}
	return showApplied(s, done, m.works, o.dry)
}

// showApplied prints what has become of everything.
func showApplied(s *session.Session, done *api.Applied, works []*applyWork, dry bool) error {
	if s.Machine() {
		items := make([]any, 0, len(done.Items)+len(works))
		for _, item := range done.Items {
			items = append(items, item)
		}
		for _, a := range works {
			items = append(items, a.result())
		}
		out := map[string]any{"items": items}
		if dry {
			out["dryRun"] = true
		}
		return s.Document(out)
	}
	for _, a := range works {
		text := describeWork(s, a, s.IO.OutTerminal, dry)
		if s.Format() == "name" {
			text = "workload/" + a.doc.Name + "\n"
		}
		if _, err := fmt.Fprint(s.IO.Out, text); err != nil {
			return err
		}
	}
	return nil
}

// Read takes the documents of a file.
func (m *Manifest) Read(file string, data []byte) error {
	for from, text := range convert.Split(data) {
		parsed, err := parser.ParseBytes(text, 0)
		if err != nil {
			return unreadable(file, from, err)
		}
		for _, doc := range parsed.Docs {
			if doc.Body == nil || doc.Body.Type() == ast.NullType || doc.Body.Type() == ast.CommentType || doc.Body.Type() == ast.CommentGroupType {
				continue // nothing between two lines of ---
			}
			var item map[string]any
			if err := yaml.NodeToValue(doc.Body, &item); err != nil {
				return unreadable(file, from, err)
			}
			if isWork(item) {
				a, err := readWork(placedRecord{file: file, before: from, node: doc.Body}, text)
				if err != nil {
					return err
				}
				m.works = append(m.works, a)
				continue
			}
			if item["kind"] == scheduleKind {
				a, err := readSchedule(placedRecord{file: file, before: from, node: doc.Body}, item)
				if err != nil {
					return err
				}
				m.schedules = append(m.schedules, a)
				continue
			}
			m.Records.Items, m.Places = append(m.Records.Items, item), append(m.Places, placedRecord{file: file, before: from, node: doc.Body})
		}
	}
	return nil
}

// unreadable is a file that is no YAML, or no mapping.
func unreadable(file string, before int, err error) error {
	line, text := 0, err.Error()
	var e yaml.Error
	if errors.As(err, &e) {
		text = e.GetMessage()
		if t := e.GetToken(); t != nil && t.Position != nil {
			line = before + t.Position.Line
		}
	}
	return &session.Failure{Code: session.ExitUsage, File: file, Problem: &api.Problem{
		Title: "Wrong file", Code: "invalid", Detail: text,
		Errors: []api.FieldProblem{{Problem: text, Line: line, Hint: "each document is a mapping with kind and name"}},
	}}
}

// placedProblem gives every field of a refusal its file and line.
func placedProblem(err error, places []placedRecord) error {
	var p *api.Problem
	if !errors.As(err, &p) || len(p.Errors) == 0 {
		return err
	}
	f := &session.Failure{Code: session.CodeOf(p), Problem: &api.Problem{Title: p.Title, Status: p.Status, Code: p.Code, Detail: p.Detail, Hint: p.Hint}}
	several := slices.ContainsFunc(places, func(r placedRecord) bool { return r.file != places[0].file })
	for _, e := range p.Errors {
		rest, ok := strings.CutPrefix(e.Path, "items[")
		number, path, _ := strings.Cut(rest, "]")
		if !ok && len(places) == 1 { // there is no other
			number, path, ok = "0", e.Path, true
		}
		i, nerr := strconv.Atoi(number)
		if !ok || nerr != nil || i >= len(places) {
			f.Problem.Errors = append(f.Problem.Errors, e)
			continue
		}
		e.Path = strings.TrimPrefix(path, ".")
		e.Line = places[i].Line(e.Path)
		if several {
			e.Path, e.Line = session.Place(places[i].file, e.Line)+e.Path, 0
		} else {
			f.File = places[i].file
		}
		f.Problem.Errors = append(f.Problem.Errors, e)
	}
	return f
}

// lineOf is the line of the field at path, or of the nearest that stands above
// it. Keys may hold dots, so the path is followed along the keys that there are.
func lineOf(n ast.Node, path string) int {
	line := n.GetToken().Position.Line
	switch n := n.(type) {
	case *ast.MappingNode:
		if len(n.Values) > 0 {
			line = n.Values[0].Key.GetToken().Position.Line
		}
		for _, v := range n.Values {
			key := v.Key.GetToken().Value
			rest, ok := strings.CutPrefix(path, key)
			if ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
				if rest == "" {
					return v.Key.GetToken().Position.Line
				}
				return max(v.Key.GetToken().Position.Line, lineOf(v.Value, strings.TrimPrefix(rest, ".")))
			}
		}
	case *ast.MappingValueNode: // a mapping of one key
		return lineOf(&ast.MappingNode{BaseNode: &ast.BaseNode{}, Start: n.GetToken(), Values: []*ast.MappingValueNode{n}}, path)
	case *ast.SequenceNode:
		number, rest, ok := strings.Cut(strings.TrimPrefix(path, "["), "]")
		if i, err := strconv.Atoi(number); ok && err == nil && i < len(n.Values) {
			return lineOf(n.Values[i], strings.TrimPrefix(rest, "."))
		}
	}
	return line
}

// applied prints what has become of one record.
func applied(s *session.Session, item api.AppliedItem, dry bool) error {
	if s.Machine() {
		return nil // all of it comes in one
	}
	s.Warn(item.Warnings)
	if s.Format() == "name" {
		_, err := fmt.Fprintln(s.IO.Out, strings.ToLower(item.Kind)+"/"+item.Name)
		return err
	}
	_, err := fmt.Fprint(s.IO.Out, itemLines(item, dry))
	return err
}

// itemLines are a record and what has changed of it.
func itemLines(item api.AppliedItem, dry bool) string {
	action := item.Action
	if dry && action != "unchanged" {
		action = "would be " + action
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s\n", strings.ToLower(item.Kind), item.Name, action)
	for _, c := range item.Changes {
		if item.Action == "created" {
			fmt.Fprintf(&b, "  %s: %s\n", c.Path, cmp.Or(string(c.To), "-"))
			continue
		}
		fmt.Fprintf(&b, "  %s: %s → %s\n", c.Path, cmp.Or(string(c.From), "-"), cmp.Or(string(c.To), "-"))
	}
	return b.String()
}
