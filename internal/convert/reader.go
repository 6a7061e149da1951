package convert

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/musterhq/muster/internal/core/spec"
)

// reader collects what a source becomes.
type reader struct {
	format Format
	docs   []*spec.Document
	notes  []Note
	errs   spec.Errors
	part   bool // of a workload: what is missing comes from elsewhere
}

func (r *reader) add(doc *spec.Document) {
	if doc != nil {
		r.docs = append(r.docs, doc)
	}
}

const maxNotes = 20_000

func (r *reader) note(n Note) {
	if len(r.notes) < maxNotes {
		n.Value = shorten(n.Value)
		r.notes = append(r.notes, n)
	}
}

const maxRefusals = 100

// refuse says that nothing can be made of the source, and why.
func (r *reader) refuse(line int, field, value, reason, hint string) {
	if len(r.errs) < maxRefusals {
		r.errs = append(r.errs, spec.FieldError{Line: line, Path: field, Value: shorten(value), Problem: reason, Hint: hint})
	}
	r.note(Note{Line: line, Field: field, Value: value, Fate: Refused, Reason: reason})
}

// fail takes over the errors of another parser.
func (r *reader) fail(err error) {
	errs, ok := err.(spec.Errors)
	if !ok {
		errs = spec.Errors{{Problem: err.Error()}}
	}
	for _, e := range errs {
		r.refuse(max(e.Line, 1), e.Path, e.Value, e.Problem, e.Hint)
	}
}

// result is what came of it. Documents must be valid: what a source may hold
// and no workload can is refused here at the latest.
func (r *reader) result() (*Result, error) {
	slices.SortStableFunc(r.notes, func(a, b Note) int { return cmp.Compare(a.Line, b.Line) })
	res := &Result{Format: r.format, Notes: r.notes}
	if len(r.errs) == 0 {
		for _, d := range r.docs {
			shells(d)
			if !r.part {
				r.validate(d)
			}
		}
	}
	if len(r.errs) == 0 && len(r.docs) == 0 {
		r.refuse(1, "", "", "there is no workload in it", "")
	}
	if len(r.errs) > 0 {
		slices.SortStableFunc(r.errs, func(a, b spec.FieldError) int { return cmp.Compare(a.Line, b.Line) })
		return res, r.errs
	}
	res.Documents = r.docs
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
func (r *reader) validate(doc *spec.Document) {
	for _, e := range spec.Validate(spec.WithDefaults(doc)) {
		line, field := 1, e.Path
		best := -1
		for _, n := range r.notes {
			if n.To != "" && (e.Path == n.To || strings.HasPrefix(e.Path, n.To+".") || strings.HasPrefix(e.Path, n.To+"[") || strings.HasPrefix(n.To, e.Path)) && len(n.To) > best {
				line, field, best = n.Line, n.Field, len(n.To)
			}
		}
		r.refuse(line, field, e.Value, e.Problem, e.Hint)
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

// utf8 reports whether data is UTF-8; it is refused, with the line, where it is
// not.
func (r *reader) utf8(data []byte) bool {
	at := invalid(data)
	if at < 0 {
		return true
	}
	r.refuse(1+bytes.Count(data[:at], []byte("\n")), "", "", fmt.Sprintf("byte 0x%02x is not UTF-8 text", data[at]), "save the file as UTF-8")
	return false
}

// only is the map of a file that holds one workload; nil, and refused, where
// it holds several documents.
func (r *reader) only(trees []spec.Tree) *object {
	if len(trees) > 1 {
		r.refuse(trees[1].Line, "---", "", "a second document follows", "import one workload at a time")
		return nil
	}
	return r.object(&trees[0], "")
}
