package kubernetes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
)

// hole stands around the name of a shell's variable in a text of which a part
// is known in the task only: the address of another task, a secret, its node.
const hole = "\x00"

func variable(name string) string { return hole + name + hole }

// computed are the variables of a document's tasks that a shell must find out,
// in the order of the source: NAME=word.
type computed struct {
	lines []string
	names map[string]bool
}

// compute gives the tasks of doc a variable whose value is a word of the shell.
func compute(k *reader, doc *spec.Document, name, word string) {
	c := k.computed[doc]
	if c == nil {
		c = &computed{names: map[string]bool{}}
		k.computed[doc] = c
	}
	c.names[name] = true
	c.lines = append(c.lines, name+"="+word)
}

// isKnown reports whether the tasks of doc have a variable whose value is not
// in the file.
func isKnown(k *reader, doc *spec.Document, name string) bool {
	if c := k.computed[doc]; c != nil && c.names[name] {
		return true
	}
	return slices.ContainsFunc(doc.Secrets, func(s spec.SecretUse) bool { return s.Env == name })
}

// computes reports whether something that a shell finds out for the tasks of doc is
// made of a variable.
func computes(k *reader, doc *spec.Document, variable string) bool {
	c := k.computed[doc]
	return c != nil && slices.ContainsFunc(c.lines, func(l string) bool { return strings.Contains(l, "$"+variable) })
}

// rankInGroup is the number of a task in its group of a gang, as labelWords has it: of
// the first group, whose first task is the gang's.
const rankInGroup = "$((NODE_RANK - 0))"

// fromFirst has the numbers of a group's tasks begin with its own first.
func fromFirst(k *reader, g *replica) {
	c := k.computed[g.doc]
	if c == nil {
		return
	}
	for i := range c.lines {
		c.lines[i] = strings.ReplaceAll(c.lines[i], rankInGroup, fmt.Sprintf("$((NODE_RANK - %d))", g.first))
	}
}

// quote is text as one word of the shell, in which the holes are variables.
func quote(text string) string {
	var b strings.Builder
	for i, part := range strings.Split(text, hole) {
		switch {
		case i%2 == 1:
			b.WriteString(`"$` + part + `"`)
		case part != "" || text == "":
			b.WriteString("'" + strings.ReplaceAll(part, "'", `'\''`) + "'")
		}
	}
	return b.String()
}

// scriptFor is what the tasks of doc run where a shell has to find something out
// first; "" where nothing has to be. before are lines that come first.
func scriptFor(k *reader, doc *spec.Document, before []string, at *source.Value) string {
	lines := slices.Clone(before)
	if c := k.computed[doc]; c != nil {
		for _, l := range c.lines {
			lines = append(lines, "export "+l)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Env)) {
		if strings.Contains(doc.Env[name], hole) {
			if c := k.computed[doc]; c == nil || !c.names[name] { // who says it himself is meant
				lines = append(lines, "export "+name+"="+quote(doc.Env[name]))
			}
			delete(doc.Env, name)
		}
	}
	argv := append(slices.Clone(doc.Command.Argv), doc.Args...)
	if len(lines) == 0 && !slices.ContainsFunc(argv, func(s string) bool { return strings.Contains(s, hole) }) {
		return ""
	}
	if len(doc.Command.Argv) == 0 {
		at.Dropped("what is known in the task only cannot be told to the image's own command; write command")
		for i, a := range doc.Args {
			doc.Args[i] = unholed(a)
		}
		return ""
	}
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = quote(a)
	}
	return strings.Join(append(lines, "exec "+strings.Join(words, " ")), "\n") + "\n"
}

// unholed is text as Kubernetes writes its variables.
func unholed(text string) string {
	parts := strings.Split(text, hole)
	for i := 1; i < len(parts); i += 2 {
		parts[i] = "$(" + parts[i] + ")"
	}
	return strings.Join(parts, "")
}

// scripted gives doc a shell where its command needs one.
func (k *reader) scripted(doc *spec.Document, before []string, at *source.Value) {
	if text := scriptFor(k, doc, before, at); text != "" {
		doc.Command, doc.Args = spec.Command{Argv: []string{"/bin/sh", "-c", text}}, nil
	}
	delete(k.computed, doc)
}
