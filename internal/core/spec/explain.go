package spec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core/nearest"
)

// Topic is what there is to say about one field, or about the whole document.
type Topic struct {
	Path     string   `json:"path,omitempty"` // empty: the document
	Name     string   `json:"name,omitempty"`
	Type     string   `json:"type"` // in words: string, list of strings, quantity …
	Doc      string   `json:"doc"`
	Default  string   `json:"default,omitempty"`
	Enum     []string `json:"enum,omitempty"`
	Min      string   `json:"min,omitempty"`
	Max      string   `json:"max,omitempty"`
	Example  string   `json:"example,omitempty"`
	Only     string   `json:"only,omitempty"` // the kinds it is for, with commas between
	Required bool     `json:"required,omitempty"`
	Short    string   `json:"short,omitempty"` // of a map or a list of maps: the field that a bare number or text stands for
	Part     string   `json:"part,omitempty"`  // the one that a bare number with a fraction stands for, where it is another
	Children []Topic  `json:"fields,omitempty"`
}

// Schema is the whole document, field by field.
func Schema() Topic { return root().topic() }

// Explain returns the topic of a path such as resources.gpu; "" is the whole
// document. It fails with a FieldError that suggests the nearest field.
func Explain(path string) (Topic, error) {
	at := root()
	if path == "" {
		return root().topic(), nil
	}
	for name := range strings.SplitSeq(path, ".") {
		name, _, _ = strings.Cut(name, "[") // volumes[0].path is written in errors
		next := at.byName[name]
		if next == nil {
			return Topic{}, at.noSuch(path, name)
		}
		at = next
	}
	return at.topic(), nil
}

func (f *field) noSuch(path, name string) error {
	e := FieldError{Path: shorten(path), Value: shorten(name), Problem: "no such field", Allowed: f.names}
	if near := nearest.Word(name, f.names); near != "" {
		e.Hint = didYouMean(join(f.path, near))
		return e
	}
	root().walk(func(c *field) {
		if c.name == name && e.Hint == "" {
			e.Hint = didYouMean(c.path)
		}
	})
	if len(f.fields) == 0 {
		e.Hint = f.path + " has no fields; it is a " + f.words()
	}
	return e
}

func (f *field) topic() Topic {
	t := Topic{
		Path: f.path, Name: f.name, Type: f.words(), Doc: f.doc, Default: f.fallbackText, Enum: slices.Clone(f.enum),
		Min: f.lowest, Max: f.highest, Example: f.example, Only: strings.Join(f.only, ","), Required: f.required,
	}
	short := f.short
	if f.item != nil {
		short = f.item.short
	}
	if short != nil {
		t.Short = short.name
	}
	if f.part != nil {
		t.Part = f.part.name
	}
	for _, c := range f.fields {
		t.Children = append(t.Children, c.topic())
	}
	return t
}

// words names the field's type for people.
func (f *field) words() string {
	switch f.kind {
	case fieldText:
		return "string"
	case fieldInt:
		return "integer"
	case fieldBool:
		return "boolean"
	case fieldTexts:
		return "list of strings"
	case fieldInts:
		return "list of integers"
	case fieldList:
		if f.item.short != nil {
			return "list of " + f.item.short.words() + "s or maps"
		}
		return "list of maps"
	case fieldTextMap:
		return "map of string to string"
	case fieldCounts:
		return "map of string to integer"
	case fieldParameters:
		return "map of anything"
	case fieldScalar:
		return scalarWords[f.typ.Name()]
	}
	switch {
	case f.part != nil:
		return f.part.words() + " or map"
	case f.short != nil:
		return f.short.words() + " or map"
	}
	return "map"
}

var scalarWords = map[string]string{
	"Command":    "string or list of strings",
	"Quantity":   "quantity",
	"Priority":   "name or integer",
	"Duration":   "duration",
	"Share":      "number",
	"ShareLimit": "number",
	"MIG":        "string or map of string to integer",
}

// Text is t for a terminal of 80 columns.
func (t Topic) Text() string {
	var b strings.Builder
	if t.Path == "" {
		fmt.Fprintf(&b, "WORKLOAD  <%s>\n\n", t.Type)
	} else {
		fmt.Fprintf(&b, "FIELD: %s  <%s>\n\n", t.Path, t.Type)
	}
	b.WriteString(wrap(t.Doc, "    ", 76))
	facts := map[string]string{
		"Default": t.Default, "Allowed": strings.Join(t.Enum, ", "), "Example": t.Example,
		"Only for": t.Only, "Range": t.bounds(),
	}
	if t.Only != "" {
		facts["Only for"] = "kind " + strings.ReplaceAll(t.Only, ",", " or ")
	}
	if t.Required {
		facts["Required"] = "yes"
	}
	maps.DeleteFunc(facts, func(_, v string) bool { return v == "" })
	if len(facts) > 0 {
		b.WriteString("\n")
	}
	for _, name := range slices.Sorted(maps.Keys(facts)) {
		fmt.Fprintf(&b, "    %-10s%s\n", name+":", facts[name])
	}
	if len(t.Children) > 0 {
		b.WriteString("\nFIELDS:\n")
		for _, c := range t.Children {
			fmt.Fprintf(&b, "  %s  <%s>\n%s", c.Name, c.Type, wrap(c.Doc, "      ", 74))
		}
	}
	return b.String()
}

func (t Topic) bounds() string {
	switch {
	case t.Min != "" && t.Max != "":
		return t.Min + " to " + t.Max
	case t.Min != "":
		return "at least " + t.Min
	default:
		return ""
	}
}

// wrap breaks text at spaces into lines of at most width characters beside
// the indent.
func wrap(text, indent string, width int) string {
	var b strings.Builder
	column := 0
	for word := range strings.FieldsSeq(text) {
		n := len([]rune(word))
		switch {
		case column == 0:
			b.WriteString(indent)
		case column+1+n > width:
			b.WriteString("\n" + indent)
			column = 0
		default:
			b.WriteString(" ")
			column++
		}
		b.WriteString(word)
		column += n
	}
	if column > 0 {
		b.WriteString("\n")
	}
	return b.String()
}
