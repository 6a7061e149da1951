package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/spf13/cobra"

	"github.com/musterhq/muster/api"
)

func newApply(s *session) *cobra.Command {
	var files []string
	var dry bool
	cmd := &cobra.Command{
		Use: "apply -f FILE [flags]", Short: "Make projects, departments, pools and nodes what files say",
		Long: `Makes records what files say: all of them, or none where one of them cannot be.
A file holds one or several documents, divided by lines of ---, each with its kind
(Project, Department, Pool or Node), its name, and its other fields as in
-o yaml of the record. What a document does not say is what it is by default, but
for what changes by the day: stopMode of projects and cordon of nodes stay as
they are unless they are named. Records that no document names stay as they are.
Doing it again changes nothing.`,
		Example: "  muster apply -f organisation.yaml --dry-run\n  muster apply -f departments.yaml -f projects.yaml\n  muster project list -o yaml",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(files) == 0 {
				return usage("muster apply takes a file", "name it with -f FILE; - is standard input")
			}
			return s.apply(cmd.Context(), files, dry)
		},
	}
	cmd.Flags().StringArrayVarP(&files, "file", "f", nil, "file with the records; - is standard input; repeat for several")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "say what would change, and change nothing")
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

func (s *session) apply(ctx context.Context, files []string, dry bool) error {
	m := api.Manifest{Items: []map[string]any{}}
	var places []placedRecord
	for _, file := range files {
		data, err := s.read(file)
		if err != nil {
			return err
		}
		if file == "-" {
			file = "standard input"
		}
		items, at, err := recordsOf(file, data)
		if err != nil {
			return err
		}
		m.Items, places = append(m.Items, items...), append(places, at...)
	}
	if len(m.Items) == 0 {
		return usage("there is no record in "+strings.Join(files, ", "), "each has its kind and name; muster apply --help shows how")
	}
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	done, err := c.Apply(ctx, m, dry)
	if err != nil {
		return placedProblem(err, places)
	}
	if s.machine() {
		return s.document(done)
	}
	for _, item := range done.Items {
		if err := s.applied(item, dry); err != nil {
			return err
		}
	}
	return nil
}

// recordsOf reads the documents of a file.
func recordsOf(file string, data []byte) ([]map[string]any, []placedRecord, error) {
	var items []map[string]any
	var places []placedRecord
	for from, text := range documents(data) {
		parsed, err := parser.ParseBytes(text, 0)
		if err != nil {
			return nil, nil, unreadable(file, from, err)
		}
		for _, doc := range parsed.Docs {
			if doc.Body == nil || doc.Body.Type() == ast.NullType || doc.Body.Type() == ast.CommentType || doc.Body.Type() == ast.CommentGroupType {
				continue // nothing between two lines of ---
			}
			var item map[string]any
			if err := yaml.NodeToValue(doc.Body, &item); err != nil {
				return nil, nil, unreadable(file, from, err)
			}
			items, places = append(items, item), append(places, placedRecord{file: file, before: from, node: doc.Body})
		}
	}
	return items, places, nil
}

// documents splits a file at its lines of ---, which stand for nothing else
// where a line begins; the parser would pass over all that follows a document
// of comments alone. It yields how many lines stand before each.
func documents(data []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		from, number := 0, 0
		var text []byte
		for line := range bytes.Lines(data) {
			number++
			word := bytes.TrimRight(line, " \t\r\n")
			if bytes.Equal(word, []byte("---")) || bytes.HasPrefix(line, []byte("--- ")) {
				if !yield(from, text) {
					return
				}
				from, text = number-1, bytes.Repeat([]byte(" "), 3)
				line = line[3:]
			}
			text = append(text, line...)
		}
		yield(from, text)
	}
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
	s.warn(item.Warnings)
	kind := strings.ToLower(item.Kind)
	if s.format() == "name" {
		_, err := fmt.Fprintln(s.io.Out, kind+"/"+item.Name)
		return err
	}
	action := item.Action
	if dry && action != "unchanged" {
		action = "would be " + action
	}
	if _, err := fmt.Fprintf(s.io.Out, "%s %s %s\n", kind, item.Name, action); err != nil {
		return err
	}
	for _, c := range item.Changes {
		from, to := string(c.From), string(c.To)
		if from == "" {
			from = "-"
		}
		if to == "" {
			to = "-"
		}
		line := fmt.Sprintf("  %s: %s → %s", c.Path, from, to)
		if item.Action == "created" {
			line = fmt.Sprintf("  %s: %s", c.Path, to)
		}
		if _, err := fmt.Fprintln(s.io.Out, line); err != nil {
			return err
		}
	}
	return nil
}
