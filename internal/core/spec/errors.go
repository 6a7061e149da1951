package spec

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

// orNil keeps an empty list from becoming an error that is not nil.
func (e Errors) orNil() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// inOrder is orNil after sorting by line; what has none comes last.
func (e Errors) inOrder() error {
	slices.SortStableFunc(e, func(a, b FieldError) int {
		return cmp.Compare(uint(a.Line-1), uint(b.Line-1))
	})
	return e.orNil()
}

// maxErrors bounds what a hopeless document costs and prints.
const maxErrors = 100

func (e *Errors) add(f FieldError) {
	if len(*e) < maxErrors {
		f.Value = shorten(f.Value)
		*e = append(*e, f)
	}
}

// shorten keeps messages readable whatever was written.
func shorten(s string) string {
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
