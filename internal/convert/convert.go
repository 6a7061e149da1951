// Package convert reads what people wrote for other systems (Kubernetes
// manifests, sbatch scripts, mcli, Run:ai, SkyPilot and dstack) as workload
// documents, and writes documents back for some of them.
//
// It is pure: bytes in, documents and notes out. It guesses nothing in
// silence: every line of a source is accounted for by a Note, and what a
// document cannot say is lossy. It never asks for more GPUs, another number of
// tasks or a longer time than its source; where a source contradicts itself it
// refuses, with line and reason.
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

// Format is a notation for work.
type Format string

// The formats that are read. Kubernetes, Sbatch and Mcli are written as well.
const (
	Native     Format = "muster"
	Kubernetes Format = "kubernetes"
	Sbatch     Format = "sbatch"
	Mcli       Format = "mcli"
	Runai      Format = "runai"
	SkyPilot   Format = "skypilot"
	Dstack     Format = "dstack"
)

// Formats are all that Import reads.
func Formats() []Format {
	return []Format{Native, Kubernetes, Sbatch, Mcli, Runai, SkyPilot, Dstack}
}

// Fate is what became of a part of a source.
type Fate string

// The fates. Approximated and most of ignored lose meaning; nothing is made of
// a source a part of which is refused.
const (
	Kept         Fate = "kept"         // the document says the same in the same words
	Translated   Fate = "translated"   // the document says the same in others
	Approximated Fate = "approximated" // the document says something near to it
	Ignored      Fate = "ignored"      // the document does not say it
	Refused      Fate = "refused"      // nothing can be made of it
)

// Note says what became of one field, flag or directive of a source.
type Note struct {
	Line   int    `json:"line,omitempty"` // from 1
	Last   int    `json:"last,omitempty"` // the last line, where there are several
	Field  string `json:"field"`          // in the source's words
	Value  string `json:"value,omitempty"`
	Fate   Fate   `json:"fate"`
	To     string `json:"to,omitempty"`     // path in the document
	Reason string `json:"reason,omitempty"` // why it is not simply kept
	Lossy  bool   `json:"lossy,omitempty"`  // meaning is lost
}

// String is n in one line.
func (n Note) String() string {
	var b strings.Builder
	if n.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", n.Line)
	}
	b.WriteString(n.Field + ": " + string(n.Fate))
	if n.To != "" {
		b.WriteString(" as " + n.To)
	}
	if n.Reason != "" {
		b.WriteString(": " + n.Reason)
	}
	return b.String()
}

// Result is what was made of a source.
type Result struct {
	Format    Format
	Documents []*spec.Document // as their author would have written them, without defaults; at least one
	Notes     []Note           // by line
}

// Lossy are the notes about what is lost.
func (r *Result) Lossy() []Note {
	return slices.DeleteFunc(slices.Clone(r.Notes), func(n Note) bool { return !n.Lossy })
}

// Import reads a source whose format its content tells. It fails with
// spec.Errors, each with its line where the source has one, and the notes of
// what could be read are then in the result all the same, which has no
// documents.
func Import(data []byte) (*Result, error) {
	format, trees, err := detect(data)
	if err != nil {
		return &Result{Format: format}, err
	}
	if len(trees) > 0 && format != Native {
		r := &reader{format: format}
		r.documents(trees)
		return r.result()
	}
	return ImportAs(format, data)
}

// ImportAs is Import of a source in a known format.
func ImportAs(format Format, data []byte) (*Result, error) {
	r := &reader{format: format}
	if at := invalid(data); at >= 0 {
		r.refuse(1+bytes.Count(data[:at], []byte("\n")), "", "", fmt.Sprintf("byte 0x%02x is not UTF-8 text", data[at]), "save the file as UTF-8")
		return r.result()
	}
	switch format {
	case Native:
		return natives(data)
	case Sbatch:
		r.sbatch(string(data))
	case Runai:
		r.runaiText(string(data))
	case Kubernetes, Mcli, SkyPilot, Dstack:
		r.trees(data)
	default:
		r.refuse(0, "", "", fmt.Sprintf("%q is not a format that is read", format), "allowed are "+joined(Formats()))
	}
	return r.result()
}

func joined(formats []Format) string {
	words := make([]string, len(formats))
	for i, f := range formats {
		words[i] = string(f)
	}
	return strings.Join(words, ", ")
}

// trees reads the formats that are YAML.
func (r *reader) trees(data []byte) {
	trees, err := spec.ReadTrees(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")))
	if err != nil {
		r.fail(err)
		return
	}
	if len(trees) == 0 {
		r.refuse(1, "", "", "the file is empty", "import a file that holds something")
		return
	}
	r.documents(trees)
}

func (r *reader) documents(trees []spec.Tree) {
	switch r.format {
	case Kubernetes:
		r.kubernetes(trees)
	case Mcli:
		r.one(trees, r.mcli)
	case SkyPilot:
		r.one(trees, r.sky)
	default:
		r.one(trees, r.dstack)
	}
}

// one is for formats in which a file is one workload.
func (r *reader) one(trees []spec.Tree, read func(o *object) *spec.Document) {
	if len(trees) > 1 && r.format != SkyPilot {
		r.refuse(trees[1].Line, "---", "", "a second document follows", "import one workload at a time")
		return
	}
	pipeline := ""
	if r.format == SkyPilot {
		pipeline, trees = r.pipeline(trees)
	}
	for i := range trees {
		if o := r.object(&trees[i], ""); o != nil {
			r.add(read(o))
		}
	}
	r.chain(pipeline)
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

// shorten keeps messages readable whatever was written.
func shorten(s string) string {
	const most = 80
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		s = s[:i] + "…"
	}
	runes := 0
	for i := range s {
		if runes++; runes > most {
			return s[:i] + "…"
		}
	}
	return s
}
