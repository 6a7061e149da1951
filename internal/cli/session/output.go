package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"

	"github.com/goccy/go-yaml"
	"github.com/musterhq/muster/internal/core/nearest"
	"github.com/spf13/cobra"
)

// Formats are the values of --output.
var Formats = []string{"table", "wide", "json", "yaml", "name", "csv", "jsonl", templatePrefix + "TEXT"}

// templatePrefix begins a format that is a Go template over the JSON of each
// item: template={{.name}} {{.phase}}.
const templatePrefix = "template="

func checkFormat(f string) error {
	if strings.HasPrefix(f, templatePrefix) {
		if _, err := parseTemplate(f); err != nil {
			return UsageError(fmt.Sprintf("--output: %v", err), "a Go template over the fields of -o json, like 'template={{.name}} {{.phase}}'")
		}
		return nil
	}
	if f == "" || slices.Contains(Formats, f) {
		return nil
	}
	e := UsageError(fmt.Sprintf("--output: %q is not a format", f), "one of "+strings.Join(Formats, ", "))
	if near := nearest.Words(f, Formats); len(near) > 0 {
		e.Problem.Hint = "did you mean " + near[0] + "?"
	}
	return e
}

func parseTemplate(f string) (*template.Template, error) {
	text := strings.TrimPrefix(f, templatePrefix)
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return template.New("template").Option("missingkey=zero").Parse(text)
}

// fill writes a JSON document through the template of --output.
func (s *Session) fill(data []byte) error {
	t, err := parseTemplate(s.Format())
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, v); err != nil {
		return UsageError(fmt.Sprintf("--output: %v", err), "muster get -o json shows the fields")
	}
	_, err = s.IO.Out.Write(out.Bytes())
	return err
}

// Templated reports whether --output is a template.
func (s *Session) Templated() bool { return strings.HasPrefix(s.Format(), templatePrefix) }

// Format is that of --output, or of a table where none is given.
func (s *Session) Format() string {
	if s.Output == "" {
		return "table"
	}
	return s.Output
}

// Machine reports whether the output is a document rather than a text.
func (s *Session) Machine() bool {
	switch s.Format() {
	case "json", "yaml", "jsonl":
		return true
	default:
		return s.Templated()
	}
}

// Brief writes a record as a document, or its name alone, where that is asked
// for. Otherwise shown is false: it is to be told to a person.
func (s *Session) Brief(v any, name string) (shown bool, err error) {
	switch {
	case s.Machine():
		return true, s.Document(v)
	case s.Format() == "name":
		_, err := fmt.Fprintln(s.IO.Out, name)
		return true, err
	}
	return false, nil
}

// Document writes v, as the REST API has it, in the chosen format.
func (s *Session) Document(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if s.Templated() {
		return s.fill(data)
	}
	switch s.Format() {
	case "yaml":
		if data, err = YamlOf(data); err != nil {
			return err
		}
	case "jsonl":
		data = append(data, '\n')
	default:
		var b bytes.Buffer
		if err := json.Indent(&b, data, "", "  "); err != nil {
			return err
		}
		data = append(b.Bytes(), '\n')
	}
	_, err = s.IO.Out.Write(data)
	return err
}

// YamlOf is a JSON document as YAML, its fields in the same order.
func YamlOf(data []byte) ([]byte, error) {
	var v yaml.MapSlice
	if err := yaml.UnmarshalWithOptions(data, &v, yaml.UseOrderedMap()); err != nil {
		return nil, fmt.Errorf("the answer cannot be written as YAML: %w", err)
	}
	return yaml.MarshalWithOptions(v, yaml.IndentSequence(true), yaml.UseLiteralStyleIfMultiline(true))
}

// TableFlags are the flags of every command that prints a table.
type TableFlags struct {
	Columns   []string
	NoHeaders bool
	absolute  bool
	Utc       bool
}

// Register gives cmd the flags of a table.
func (t *TableFlags) Register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVar(&t.Columns, "columns", nil, "only these columns, in this order")
	f.BoolVar(&t.NoHeaders, "no-headers", false, "no line of titles")
	f.BoolVar(&t.absolute, "absolute", false, "instants instead of ages")
	f.BoolVar(&t.Utc, "utc", false, "instants in UTC; implies --absolute")
}

// Column is one column of a table of T.
type Column[T any] struct {
	Title string
	Wide  bool // only with -o wide
	Cell  func(T) string
	Tone  func(T) Tone // nil: plain
}

// Table is a list to print.
type Table[T any] struct {
	Columns []Column[T]
	Items   []T
	Name    func(T) string
	Body    any  // what -o json prints
	Whole   bool // nothing is cut on a terminal
}

// Print writes a table in the format of --output.
func Print[T any](s *Session, f TableFlags, t Table[T]) error {
	format := s.Format()
	if s.Templated() {
		format = "jsonl" // item by item, too
	}
	switch format {
	case "json", "yaml":
		return s.Document(t.Body)
	case "jsonl":
		for _, item := range t.Items {
			if err := s.Document(item); err != nil {
				return err
			}
		}
		return nil
	case "name":
		for _, item := range t.Items {
			if _, err := fmt.Fprintln(s.IO.Out, t.Name(item)); err != nil {
				return err
			}
		}
		return nil
	}
	cols, err := Choose(t.Columns, f.Columns, s.Format() == "wide" || s.Format() == "csv")
	if err != nil {
		return err
	}
	g := Grid{NoHeaders: f.NoHeaders, Whole: t.Whole}
	for _, c := range cols {
		g.Titles = append(g.Titles, c.Title)
	}
	for _, item := range t.Items {
		row := make([]Cell, len(cols))
		for i, c := range cols {
			row[i].Text = c.Cell(item)
			if c.Tone != nil {
				row[i].Tone = c.Tone(item)
			}
		}
		g.Rows = append(g.Rows, row)
	}
	return s.Grid(g)
}

// Choose are the columns of these names; without names, those that are not only for -o wide.
func Choose[T any](all []Column[T], names []string, wide bool) ([]Column[T], error) {
	var chosen []Column[T]
	if len(names) == 0 {
		for _, c := range all {
			if wide || !c.Wide {
				chosen = append(chosen, c)
			}
		}
		return chosen, nil
	}
	titles := make([]string, len(all))
	for i, c := range all {
		titles[i] = strings.ToLower(c.Title)
	}
	for _, n := range names {
		i := slices.Index(titles, strings.ToLower(n))
		if i < 0 {
			return nil, UsageError(fmt.Sprintf("--columns: there is no column %q", n), "one of "+strings.Join(titles, ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// Files prints records as one file has them, to be applied again.
func (s *Session) Files(records []any) error {
	for i, r := range records {
		if i > 0 {
			if _, err := io.WriteString(s.IO.Out, "---\n"); err != nil {
				return err
			}
		}
		if err := s.File(r); err != nil {
			return err
		}
	}
	return nil
}

// File prints a record as a file has it, to be applied again.
func (s *Session) File(record any) error {
	text, err := json.Marshal(record)
	if err == nil {
		text, err = yaml.JSONToYAML(text)
	}
	if err == nil {
		_, err = s.IO.Out.Write(text)
	}
	return err
}
