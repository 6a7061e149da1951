package codec

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// FieldError is one problem of a document.
type FieldError struct {
	Path    string   `json:"path,omitempty"`    // resources.gpu.count, env.LR, args[2]; empty: the document
	Value   string   `json:"value,omitempty"`   // what was found, shortened
	Problem string   `json:"problem"`           // what is wrong with it
	Allowed []string `json:"allowed,omitempty"` // what would be right, when that is a list
	Hint    string   `json:"hint,omitempty"`    // the next step
	Line    int      `json:"line,omitempty"`    // from 1; 0: unknown
}

// Error is one line: where, what, and what to do about it.
func (e FieldError) Error() string {
	var b strings.Builder
	if e.Line > 0 {
		b.WriteString("line " + strconv.Itoa(e.Line) + ": ")
	}
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	b.WriteString(e.Problem)
	switch {
	case e.Hint != "":
		b.WriteString("; " + e.Hint)
	case len(e.Allowed) > 0:
		b.WriteString("; allowed: " + strings.Join(e.Allowed, ", "))
	}
	return b.String()
}

// Errors is every problem of a document, in the order of the document; it is
// what Parse and Load return as an error. An empty one is no error.
type Errors []FieldError

// Error is one line for each problem.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i := range e {
		lines[i] = e[i].Error()
	}
	return strings.Join(lines, "\n")
}

// OrNil keeps an empty list from becoming an error that is not nil.
func (e Errors) OrNil() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// InOrder is orNil after sorting by line; what has none comes last.
func (e Errors) InOrder() error {
	slices.SortStableFunc(e, func(a, b FieldError) int {
		return cmp.Compare(uint(a.Line-1), uint(b.Line-1))
	})
	return e.OrNil()
}

// MaxErrors bounds what a hopeless document costs and prints.
const MaxErrors = 100

// Add adds a problem, up to a bound.
func (e *Errors) Add(f FieldError) {
	if len(*e) < MaxErrors {
		f.Value = Shorten(f.Value)
		*e = append(*e, f)
	}
}

// Shorten keeps messages readable whatever was written.
func Shorten(s string) string {
	const most = 80
	runes := 0
	for i := range s {
		if runes == most {
			return s[:i] + "…"
		}
		runes++
	}
	return s
}

// DidYouMean suggests a word.
func DidYouMean(word string) string { return "did you mean " + word + "?" }

// Join is the path of a name below a path.
func Join(path, name string) string {
	if path == "" || strings.HasPrefix(name, "[") {
		return path + name
	}
	return path + "." + name
}
