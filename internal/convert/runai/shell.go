package runai

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/musterhq/muster/internal/convert/source"
)

// word is one word of a command line and the line of the file on which it begins.
type word struct {
	text string
	line int
}

// script is a file of command lines while it is read, by the rules of a shell that
// starts no program: variables have the values that the file gives them.
type script struct {
	*source.Reader
	vars    map[string]string
	unknown map[string]string // variables without a value that is known, and why
	project string            // of the submissions that follow; empty: they say it
	// around is the environment of whoever submits, which has what the file does not
	// set; nil: nobody knows it.
	around func(name string) (string, bool)
}

// Script reads a file as whoever submits it would run it: variables that it does not set
// are those of around. It fails as Read does.
func Script(data []byte, around func(name string) (string, bool)) (*source.Result, error) {
	r := &source.Reader{Format: source.Runai}
	if r.IsUTF8(data) {
		read(r, string(data), around)
	}
	return r.Result()
}

// Read reads a file with command lines of runai among other commands. Only lines
// that submit make workloads; each of the others has a note.
func Read(r *source.Reader, text string) { read(r, text, nil) }

func read(r *source.Reader, text string, around func(name string) (string, bool)) {
	text = strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\xef\xbb\xbf")
	text = prompts().ReplaceAllString(text, "$1  ")
	if line := placeholderLine(text); line > 0 {
		found := placeholder().FindString(strings.Split(text, "\n")[line-1])
		r.Refuse(line, found, "", "is a placeholder", "write what is meant")
		return
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		line, problem := 1, err.Error()
		var parse syntax.ParseError
		if errors.As(err, &parse) {
			line, problem = int(parse.Pos.Line()), parse.Text //nolint:gosec // lines of a file that is in memory
		}
		r.Refuse(line, "", "", "no shell reads this: "+problem, "correct it")
		return
	}
	s := &script{Reader: r, vars: map[string]string{}, unknown: map[string]string{}, around: around}
	s.statements(file.Stmts)
	if len(r.Documents) == 0 && len(r.Errors) == 0 {
		r.Refuse(1, "", "", "submits nothing", "write runai submit …, runai submit-dist pytorch …, or runai training submit …")
	}
}

// prompts are the signs before commands that documentation prints.
var prompts = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^([ \t]*)\$ `) })

// placeholder is what documentation has where the reader's own words go.
var placeholder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<[A-Za-z][\w .-]*>`) })

func placeholderLine(text string) int {
	goesOn := false // a command of runai does, from the line before
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		ours := goesOn || strings.HasPrefix(trimmed, "runai ")
		if ours && placeholder().MatchString(line) {
			return i + 1
		}
		goesOn = ours && strings.HasSuffix(trimmed, "\\")
	}
	return 0
}

func lineOf(n syntax.Node) int {
	return int(n.Pos().Line()) //nolint:gosec // lines of a file that is in memory
}

func (s *script) statements(all []*syntax.Stmt) {
	for _, x := range all {
		s.command(x.Cmd)
	}
}

// command reads one command and what it consists of.
func (s *script) command(c syntax.Command) {
	switch c := c.(type) {
	case nil:
	case *syntax.CallExpr:
		s.call(c)
	case *syntax.DeclClause: // export, declare and the like
		for _, a := range c.Args {
			s.assign(a)
		}
	case *syntax.BinaryCmd: // && and ||: what fails is not foreseen. Of a pipe, runai is at its beginning
		s.command(c.X.Cmd)
		s.command(c.Y.Cmd)
	case *syntax.Block:
		s.statements(c.Stmts)
	case *syntax.Subshell:
		s.statements(c.Stmts)
	default:
		if line := submits(c); line > 0 {
			s.Refuse(line, "runai", "", "stands in a loop, a condition or a function, which are not run", "write out the lines that submit, or run the file itself: muster compat install runai puts a runai before it that submits here")
			return
		}
		s.passed(lineOf(c), "a loop or a condition", false)
	}
}

// submits is the line of a submission within a command; 0: there is none.
func submits(c syntax.Command) (line int) {
	syntax.Walk(c, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if ok && line == 0 && len(call.Args) > 1 && call.Args[0].Lit() == "runai" {
			for _, a := range call.Args[1:min(4, len(call.Args))] {
				if strings.HasPrefix(a.Lit(), "submit") {
					line = lineOf(call)
				}
			}
		}
		return true
	})
	return line
}

// passed notes a command that is not carried out.
func (s *script) passed(line int, what string, lossy bool) {
	s.Note(source.Note{Line: line, Field: what, Fate: source.Ignored, Reason: "only lines of runai that submit are read", Lossy: lossy})
}

// assign gives a variable its value, where that can be known.
func (s *script) assign(a *syntax.Assign) {
	if a.Name == nil || a.Naked {
		return
	}
	name := a.Name.Value
	delete(s.unknown, name)
	delete(s.vars, name)
	if a.Array != nil {
		s.unknown[name] = "is an array"
		return
	}
	text, err := expand.Literal(s.environment(), a.Value)
	if err != nil {
		s.unknown[name] = "has a value that a program gives, in line " + fmt.Sprint(lineOf(a))
		return
	}
	if a.Append {
		text = s.vars[name] + text
	}
	s.vars[name] = text
}

func (s *script) environment() *expand.Config {
	return &expand.Config{NoUnset: true, Env: environ{s}}
}

// environ are the variables of a file, some of which may be empty, over those of
// whoever submits.
type environ struct{ s *script }

func (e environ) Get(name string) expand.Variable {
	text, set := e.s.vars[name]
	if _, unknown := e.s.unknown[name]; !set && !unknown && e.s.around != nil {
		text, set = e.s.around(name)
	}
	if !set {
		return expand.Variable{}
	}
	return expand.Variable{Set: true, Kind: expand.String, Str: text}
}

func (e environ) Each(f func(string, expand.Variable) bool) {
	for _, name := range source.SortedKeys(e.s.vars) {
		if !f(name, e.Get(name)) {
			return
		}
	}
}

// harmless are commands without an effect that a submission could miss.
var harmless = map[string]bool{"echo": true, "set": true, "sleep": true, "cd": true, "true": true, ":": true, "exit": true, "printf": true, "wait": true, "tee": true, "grep": true, "watch": true}

// looking are the commands of kubectl that change nothing.
var looking = map[string]bool{"get": true, "logs": true, "describe": true, "top": true, "exec": true, "attach": true, "port-forward": true, "wait": true, "version": true, "explain": true, "config": true}

func (s *script) call(c *syntax.CallExpr) {
	if len(c.Args) == 0 {
		for _, a := range c.Assigns {
			s.assign(a)
		}
		return
	}
	if name := c.Args[0].Lit(); name != "runai" {
		if name == "" {
			name = "a command"
		}
		s.passed(lineOf(c), name, !harmless[name] && !(name == "kubectl" && len(c.Args) > 1 && looking[c.Args[1].Lit()]))
		return
	}
	words, ok := s.expanded(c.Args[1:])
	if !ok || s.context(words, lineOf(c)) {
		return
	}
	readLine(s.Reader, words, lineOf(c), s.project)
}

// expanded are the words of a command, with what their variables stand for.
func (s *script) expanded(args []*syntax.Word) (words []word, ok bool) {
	for _, a := range args {
		before := ""
		if len(words) > 0 {
			before = words[len(words)-1].text
		}
		if text, is := s.unsetValue(a, before); is {
			words = append(words, word{text, lineOf(a)})
			continue
		}
		fields, err := expand.Fields(s.environment(), a)
		if err != nil {
			s.refuseWord(a, err)
			return nil, false
		}
		for _, f := range fields {
			words = append(words, word{f, lineOf(a)})
		}
	}
	return words, true
}

// refuseWord says why nobody knows what a word stands for.
func (s *script) refuseWord(a *syntax.Word, err error) {
	var text strings.Builder
	_ = syntax.NewPrinter().Print(&text, a) // of what was parsed
	var unset expand.UnsetParameterError
	var command expand.UnexpectedCommandError
	switch {
	case errors.As(err, &unset):
		name := unset.Node.Param.Value
		why := "has no value in this file"
		if w, known := s.unknown[name]; known {
			why = w
		}
		s.Refuse(lineOf(a), text.String(), "", "$"+name+" "+why, "write its value, or a line "+name+"=… before it")
	case errors.As(err, &command):
		s.Refuse(lineOf(a), text.String(), "", "stands for the output of a command, and none is run", "write what it prints")
	default:
		s.Refuse(lineOf(a), text.String(), "", "cannot be expanded: "+err.Error(), "write what it stands for")
	}
}

// context reads commands of runai that submit nothing. Those that set the project
// hold for what follows.
func (s *script) context(words []word, line int) bool {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.text
	}
	if verb, _ := verbOf(texts); verb != "" {
		return false
	}
	if len(texts) == 3 && (texts[0] == "config" && texts[1] == "project" || texts[0] == "project" && texts[1] == "set") {
		s.project = texts[2]
		s.Note(source.Note{Line: line, Field: "runai " + texts[0] + " " + texts[1], Value: texts[2], Fate: source.Translated, To: "project", Reason: "of the submissions that follow and name none"})
		return true
	}
	does := texts
	for len(does) > 1 && slices.Contains(ofKinds, does[0]) {
		does = does[1:]
	}
	for _, known := range bystanders {
		if len(does) > 0 && does[0] == known {
			s.Note(source.Note{Line: line, Field: "runai " + strings.Join(texts[:min(2, len(texts))], " "), Fate: source.Ignored, Reason: "submits nothing"})
			return true
		}
	}
	return false
}

// ofKinds are the words before a command that is about one kind of workload.
var ofKinds = []string{"training", "workspace", "inference", "distributed", "standard", "pytorch", "tensorflow", "tf", "mpi", "xgboost", "jax"}

// bystanders are the commands of runai that look, or act on what is there.
var bystanders = []string{
	"list", "describe", "logs", "bash", "exec", "attach", "port-forward", "get", "top", "whoami", "version", "login", "logout", "config", "cluster", "project", "node", "nodepool",
	"delete", "suspend", "resume", "update", "workload", "completion", "kubeconfig", "report", "diagnostics", "upgrade", "help", "pvc", "node-pool", "department",
}
