package cli

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
	"github.com/musterhq/muster/internal/convert"
)

type applyOptions struct {
	files    []string
	dry, yes bool
}

func newApply(s *session) *cobra.Command {
	o := &applyOptions{}
	cmd := &cobra.Command{
		Use: "apply -f FILE [flags]", Short: "Make workloads, projects, departments, pools, licenses, nodes and reservations what files say",
		Long: `Makes records what files say: of projects, departments, pools, licenses,
nodes and reservations all of them, or none where one of them cannot be; then
workloads, one after the other. A file holds one or several documents, divided by
lines of ---, each with its kind (Project, Department, Pool, License, Node,
Reservation, or the kind of a workload), its name, and its other fields as in
-o yaml of the record. What a document does not say is what it is by default, but for what changes by the day: stopMode of projects and cordon
of nodes stay as they are unless they are named. Records that no document names
stay as they are. Doing it again changes nothing.

Of a workload that exists every field that differs is shown, with what it takes:
priority, limits and labels change live; a service takes the rest over a few
replicas at a time; other workloads are ended for it and run again. Name, project
and kind cannot change. On a terminal it asks first; elsewhere only --yes lets it
end what runs.`,
		Example: "  muster apply -f organisation.yaml --dry-run\n  muster apply -f departments.yaml -f projects.yaml\n  muster apply -f train.yaml --yes",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(o.files) == 0 {
				return usage("muster apply takes a file", "name it with -f FILE; - is standard input")
			}
			return s.apply(cmd.Context(), o)
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

// line is that of the field at path.
func (r placedRecord) line(path string) int { return r.before + lineOf(r.node, path) }

// manifest is what the files of an apply say.
type manifest struct {
	records api.Manifest
	places  []placedRecord // of records
	works   []*applyWork
}

func (s *session) readManifest(files []string) (*manifest, error) {
	m := &manifest{records: api.Manifest{Items: []map[string]any{}}}
	for _, file := range files {
		data, err := s.read(file)
		if err != nil {
			return nil, err
		}
		if file == "-" {
			file = "standard input"
		}
		if err := m.read(file, data); err != nil {
			return nil, err
		}
	}
	if len(m.records.Items)+len(m.works) == 0 {
		return nil, usage("there is no record in "+strings.Join(files, ", "), "each has its kind and name; muster apply --help shows how")
	}
	seen := map[string]bool{}
	for _, a := range m.works {
		key := a.doc.Project + "/" + a.doc.Name
		if seen[key] {
			return nil, usage(fmt.Sprintf("workload %s stands there twice", a.doc.Name), "write each record once")
		}
		seen[key] = true
	}
	return m, nil
}

func (s *session) apply(ctx context.Context, o *applyOptions) error {
	m, err := s.readManifest(o.files)
	if err != nil {
		return err
	}
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	if err := s.compare(ctx, c, m.works); err != nil {
		return err
	}
	done := &api.Applied{Items: []api.AppliedItem{}, DryRun: o.dry}
	records := func(dry bool) error {
		if len(m.records.Items) == 0 {
			return nil
		}
		out, err := c.Apply(ctx, m.records, dry)
		if err == nil {
			done = out
		}
		return placedProblem(err, m.places)
	}
	ask := !o.dry && !o.yes && (s.io.InTerminal || len(m.works) > 0)
	if o.dry || ask || len(m.works) > 0 {
		if err := records(true); err != nil {
			return err
		}
		if err := s.foresee(ctx, c, m.works, done.Items); err != nil {
			return err
		}
	}
	if ask {
		if about, ending, any := s.planOf(done.Items, m.works); any {
			if err := s.agreed(about, ending); err != nil {
				return err
			}
		}
	}
	if !o.dry {
		if err := records(false); err != nil {
			return err
		}
	}
	for _, item := range done.Items {
		if err := s.applied(item, o.dry); err != nil {
			return err
		}
	}
	if !o.dry {
		for i, a := range m.works {
			if err := s.carryOutWork(ctx, c, a); err != nil {
				return errors.Join(err, s.showApplied(done, m.works[:i], false))
			}
		}
	}
	return s.showApplied(done, m.works, o.dry)
}

// showApplied prints what has become of everything.
func (s *session) showApplied(done *api.Applied, works []*applyWork, dry bool) error {
	if s.machine() {
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
		return s.document(out)
	}
	for _, a := range works {
		text := s.describeWork(a, s.io.OutTerminal, dry)
		if s.format() == "name" {
			text = "workload/" + a.doc.Name + "\n"
		}
		if _, err := fmt.Fprint(s.io.Out, text); err != nil {
			return err
		}
	}
	return nil
}

// read takes the documents of a file.
func (m *manifest) read(file string, data []byte) error {
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
			m.records.Items, m.places = append(m.records.Items, item), append(m.places, placedRecord{file: file, before: from, node: doc.Body})
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
	return &failure{code: exitUsage, file: file, problem: &api.Problem{
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
	f := &failure{code: codeOf(p), problem: &api.Problem{Title: p.Title, Status: p.Status, Code: p.Code, Detail: p.Detail, Hint: p.Hint}}
	several := slices.ContainsFunc(places, func(r placedRecord) bool { return r.file != places[0].file })
	for _, e := range p.Errors {
		rest, ok := strings.CutPrefix(e.Path, "items[")
		number, path, _ := strings.Cut(rest, "]")
		if !ok && len(places) == 1 { // there is no other
			number, path, ok = "0", e.Path, true
		}
		i, nerr := strconv.Atoi(number)
		if !ok || nerr != nil || i >= len(places) {
			f.problem.Errors = append(f.problem.Errors, e)
			continue
		}
		e.Path = strings.TrimPrefix(path, ".")
		e.Line = places[i].line(e.Path)
		if several {
			e.Path, e.Line = place(places[i].file, e.Line)+e.Path, 0
		} else {
			f.file = places[i].file
		}
		f.problem.Errors = append(f.problem.Errors, e)
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
func (s *session) applied(item api.AppliedItem, dry bool) error {
	if s.machine() {
		return nil // all of it comes in one
	}
	s.warn(item.Warnings)
	if s.format() == "name" {
		_, err := fmt.Fprintln(s.io.Out, strings.ToLower(item.Kind)+"/"+item.Name)
		return err
	}
	_, err := fmt.Fprint(s.io.Out, itemLines(item, dry))
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
