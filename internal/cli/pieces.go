package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/convert"
	"github.com/musterhq/muster/internal/core/spec"
)

// piece is a document with where it stands.
type piece struct {
	doc *spec.Document
	src source
}

// readDocuments reads the file of a run: documents, or what was written for
// another system.
func (s *session) readDocuments(src source, allow bool) ([]piece, error) {
	format, err := convert.Detect(src.data)
	if err != nil || format == convert.Native {
		return readNative(src, err)
	}
	src.foreign = true
	r, err := convert.ImportAs(format, src.data)
	if err != nil {
		return nil, src.refuse(err)
	}
	if err := s.lossless(src.file, r, allow); err != nil {
		return nil, err
	}
	all := make([]piece, len(r.Documents))
	for i, doc := range r.Documents {
		all[i] = piece{doc, src}
	}
	return all, nil
}

// readNative reads our own documents; unlike is that they look like several
// formats, which is only wrong where they are no documents either.
func readNative(src source, unlike error) ([]piece, error) {
	var all []piece
	for _, p := range convert.Parts(src.data) {
		own := source{file: src.file, data: p.Text, before: p.Before}
		doc, err := spec.Parse(own.data)
		if err != nil && unlike != nil {
			return nil, src.refuse(unlike)
		}
		if err != nil {
			return nil, own.refuse(err)
		}
		all = append(all, piece{doc, own})
	}
	return all, nil
}

// only is the document of a file that is to hold one.
func only(all []piece) (piece, error) {
	if len(all) != 1 {
		return piece{}, usage(fmt.Sprintf("%s holds %d workloads", all[0].src.file, len(all)), "put the one that is meant into a file of its own; muster run -f takes them all")
	}
	return all[0], nil
}

// lossless refuses what loses meaning, unless that is allowed.
func (s *session) lossless(file string, r *convert.Result, allow bool) error {
	lossy := r.Lossy()
	if len(lossy) == 0 {
		return nil
	}
	if allow {
		for _, n := range lossy {
			s.say("%s%s", place(file, n.Line), strings.TrimPrefix(n.String(), fmt.Sprintf("line %d: ", n.Line)))
		}
		return nil
	}
	p := &api.Problem{Title: "Meaning would be lost", Status: 422, Code: "lossy", Detail: fmt.Sprintf("%s says %d things that a workload document cannot say as they are", file, len(lossy)), Hint: "add --allow-lossy to do without them"}
	for _, n := range lossy {
		p.Errors = append(p.Errors, api.FieldProblem{Path: n.Field, Value: n.Value, Line: n.Line, Problem: string(n.Fate) + ": " + n.Reason, Hint: "change it, or add --allow-lossy to do without it"})
	}
	return &failure{code: exitLossy, problem: p, file: file}
}

// notes prints what became of each field of a file.
func (s *session) notes(r *convert.Result) error {
	if f := s.format(); f == "json" || f == "jsonl" || f == "yaml" {
		return s.document(api.Converted{Format: string(r.Format), Notes: apiNotes(r.Notes)})
	}
	for _, n := range r.Notes {
		line := fmt.Sprint(n.Line)
		if n.Line == 0 {
			line = "-"
		} else if n.Last > n.Line {
			line = fmt.Sprintf("%d-%d", n.Line, n.Last)
		}
		what := n.Field
		if n.Value != "" {
			what += "=" + n.Value
		}
		if n.To != "" {
			what += " → " + n.To
		}
		if n.Reason != "" {
			what += " (" + n.Reason + ")"
		}
		if _, err := fmt.Fprintf(s.io.Out, "%-8s%-14s%s\n", line, n.Fate, what); err != nil {
			return err
		}
	}
	return nil
}

// problem gives a refusal of the server the place in the file. The lines that
// the server saw are of what was sent, which no one has written.
func (src source) problem(err error) error {
	var p *api.Problem
	if !errors.As(err, &p) {
		return err
	}
	for i := range p.Errors {
		p.Errors[i].Line = 0
	}
	return &failure{code: codeOf(p), problem: p, file: src.file}
}

// firstLine is the line of data on which something stands.
func (src source) firstLine() int {
	n := 0
	for line := range strings.Lines(string(src.data)) {
		n++
		if text := strings.TrimSpace(line); text != "" && text[0] != '#' {
			break
		}
	}
	return n
}

// ofOne refuses what only one workload can have or be asked for.
func (d *documentFlags) ofOne(n int, argv []string) error {
	for _, flag := range []string{"name", "prefix", "stdin"} {
		if d.cmd.Flags().Changed(flag) {
			return usage(fmt.Sprintf("--%s is of one workload, and %s holds %d", flag, d.file, n), "leave it out, and say it in the file")
		}
	}
	if len(argv) > 0 {
		return usage(fmt.Sprintf("the words %q would be arguments of each of the %d workloads that %s holds", strings.Join(argv, " "), n, d.file), "say them in the file")
	}
	return nil
}

// problemAmong gives a refusal of the server the line where the document that it
// is about begins, and says which that is.
func (s *session) problemAmong(all []piece, err error) error {
	var p *api.Problem
	if !errors.As(err, &p) {
		return err
	}
	which := ""
	for i := range p.Errors {
		e := &p.Errors[i]
		e.Line = 0 // of what was sent, which no one has written
		rest, ok := strings.CutPrefix(e.Path, "items[")
		number, path, _ := strings.Cut(rest, "]")
		if at, nerr := strconv.Atoi(number); ok && nerr == nil && at < len(all) {
			e.Path = strings.TrimPrefix(path, ".")
			which = fmt.Sprintf(", because of workload %d %s", at+1, all[at].doc.Name)
			if src := all[at].src; !src.foreign {
				e.Line = src.before + src.firstLine()
			}
		}
	}
	s.say("none of the %d workloads is submitted%s", len(all), strings.TrimRight(which, " "))
	return &failure{code: codeOf(p), problem: p, file: all[0].src.file}
}

func apiNotes(notes []convert.Note) []api.ConvertNote {
	all := make([]api.ConvertNote, len(notes))
	for i, n := range notes {
		all[i] = api.ConvertNote{Line: n.Line, Last: n.Last, Field: n.Field, Value: n.Value, Fate: string(n.Fate), To: n.To, Reason: n.Reason, Lossy: n.Lossy}
	}
	return all
}
