package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core/nearest"
	"github.com/musterhq/muster/internal/core/spec/codec"
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

func (f *Field) noSuch(path, name string) error {
	e := codec.FieldError{Path: codec.Shorten(path), Value: codec.Shorten(name), Problem: "no such field", Allowed: f.Names}
	if near := nearest.Word(name, f.Names); near != "" {
		e.Hint = codec.DidYouMean(codec.Join(f.Path, near))
		return e
	}
	f.top().Walk(func(c *Field) {
		if c.Name == name && e.Hint == "" {
			e.Hint = codec.DidYouMean(c.Path)
		}
	})
	if len(f.Fields) == 0 {
		e.Hint = f.Path + " has no fields; it is a " + f.words()
	}
	return e
}

// Topic is what there is to say about f.
func (f *Field) Topic() Topic {
	t := Topic{
		Path: f.Path, Name: f.Name, Type: f.words(), Doc: f.Doc, Default: f.FallbackText, Enum: slices.Clone(f.Enum),
		Min: f.Lowest, Max: f.Highest, Example: f.Example, Only: strings.Join(f.Only, ","), Required: f.Required,
	}
	short := f.Short
	if f.Item != nil {
		short = f.Item.Short
	}
	if short != nil {
		t.Short = short.Name
	}
	if f.Part != nil {
		t.Part = f.Part.Name
	}
	for _, c := range f.Fields {
		t.Children = append(t.Children, c.Topic())
	}
	return t
}

// words names the field's type for people.
func (f *Field) words() string {
	switch f.Kind {
	case Text:
		return "string"
	case Int:
		return "integer"
	case Bool:
		return "boolean"
	case Texts:
		return "list of strings"
	case Ints:
		return "list of integers"
	case List:
		if f.Item.Short != nil {
			return "list of " + f.Item.Short.words() + "s or maps"
		}
		return "list of maps"
	case TextMap:
		return "map of string to string"
	case Counts:
		return "map of string to integer"
	case Parameters:
		return "map of anything"
	case Scalar:
		return f.word
	}
	switch {
	case f.Part != nil:
		return f.Part.words() + " or map"
	case f.Short != nil:
		return f.Short.words() + " or map"
	}
	return "map"
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

// Explain is the topic of a path below f; it fails with a FieldError that suggests the
// nearest field.
func (f *Field) Explain(path string) (Topic, error) {
	at := f
	if path == "" {
		return f.Topic(), nil
	}
	for name := range strings.SplitSeq(path, ".") {
		name, _, _ = strings.Cut(name, "[") // volumes[0].path is written in errors
		next := at.ByName[name]
		if next == nil {
			return Topic{}, at.noSuch(path, name)
		}
		at = next
	}
	return at.Topic(), nil
}
