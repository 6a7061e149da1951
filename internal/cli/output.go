package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
)

// formats are the values of --output.
var formats = []string{"table", "wide", "json", "yaml", "name", "csv", "jsonl", templatePrefix + "TEXT"}

// templatePrefix begins a format that is a Go template over the JSON of each
// item: template={{.name}} {{.phase}}.
const templatePrefix = "template="

func checkFormat(f string) error {
	if strings.HasPrefix(f, templatePrefix) {
		if _, err := parseTemplate(f); err != nil {
			return usage(fmt.Sprintf("--output: %v", err), "a Go template over the fields of -o json, like 'template={{.name}} {{.phase}}'")
		}
		return nil
	}
	if f == "" || slices.Contains(formats, f) {
		return nil
	}
	e := usage(fmt.Sprintf("--output: %q is not a format", f), "one of "+strings.Join(formats, ", "))
	if near := nearest(f, formats); len(near) > 0 {
		e.problem.Hint = "did you mean " + near[0] + "?"
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
func (s *session) fill(data []byte) error {
	t, err := parseTemplate(s.format())
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
		return usage(fmt.Sprintf("--output: %v", err), "muster get -o json shows the fields")
	}
	_, err = s.io.Out.Write(out.Bytes())
	return err
}

// templated reports whether --output is a template.
func (s *session) templated() bool { return strings.HasPrefix(s.format(), templatePrefix) }

func (s *session) format() string {
	if s.output == "" {
		return "table"
	}
	return s.output
}

// machine reports whether the output is a document rather than a text.
func (s *session) machine() bool {
	switch s.format() {
	case "json", "yaml", "jsonl":
		return true
	default:
		return s.templated()
	}
}

// brief writes a record as a document, or its name alone, where that is asked
// for. Otherwise shown is false: it is to be told to a person.
func (s *session) brief(v any, name string) (shown bool, err error) {
	switch {
	case s.machine():
		return true, s.document(v)
	case s.format() == "name":
		_, err := fmt.Fprintln(s.io.Out, name)
		return true, err
	}
	return false, nil
}

// document writes v, as the REST API has it, in the chosen format.
func (s *session) document(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if s.templated() {
		return s.fill(data)
	}
	switch s.format() {
	case "yaml":
		if data, err = yamlOf(data); err != nil {
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
	_, err = s.io.Out.Write(data)
	return err
}

// yamlOf is a JSON document as YAML, its fields in the same order.
func yamlOf(data []byte) ([]byte, error) {
	var v yaml.MapSlice
	if err := yaml.UnmarshalWithOptions(data, &v, yaml.UseOrderedMap()); err != nil {
		return nil, fmt.Errorf("the answer cannot be written as YAML: %w", err)
	}
	return yaml.MarshalWithOptions(v, yaml.IndentSequence(true), yaml.UseLiteralStyleIfMultiline(true))
}

// tableFlags are the flags of every command that prints a table.
type tableFlags struct {
	columns   []string
	noHeaders bool
	absolute  bool
	utc       bool
}

func (t *tableFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVar(&t.columns, "columns", nil, "only these columns, in this order")
	f.BoolVar(&t.noHeaders, "no-headers", false, "no line of titles")
	f.BoolVar(&t.absolute, "absolute", false, "instants instead of ages")
	f.BoolVar(&t.utc, "utc", false, "instants in UTC; implies --absolute")
}

// column is one column of a table of T.
type column[T any] struct {
	title string
	wide  bool // only with -o wide
	cell  func(T) string
	tone  func(T) tone // nil: plain
}

// table is a list that is to be printed.
type table[T any] struct {
	columns []column[T]
	items   []T
	name    func(T) string
	body    any  // what -o json prints
	whole   bool // nothing is cut on a terminal
}

func print[T any](s *session, f tableFlags, t table[T]) error {
	format := s.format()
	if s.templated() {
		format = "jsonl" // item by item, too
	}
	switch format {
	case "json", "yaml":
		return s.document(t.body)
	case "jsonl":
		for _, item := range t.items {
			if err := s.document(item); err != nil {
				return err
			}
		}
		return nil
	case "name":
		for _, item := range t.items {
			if _, err := fmt.Fprintln(s.io.Out, t.name(item)); err != nil {
				return err
			}
		}
		return nil
	}
	cols, err := choose(t.columns, f.columns, s.format() == "wide" || s.format() == "csv")
	if err != nil {
		return err
	}
	g := grid{noHeaders: f.noHeaders, whole: t.whole}
	for _, c := range cols {
		g.titles = append(g.titles, c.title)
	}
	for _, item := range t.items {
		row := make([]cell, len(cols))
		for i, c := range cols {
			row[i].text = c.cell(item)
			if c.tone != nil {
				row[i].tone = c.tone(item)
			}
		}
		g.rows = append(g.rows, row)
	}
	return s.grid(g)
}

func choose[T any](all []column[T], names []string, wide bool) ([]column[T], error) {
	var chosen []column[T]
	if len(names) == 0 {
		for _, c := range all {
			if wide || !c.wide {
				chosen = append(chosen, c)
			}
		}
		return chosen, nil
	}
	titles := make([]string, len(all))
	for i, c := range all {
		titles[i] = strings.ToLower(c.title)
	}
	for _, n := range names {
		i := slices.Index(titles, strings.ToLower(n))
		if i < 0 {
			return nil, usage(fmt.Sprintf("--columns: there is no column %q", n), "one of "+strings.Join(titles, ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}
