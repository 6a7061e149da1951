// Package runai reads command lines of Run:ai that submit work as documents.
package runai

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// submission is one line of runai while it is read.
type submission struct {
	*source.Reader
	doc   *spec.Document
	line  int
	given []*given
	lines []int // of the words after the command's own

	tailLine int // of the --
	// What the line says as a whole.
	inference, entrypoint bool // of --command: the words after -- replace the image's own
	old                   bool // of the first age, of jobs
	count, least, most    int  // workers and replicas
	noMaster              bool
	commandText           []string // v1: --command X --args Y
}

// given is one flag as it was given.
type given struct {
	s     *submission
	name  string
	value string
	line  int
}

func (g *given) record(fate source.Fate, lossy bool, to, reason string) {
	g.s.Note(source.Note{Line: g.line, Field: "--" + g.name, Value: g.value, Fate: fate, To: to, Reason: reason, Lossy: lossy})
}

func (g *given) kept(to string)                 { g.record(source.Kept, false, to, "") }
func (g *given) translated(to, reason string)   { g.record(source.Translated, false, to, reason) }
func (g *given) approximated(to, reason string) { g.record(source.Approximated, true, to, reason) }

func (g *given) refuse(reason, hint string) {
	g.s.Refuse(max(g.line, 1), "--"+g.name, g.value, reason, hint)
}

// Import reads the words of one command line of runai, without runai
// itself: submit, submit-dist, or the newer commands that end in submit. It
// fails as Import does; lines have the number 1.
func Import(words []string) (*source.Result, error) {
	r := &source.Reader{Format: source.Runai}
	readLine(r, onLine(words, 1), 1, "")
	return r.Result()
}

// ImportPartial reads a command line whose workload is laid over a template,
// which has what the line does not say.
func ImportPartial(words []string) (*source.Result, error) {
	r := &source.Reader{Format: source.Runai, Partial: true}
	readLine(r, onLine(words, 1), 1, "")
	return r.Result()
}

// verbs are the commands that submit, with what they make.
var verbs = map[string]struct {
	kind      lifecycle.Kind
	framework string
}{
	"submit": {lifecycle.Training, ""}, "submit-mpi": {lifecycle.Distributed, "mpi"}, "submit-dist mpi": {lifecycle.Distributed, "mpi"}, "submit-dist pytorch": {lifecycle.Distributed, "pytorch"},
	"submit-dist tf": {lifecycle.Distributed, "tensorflow"}, "submit-dist xgboost": {lifecycle.Distributed, "xgboost"},
	"training submit": {lifecycle.Training, ""}, "training standard submit": {lifecycle.Training, ""}, "workspace submit": {lifecycle.Workspace, ""},
	"training pytorch submit": {lifecycle.Distributed, "pytorch"}, "training mpi submit": {lifecycle.Distributed, "mpi"}, "training tensorflow submit": {lifecycle.Distributed, "tensorflow"},
	"training xgboost submit": {lifecycle.Distributed, "xgboost"}, "training jax submit": {lifecycle.Distributed, "jax"},
	"pytorch submit": {lifecycle.Distributed, "pytorch"}, "mpi submit": {lifecycle.Distributed, "mpi"}, "tensorflow submit": {lifecycle.Distributed, "tensorflow"}, "xgboost submit": {lifecycle.Distributed, "xgboost"}, "jax submit": {lifecycle.Distributed, "jax"},
	"distributed submit": {lifecycle.Distributed, "pytorch"}, "inference submit": {lifecycle.Inference, ""}, "inference standard submit": {lifecycle.Inference, ""},
}

// frameworks are the values of -f of distributed submit.
var frameworks = map[string]string{"PyTorch": "pytorch", "MPI": "mpi", "TF": "tensorflow", "XGBoost": "xgboost", "Jax": "jax", "JAX": "jax"}

// verbOf reads the words of the command itself.
func verbOf(words []string) (verb string, rest []string) {
	for n := min(3, len(words)); n > 0; n-- {
		verb = strings.Join(words[:n], " ")
		if _, known := verbs[verb]; known {
			return verb, words[n:]
		}
	}
	return "", words
}

// onLine are words that all stand on one line.
func onLine(texts []string, line int) []word {
	words := make([]word, len(texts))
	for i, t := range texts {
		words[i] = word{t, line}
	}
	return words
}

// readLine reads the words of one command after its name. project: of a submission
// that names none.
func readLine(r *source.Reader, all []word, line int, project string) {
	words, lines := make([]string, len(all)), make([]int, len(all))
	for i, w := range all {
		words[i], lines[i] = w.text, w.line
	}
	verb, rest := verbOf(words)
	if verb == "" {
		text := strings.Join(words[:min(3, len(words))], " ")
		r.Refuse(line, text, "", "submits nothing", "write runai submit …, runai submit-dist pytorch …, or runai training submit …")
		return
	}
	is := verbs[verb]
	s := &submission{Reader: r, doc: &spec.Document{Kind: is.kind, Framework: is.framework}, line: line, lines: lines[len(lines)-len(rest):], old: strings.HasPrefix(verb, "submit")}
	r.Note(source.Note{Line: line, Field: "runai " + verb, Fate: source.Translated, To: "kind"})
	tail := s.flags(rest)
	if len(r.Errors) > 0 {
		return
	}
	for _, g := range s.given {
		flags()[g.name].apply(g)
	}
	if s.doc.Project == "" {
		s.doc.Project = project
	}
	s.finish(tail)
	if len(r.Errors) == 0 {
		r.Add(s.doc)
	}
}

// flags reads flags and the name; what stands after -- is the command's.
func (s *submission) flags(words []string) (tail []string) {
	named := false
	for i := 0; i < len(words); i++ {
		w := words[i]
		if w == "--" {
			s.tailLine = s.lines[i]
			return words[i+1:]
		}
		if !strings.HasPrefix(w, "-") || w == "-" {
			if named {
				s.Refuse(s.lines[i], w, "", "is a second name", "write the command after --")
				return nil
			}
			named = true
			s.doc.Name = w
			s.Note(source.Note{Line: s.lines[i], Field: "NAME", Value: w, Fate: source.Kept, To: "name"})
			continue
		}
		name, text, has := strings.Cut(strings.TrimLeft(w, "-"), "=")
		if !strings.HasPrefix(w, "--") {
			short := name[:min(1, len(name))]
			long, known := shortFlags[short]
			if !known {
				s.Refuse(s.lines[i], w, "", "is no flag of runai", "remove it, or correct it")
				return nil
			}
			if len(name) > 1 { // -g2
				text, has = strings.TrimPrefix(strings.TrimLeft(w, "-")[1:], "="), true
			}
			name = long
		}
		f, known := flags()[name]
		if !known {
			s.Refuse(s.lines[i], "--"+name, text, "is no flag of runai"+nearFlag(name), "remove it, or correct it")
			continue
		}
		at := s.lines[i]
		if !has && f.takes == source.OneValue {
			if i++; i >= len(words) {
				s.Refuse(at, "--"+name, "", "needs a value", "write it after the name")
				return nil
			}
			text, has = words[i], true
			if name == "command" && (text == "--" || strings.HasPrefix(text, "--")) { // the newer one has no value
				i--
				text = ""
			}
		}
		s.given = append(s.given, &given{s: s, name: name, value: text, line: at})
	}
	return nil
}

// finish puts together what several flags say.
func (s *submission) finish(tail []string) {
	d := s.doc
	if s.inference {
		d.Kind = lifecycle.Inference
	}
	s.words(tail)
	if d.Framework != "" {
		s.gang()
	} else if s.count > 0 {
		s.Refuse(s.line, "--workers", strconv.Itoa(s.count), "is for distributed training", "write runai submit-dist, or remove it")
	}
	if d.Kind.Replicated() {
		s.replicas()
	}
	if d.Kind.Batch() && d.Kind.Single() && d.Array == nil && d.Restart != "" {
		d.Restart = ""
	}
	if a := d.Array; a != nil && d.Kind.Batch() && d.Kind.Single() {
		if a.Completions == 0 {
			a.Completions = max(a.Parallelism, 1)
		}
		if a.Parallelism >= a.Completions {
			a.Parallelism = 0
		}
		if a.Completions == 1 {
			d.Array = nil
		}
	} else if a != nil {
		s.Refuse(s.line, "--completions", "", "is for training", "remove it")
	}
	if d.Image == "" && !s.Partial {
		s.Refuse(s.line, "--image", "", "is missing", "write the image that it runs")
	}
	if s.old && !s.Partial && d.Image != "" {
		d.Retry.Pull = new(-1)
		s.Note(source.Note{Line: s.line, Field: "--image", Fate: source.Translated, To: "retry.pull", Reason: "a job of Run:ai waits for its image for as long as that takes, and keeps what it was given"})
	}
	if !s.Partial && !s.has("backoff-limit") && !s.has("backoffLimit") && d.Kind.Batch() {
		d.Retry.Limit = 6
		s.Note(source.Note{Line: s.line, Field: "--backoff-limit", Fate: source.Translated, To: "retry.limit", Reason: "Run:ai tries again 6 times where it is not told"})
	}
	if s.has("gpu-request-type") && d.Resources.GPU.Kind() == spec.NoGPU {
		d.Resources.GPU = spec.GPU{}
	}
}

func (s *submission) has(name string) bool {
	for _, g := range s.given {
		if g.name == name {
			return true
		}
	}
	return false
}

// words makes command and arguments of what stands after --.
func (s *submission) words(tail []string) {
	d := s.doc
	switch {
	case len(s.commandText) > 0:
		d.Command = spec.Command{Argv: s.commandText}
		d.Args = append(d.Args, tail...)
	case s.entrypoint:
		d.Command = spec.Command{Argv: tail}
	default:
		d.Args = append(d.Args, tail...)
	}
	if s.entrypoint && len(s.commandText) == 0 && len(tail) == 0 {
		s.Refuse(s.line, "--command", "", "has no command after --", "write -- and the command")
	}
	if len(tail) > 0 {
		to := "args"
		if s.entrypoint && len(s.commandText) == 0 {
			to = "command"
		}
		s.Note(source.Note{Line: s.tailLine, Field: "--", Value: strings.Join(tail, " "), Fate: source.Kept, To: to})
	}
}

// gang reads how many tasks there are. Workers of pytorch and the like stand
// beside a master.
func (s *submission) gang() {
	d := s.doc
	d.Workers = max(s.count, 1)
	if s.least > d.Workers || s.most > 0 && s.most < s.least {
		s.Refuse(s.line, "--min-replicas", strconv.Itoa(s.least), fmt.Sprintf("does not fit to %d workers and at most %d", d.Workers, s.most), "make them agree")
		return
	}
	d.MinWorkers = s.least
	if d.Framework != "mpi" && !s.noMaster && s.count > 0 {
		d.Workers++
		if d.MinWorkers > 0 {
			d.MinWorkers++
		}
	}
	if d.MinWorkers == d.Workers {
		d.MinWorkers = 0
	}
	if d.Framework == "mpi" {
		if len(d.Command.Argv) == 0 && len(d.Args) > 0 {
			d.Command, d.Args = spec.Command{Argv: d.Args}, nil
		}
		if d.CleanPolicy == "none" {
			d.CleanPolicy = ""
		}
	}
	if d.Master != nil && d.Master.Resources != nil {
		s.masterTakes(d.Master.Resources)
	}
}

// masterTakes gives the master what the workers have and no flag says of it. A
// launcher has no devices that it is not given.
func (s *submission) masterTakes(r *spec.Resources) {
	own := s.doc.Resources
	if r.CPU == 0 {
		r.CPU, r.Memory = own.CPU, own.Memory
	}
	if s.doc.Framework == "mpi" {
		return
	}
	if !s.has("master-extended-resource") {
		r.Extended = own.Extended
	}
	if !slices.ContainsFunc([]string{"master-gpu", "master-gpu-devices-request", "master-gpu-portion-request"}, s.has) {
		r.GPU = own.GPU
	}
}

// replicas reads how many replicas a service has.
func (s *submission) replicas() {
	d := s.doc
	if s.most > s.least || d.Autoscale != nil {
		a := spec.Autoscale{Concurrency: 1}
		if d.Autoscale != nil {
			a = *d.Autoscale
		}
		a.Min, a.Max = s.least, max(s.most, s.least, 1)
		a.Concurrency = max(a.Concurrency, 1)
		d.Autoscale = &a
		return
	}
	n := max(s.least, 1)
	d.Replicas = &n
	if s.least == 0 && s.count == 0 {
		d.Replicas = nil
	}
}
