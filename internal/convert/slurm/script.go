// Package slurm reads batch scripts of Slurm, with the options and variables of
// sbatch, as documents.
package slurm

import (
	"fmt"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// scriptName is what stands for the script's name in its own command: $0.
const scriptName = "slurm_script"

// directive is one option of sbatch with where it stands.
type directive struct {
	name, value string
	has         bool // a value
	line        int
	recorded    bool // it is accounted for
}

// script is an sbatch script while it is read.
type script struct {
	r    *source.Reader
	sub  Submission
	doc  *spec.Document
	opts map[string]*directive // the last of each name counts
	jobs int                   // of an array whose jobs are workloads of their own; 0: there is one
	// ofSteps are the lines that give a step a container of its own.
	ofSteps []stepContainer
}

// stepContainer is a line of a script whose step has a container of its own.
type stepContainer struct {
	line         int
	option, text string
}

// Submission is what a script is submitted with.
type Submission struct {
	Options []string  // over those in it, as the command line of sbatch has them
	Args    []string  // of the script
	Name    string    // of the job, where it says none
	Now     time.Time // from which --begin counts; zero: it must say its zone
	// Largest is how many CPUs a node of the pool has at most, "" being any; nil, or
	// 0 of it: nobody knows. It is asked where that matters alone.
	Largest func(pool string) int
}

// Import reads an sbatch script as it is submitted. It fails as Import
// does.
func Import(data []byte, sub Submission) (*source.Result, error) {
	r := &source.Reader{Format: source.Sbatch}
	if r.IsUTF8(data) {
		readWith(r, string(data), sub)
	}
	return r.Result()
}

// Read reads a script with what it says itself.
func Read(r *source.Reader, text string) { readWith(r, text, Submission{}) }

func readWith(r *source.Reader, text string, sub Submission) {
	if i := strings.Index(text, "\r\n"); i >= 0 {
		r.Refuse(1+strings.Count(text[:i], "\n"), "", "", "ends as lines of Windows do, which no shell of Linux takes", "convert it: sed -i 's/\\r$//' FILE")
		return
	}
	text = strings.TrimPrefix(text, "\xef\xbb\xbf")
	s := &script{r: r, sub: sub, doc: &spec.Document{Kind: lifecycle.Training, Slurm: &spec.Slurm{}}, opts: map[string]*directive{}}
	body, over := overlayLines(r, text)
	s.scan(body)
	s.words(sub.Options, 0)
	if len(r.Errors) > 0 {
		return
	}
	s.command(body, sub.Args)
	s.general()
	s.sizes()
	s.placement()
	s.ends()
	s.licenses()
	s.deadline()
	s.container()
	s.stepContainers()
	s.variables()
	s.finish()
	if len(r.Errors) > 0 {
		return
	}
	if over != "" {
		r.ApplyOverlay(s.doc, over)
	}
	if s.jobs == 0 {
		r.Add(s.doc)
	}
	for i := range s.jobs {
		d := s.doc.Clone()
		d.Slurm.ArrayTask = &i
		r.Add(d)
	}
}

// OverlayMark begins the comment line of a script that keeps an overlay.
const OverlayMark = "#MUSTER "

// overlayLines takes the line with an overlay out of a script.
func overlayLines(r *source.Reader, text string) (body, over string) {
	if !strings.Contains(text, OverlayMark) {
		return text, ""
	}
	var b strings.Builder
	line := 0
	for l := range strings.Lines(text) {
		line++
		if rest, ok := strings.CutPrefix(l, OverlayMark); ok && over == "" {
			over = strings.TrimSpace(rest)
			r.Note(source.Note{Line: line, Field: source.OverlayName, Fate: source.Translated, Reason: "what the format has no words for"})
			continue
		}
		b.WriteString(l)
	}
	return b.String(), over
}

// scan reads the directives before the first command.
func (s *script) scan(body string) {
	line, commands := 0, 0
	for l := range strings.Lines(body) {
		line++
		trimmed := strings.TrimSpace(l)
		rest, is := strings.CutPrefix(l, "#SBATCH")
		switch {
		case is && commands == 0:
			words, err := source.ShellWords(withoutComment(rest))
			if err != nil {
				s.r.Refuse(line, "#SBATCH", trimmed, err.Error(), "close it")
				continue
			}
			s.words(words, line)
		case is:
			s.r.Note(source.Note{Line: line, Field: "#SBATCH", Value: trimmed, Fate: source.Ignored, Reason: "it stands after the first command, where sbatch does not look"})
		case trimmed != "" && trimmed[0] != '#' && commands == 0:
			commands = line
		}
		if option := ofAStep(trimmed); option != "" && strings.Contains(body, "srun") {
			s.ofSteps = append(s.ofSteps, stepContainer{line, option, trimmed})
		}
		if words := strings.Fields(trimmed); len(words) > 1 && words[0] == "module" {
			s.r.Note(source.Note{Line: line, Field: "module", Value: trimmed, Fate: source.Kept, To: "command", Reason: "modules must be there on the nodes"})
		}
	}
	if commands == 0 {
		s.r.Refuse(max(line, 1), "", "", "the script has no command", "write what it runs after its directives")
		return
	}
	s.r.Note(source.Note{Line: commands, Last: line, Field: "script", Fate: source.Kept, To: "command", Reason: "it runs as it is"})
}

// withoutComment is a line of options up to a comment, which sbatch begins at any # that
// is in no quotes, in the middle of a word too (tried with 22.05). In the name of an image
// it stands for what pyxis has it for: there it is mostly forgotten to be escaped, and cut
// off it would be another image.
func withoutComment(text string) string {
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && quote != '\'':
			i++
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote == 0 && c == '#' && (i == 0 || text[i-1] == ' ' || text[i-1] == '\t' || !strings.HasPrefix(text[max(0, strings.LastIndex(text[:i], "--")):], "--container-image")):
			return text[:i]
		}
	}
	return text
}

// ofAStep is the option by which a line of a script has a container for its step.
func ofAStep(line string) string {
	for _, option := range []string{"--container-image", "--container-name"} {
		if line != "" && line[0] != '#' && strings.Contains(line, option) {
			return option
		}
	}
	return ""
}

// stepContainers tells of steps with containers of their own: the script runs outside
// of them, as with pyxis. One that runs in a container itself cannot make others.
func (s *script) stepContainers() {
	for _, c := range s.ofSteps {
		if s.doc.Image != "" {
			s.r.Refuse(c.line, c.option, c.text, "is of a step, and the whole script runs in a container, in which there is no other", "leave out one of the two: of the step, which then runs in the script's, or of the script")
			return
		}
		s.r.Note(source.Note{Line: c.line, Field: c.option, Value: c.text, Fate: source.Kept, To: "command", Reason: "the step runs in a container of its own, which its task makes: on a machine whose server is root, and not in a cluster"})
	}
}

// words reads options as sbatch takes them.
func (s *script) words(words []string, line int) {
	if len(words) == 0 && line > 0 {
		s.r.Note(source.Note{Line: line, Field: "#SBATCH", Fate: source.Kept, To: "command", Reason: "it is a comment, to sbatch too"})
	}
	for i := 0; i < len(words); i++ {
		w := words[i]
		d := directive{line: line}
		switch {
		case w == "hetjob" || w == "packjob":
			s.r.Refuse(line, w, "", "a job of several kinds of nodes is not taken", "ask for the larger of its parts for all nodes; or submit a script for each part, the second with --dependency=after:JOBID of the first")
			return
		case strings.HasPrefix(w, "--") && len(w) > 2:
			d.name, d.value, d.has = strings.Cut(w[2:], "=")
		case strings.HasPrefix(w, "-") && len(w) > 1:
			long, known := shortOptions[w[1]]
			if !known {
				s.r.Refuse(line, w, "", "is no option of sbatch", "remove it, or correct it")
				return
			}
			d.name = long
			if len(w) > 2 {
				d.value, d.has = w[2:], true // with a = if it has one, as getopt has it
			}
		default:
			s.r.Refuse(line, w, "", "is no option", "options begin with - or --")
			return
		}
		d.name = wholeOption(d.name)
		kind, known := options[d.name]
		switch {
		case !known:
			s.r.Refuse(line, "--"+d.name, d.value, "is no option of sbatch"+nearOption(d.name), "remove it, or correct it")
			continue
		case kind == source.NoValue && d.has:
			s.r.Refuse(line, "--"+d.name, d.value, "takes no value", "remove "+d.value)
			continue
		case kind == source.OneValue && !d.has:
			if i++; i >= len(words) {
				s.r.Refuse(line, "--"+d.name, "", "needs a value", "write it after the name")
				return
			}
			d.value, d.has = words[i], true
		}
		if (d.name == "begin" || d.name == "deadline") && !s.sub.Now.IsZero() {
			d.value = Begin(d.value, s.sub.Now)
		}
		if before := s.opts[d.name]; before != nil && d.name == "mail-type" { // each adds to those before
			d.value = before.value + "," + d.value
		} else if before != nil && !before.recorded {
			reason := "a later one of the same name counts"
			if line == 0 {
				reason = "the command line counts"
			}
			s.r.Note(source.Note{Line: before.line, Field: "--" + d.name, Value: before.value, Fate: source.Ignored, Reason: reason})
		}
		s.opts[d.name] = &d
	}
}

// consume is the option of that name; nil where it is not given.
func (s *script) consume(name string) *directive {
	d := s.opts[name]
	if d == nil || d.recorded {
		return nil
	}
	return d
}

func (s *script) record(d *directive, fate source.Fate, lossy bool, to, reason string) {
	if d == nil {
		return
	}
	d.recorded = true
	s.r.Note(source.Note{Line: d.line, Field: "--" + d.name, Value: d.value, Fate: fate, To: to, Reason: reason, Lossy: lossy})
}

func (s *script) translated(d *directive, to string) { s.record(d, source.Translated, false, to, "") }

func (s *script) refuse(d *directive, reason, hint string) {
	d.recorded = true
	s.r.Refuse(d.line, "--"+d.name, d.value, reason, hint)
}

// textOption is the option by which an interpreter takes a text as an argument. In a
// task the script is a file, as under Slurm: every interpreter that reads one will do.
func textOption(program string) string {
	switch program {
	case "perl", "ruby", "Rscript", "node", "julia", "lua":
		return "-e"
	}
	return "-c"
}

// command makes the script the document's command: its interpreter, with the
// text as an argument.
func (s *script) command(body string, args []string) {
	first, _, _ := strings.Cut(body, "\n")
	line, is := strings.CutPrefix(first, "#!")
	if !is {
		s.r.Refuse(1, "", first, "does not begin with #! and an interpreter", "begin the script with #!/bin/bash, as sbatch demands")
		return
	}
	argv := strings.Fields(line)
	program := ""
	for _, w := range argv {
		if !strings.HasPrefix(w, "-") && !strings.HasSuffix(w, "/env") {
			program = w[strings.LastIndexByte(w, '/')+1:]
			break
		}
	}
	if program == "" {
		s.r.Refuse(1, "#!", line, "names no interpreter", "begin the script with #!/bin/bash")
		return
	}
	option := textOption(program)
	if len(body) > 120<<10 {
		s.r.Refuse(1, "script", "", fmt.Sprintf("has %d bytes; no program can be given more than %d", len(body), 120<<10), "keep what it runs in a file of its own")
		return
	}
	argv = append(argv, option, body)
	if option == "-c" && !strings.HasPrefix(program, "python") {
		argv = append(argv, scriptName)
	}
	s.r.Note(source.Note{Line: 1, Field: "#!", Value: line, Fate: source.Translated, To: "command"})
	s.doc.Command = spec.Command{Argv: append(argv, args...)}
}

// general reads names and what is about the environment.
func (s *script) general() {
	if d := s.consume("job-name"); d != nil {
		s.doc.NamePrefix = source.NameFrom(d.value, 45)
		s.doc.Slurm.Name = d.value
		if s.doc.NamePrefix == "" {
			s.doc.NamePrefix = "job"
			s.record(d, source.Translated, false, "slurm.name", "the workload is called job, since names have letters and digits")
		} else if s.doc.NamePrefix == d.value {
			s.record(d, source.Translated, false, "namePrefix", "jobs may have the same name, workloads not")
		} else {
			s.record(d, source.Translated, false, "namePrefix", "the job keeps its name; names of workloads have lower-case letters, digits and -; jobs may have the same name, workloads not")
		}
	}
	if d := s.consume("account"); d != nil {
		s.doc.Project, s.doc.Slurm.Account = source.NameFrom(d.value, 52), d.value
		s.record(d, source.Translated, false, "project", "accounts are projects here")
	}
	if d := s.consume("chdir"); d != nil {
		s.doc.Workdir = d.value
		s.translated(d, "workdir")
	}
	if d := s.consume("comment"); d != nil {
		s.doc.Annotations = source.Set(s.doc.Annotations, "comment", d.value)
		s.translated(d, "annotations.comment")
	}
	for _, file := range []struct {
		name string
		to   *string
	}{{"output", &s.doc.Slurm.Output}, {"error", &s.doc.Slurm.Error}, {"input", &s.doc.Slurm.Input}} {
		if d := s.consume(file.name); d != nil {
			*file.to = d.value
			s.translated(d, "slurm."+file.name)
		}
	}
	if d := s.consume("open-mode"); d != nil {
		switch d.value {
		case "append", "a":
			s.doc.Slurm.OpenMode = "append"
			s.translated(d, "slurm.openMode")
		case "truncate", "t":
			s.doc.Slurm.OpenMode = "truncate"
			s.translated(d, "slurm.openMode")
		default:
			s.refuse(d, fmt.Sprintf("%q is no way to open a file", source.Shorten(d.value)), "write append or truncate")
		}
	}
	s.exports()
}
