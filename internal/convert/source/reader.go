// Package source is what the readers of all formats share. A reader is given
// the lines, or the tree of a YAML file, of a source; it asks for each entry
// once and says what became of it, and gives documents and notes.
package source

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// Reader collects what a source becomes.
type Reader struct {
	Format    Format
	Documents []*spec.Document
	Schedules map[*spec.Document]*Schedule // of documents that are run again and again
	Notes     []Note
	Errors    codec.Errors
	Partial   bool // of a workload: what is missing comes from elsewhere
	beside    bool // there is something that is no work
}

// Beside notes what is no work, and needs nothing to be done: a source that holds nothing
// else is right, and has no documents.
func (r *Reader) Beside(n Note) {
	r.Note(n)
	r.beside = true
}

// Trees are the documents of a source that is YAML; false: it is none, or empty.
func (r *Reader) Trees(data []byte) ([]codec.Tree, bool) {
	if !r.IsUTF8(data) {
		return nil, false
	}
	trees, err := codec.ReadTrees(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")))
	switch {
	case err != nil:
		r.Fail(err)
	case len(trees) == 0:
		r.Refuse(1, "", "", "the file is empty", "import a file that holds something")
	}
	return trees, err == nil && len(trees) > 0
}

// Add adds a document to the result; nil adds none.
func (r *Reader) Add(doc *spec.Document) {
	if doc != nil {
		r.Documents = append(r.Documents, doc)
	}
}

const maxNotes = 20_000

// Note records what became of a part of the source.
func (r *Reader) Note(n Note) {
	if len(r.Notes) < maxNotes {
		n.Value = Shorten(n.Value)
		r.Notes = append(r.Notes, n)
	}
}

const maxRefusals = 100

// Refuse says that nothing can be made of the source, and why.
func (r *Reader) Refuse(line int, field, value, reason, hint string) {
	if len(r.Errors) < maxRefusals {
		r.Errors = append(r.Errors, codec.FieldError{Line: line, Path: field, Value: Shorten(value), Problem: reason, Hint: hint})
	}
	r.Note(Note{Line: line, Field: field, Value: value, Fate: Refused, Reason: reason})
}

// Fail takes over the errors of another parser.
func (r *Reader) Fail(err error) {
	errs, ok := err.(codec.Errors)
	if !ok {
		errs = codec.Errors{{Problem: err.Error()}}
	}
	for _, e := range errs {
		r.Refuse(max(e.Line, 1), e.Path, e.Value, e.Problem, e.Hint)
	}
}

// Result is what came of it. Documents must be valid: what a source may hold
// and no workload can is refused here at the latest.
func (r *Reader) Result() (*Result, error) {
	slices.SortStableFunc(r.Notes, func(a, b Note) int { return cmp.Compare(a.Line, b.Line) })
	res := &Result{Format: r.Format, Notes: r.Notes}
	if len(r.Errors) == 0 {
		for _, d := range r.Documents {
			shells(d)
			if !r.Partial {
				r.validate(d)
			}
		}
	}
	if len(r.Errors) == 0 && len(r.Documents) == 0 && !r.beside {
		r.Refuse(1, "", "", "there is no workload in it", "")
	}
	if len(r.Errors) > 0 {
		slices.SortStableFunc(r.Errors, func(a, b codec.FieldError) int { return cmp.Compare(a.Line, b.Line) })
		return res, r.Errors
	}
	res.Documents, res.Schedules = r.Documents, r.Schedules
	return res, nil
}

// shells makes command lines of what sh is given with -c, as authors of
// documents write them.
func shells(d *spec.Document) {
	line := func(c *spec.Command, args int) {
		if a := c.Argv; len(a) == 3 && a[0] == "sh" && a[1] == "-c" && args == 0 && strings.TrimSpace(a[2]) != "" {
			c.Shell = true
		}
	}
	line(&d.Command, len(d.Args))
	if d.Master != nil {
		line(&d.Master.Command, len(d.Master.Args))
		if d.Command.Shell && len(d.Master.Command.Argv) == 0 && len(d.Master.Args) > 0 {
			d.Command.Shell = false
		}
	}
	for i := range d.Init {
		line(&d.Init[i].Command, 0)
	}
}

// validate gives what is wrong with a document the line that it comes from.
func (r *Reader) validate(doc *spec.Document) {
	for _, e := range spec.Validate(spec.WithDefaults(doc)) {
		line, field := 1, e.Path
		best := -1
		for _, n := range r.Notes {
			if n.To != "" && (e.Path == n.To || strings.HasPrefix(e.Path, n.To+".") || strings.HasPrefix(e.Path, n.To+"[") || strings.HasPrefix(n.To, e.Path)) && len(n.To) > best {
				line, field, best = n.Line, n.Field, len(n.To)
				if inner, ok := strings.CutPrefix(e.Path, n.To); ok { // of what stands there, which field
					field += inner
				}
			}
		}
		r.Refuse(line, field, e.Value, e.Problem, e.Hint)
	}
}

// invalid is where data is not UTF-8; -1: nowhere.
func invalid(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for i := 0; i < len(data); {
		c, size := utf8.DecodeRune(data[i:])
		if c == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
	return -1
}

// IsUTF8 reports whether data is UTF-8; it is refused, with the line, where it is
// not.
func (r *Reader) IsUTF8(data []byte) bool {
	at := invalid(data)
	if at < 0 {
		return true
	}
	r.Refuse(1+bytes.Count(data[:at], []byte("\n")), "", "", fmt.Sprintf("byte 0x%02x is not UTF-8 text", data[at]), "save the file as UTF-8")
	return false
}

// Single is the map of a file that holds one workload; nil, and refused, where
// it holds several documents.
func (r *Reader) Single(trees []codec.Tree) *Map {
	if len(trees) > 1 {
		r.Refuse(trees[1].Line, "---", "", "a second document follows", "import one workload at a time")
		return nil
	}
	return r.Map(&trees[0], "")
}
