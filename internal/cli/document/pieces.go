package document

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/convert"
	"github.com/musterhq/muster/internal/convert/dstack"
	"github.com/musterhq/muster/internal/convert/runai"
	"github.com/musterhq/muster/internal/convert/skypilot"
	"github.com/musterhq/muster/internal/convert/slurm"
	foreign "github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
)

// Piece is a document with where it stands.
type Piece struct {
	Doc      *spec.Document
	Src      Source
	Schedule *foreign.Schedule // when it is run again and again; nil: it is run once
}

// ReadDocuments reads the file of a run: documents, or what was written for
// another system, of which explain says everything.
func ReadDocuments(s *session.Session, src Source, allow, explain bool) ([]Piece, error) {
	format, err := convert.Detect(src.Data)
	if err != nil || format == foreign.Native {
		return readNative(src, err)
	}
	src.Foreign = true
	r, err := imported(s, format, src.Data)
	if err != nil {
		return nil, src.Refuse(err)
	}
	if err := Lossless(s, src.File, r, allow); err != nil {
		return nil, err
	}
	account(s, src.File, r, explain)
	all := make([]Piece, len(r.Documents))
	for i, doc := range r.Documents {
		all[i] = Piece{doc, src, r.Schedules[doc]}
	}
	return all, nil
}

// imported is what was made of a file of another system. Times that count from the
// submission, as #SBATCH --begin=now+1hour does, count from now.
func imported(s *session.Session, format foreign.Format, data []byte) (*foreign.Result, error) {
	if format == foreign.Sbatch {
		return slurm.Import(data, slurm.Submission{Now: s.Clock()})
	}
	return Imported(s, format, data)
}

// Imported is what was made of a file of another system, whatever the time. Scripts of
// the shell that submit have the variables of this one, and paths of SkyPilot's and
// dstack's files begin where this program was started.
func Imported(s *session.Session, format foreign.Format, data []byte) (*foreign.Result, error) {
	if format == foreign.Runai {
		return runai.Script(data, func(name string) (string, bool) {
			text := s.Env(name)
			return text, text != ""
		})
	}
	dir, _ := os.Getwd() // empty: what is relative is not known
	place := foreign.Place{Home: s.Env("HOME"), Dir: dir}
	switch format {
	case foreign.SkyPilot:
		return skypilot.Import(data, place)
	case foreign.Dstack:
		return dstack.Import(data, place)
	}
	return convert.ImportAs(format, data)
}

// readNative reads our own documents; unlike is that they look like several
// formats, which is only wrong where they are no documents either.
func readNative(src Source, unlike error) ([]Piece, error) {
	var all []Piece
	for _, p := range convert.Parts(src.Data) {
		own := Source{File: src.File, Data: p.Text, before: p.Before}
		doc, err := spec.Parse(own.Data)
		if err != nil && unlike != nil {
			return nil, src.Refuse(unlike)
		}
		if err != nil {
			return nil, own.Refuse(err)
		}
		all = append(all, Piece{Doc: doc, Src: own})
	}
	return all, nil
}

// Once refuses what a file says is to be run again and again.
func Once(all []Piece) error {
	for _, p := range all {
		if p.Schedule != nil {
			return session.UsageError(fmt.Sprintf("%s is to be run again and again: %s", p.Src.File, p.Schedule.Cron), "muster schedule create -f "+p.Src.File+" makes a schedule of it, and muster schedule run-now starts a run at once")
		}
	}
	return nil
}

// Only is the document of a file that is to hold one.
func Only(all []Piece) (Piece, error) {
	if len(all) == 0 {
		return Piece{}, session.UsageError("the file holds nothing that runs", "muster import FILE --explain says what it holds")
	}
	if len(all) != 1 {
		return Piece{}, session.UsageError(fmt.Sprintf("%s holds %d workloads", all[0].Src.File, len(all)), "put the one that is meant into a file of its own; muster run -f takes them all")
	}
	return all[0], nil
}

// Lossless refuses what loses meaning, unless that is allowed.
func Lossless(s *session.Session, file string, r *foreign.Result, allow bool) error {
	lossy := r.Lossy()
	if len(lossy) == 0 {
		return nil
	}
	if allow {
		for _, n := range lossy {
			s.Say("%s%s", session.Place(file, n.Line), strings.TrimPrefix(n.String(), fmt.Sprintf("line %d: ", n.Line)))
		}
		return nil
	}
	p := &api.Problem{Title: "Meaning would be lost", Status: 422, Code: "lossy", Detail: fmt.Sprintf("%s says %d things that a workload document cannot say as they are", file, len(lossy)), Hint: "add --allow-lossy to do without them"}
	for _, n := range lossy {
		p.Errors = append(p.Errors, api.FieldProblem{Path: n.Field, Value: n.Value, Line: n.Line, Problem: string(n.Fate) + ": " + n.Reason, Hint: "change it, or add --allow-lossy to do without it"})
	}
	return &session.Failure{Code: session.ExitLossy, Problem: p, File: file}
}

// Notes prints what became of each field of a file.
func Notes(s *session.Session, r *foreign.Result) error {
	if f := s.Format(); f == "json" || f == "jsonl" || f == "yaml" {
		return s.Document(api.Converted{Format: string(r.Format), Notes: apiNotes(r.Notes)})
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
		if _, err := fmt.Fprintf(s.IO.Out, "%-8s%-14s%s\n", line, n.Fate, what); err != nil {
			return err
		}
	}
	return nil
}

// Problem gives a refusal of the server the place in the file. The lines that
// the server saw are of what was sent, which no one has written.
func (src Source) Problem(err error) error {
	var p *api.Problem
	if !errors.As(err, &p) {
		return err
	}
	for i := range p.Errors {
		p.Errors[i].Line = 0
	}
	return &session.Failure{Code: session.CodeOf(p), Problem: p, File: src.File}
}

// firstLine is the line of data on which something stands.
func (src Source) firstLine() int {
	n := 0
	for line := range strings.Lines(string(src.Data)) {
		n++
		if text := strings.TrimSpace(line); text != "" && text[0] != '#' {
			break
		}
	}
	return n
}

// ofOne refuses what only one workload can have or be asked for.
func (d *DocumentFlags) ofOne(n int, argv []string) error {
	for _, flag := range []string{"name", "prefix", "stdin"} {
		if d.Cmd.Flags().Changed(flag) {
			return session.UsageError(fmt.Sprintf("--%s is of one workload, and %s holds %d", flag, d.File, n), "leave it out, and say it in the file")
		}
	}
	if len(argv) > 0 {
		return session.UsageError(fmt.Sprintf("the words %q would be arguments of each of the %d workloads that %s holds", strings.Join(argv, " "), n, d.File), "say them in the file")
	}
	return nil
}

// ProblemAmong gives a refusal of the server the line where the document that it
// is about begins, and says which that is.
func ProblemAmong(s *session.Session, all []Piece, err error) error {
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
			which = fmt.Sprintf(", because of workload %d %s", at+1, all[at].Doc.Name)
			if src := all[at].Src; !src.Foreign {
				e.Line = src.before + src.firstLine()
			}
		}
	}
	s.Say("none of the %d workloads is submitted%s", len(all), strings.TrimRight(which, " "))
	return &session.Failure{Code: session.CodeOf(p), Problem: p, File: all[0].Src.File}
}

func apiNotes(notes []foreign.Note) []api.ConvertNote {
	all := make([]api.ConvertNote, len(notes))
	for i, n := range notes {
		all[i] = api.ConvertNote{Line: n.Line, Last: n.Last, Field: n.Field, Value: n.Value, Fate: string(n.Fate), To: n.To, Reason: n.Reason, Lossy: n.Lossy}
	}
	return all
}
