package spec

import (
	"fmt"
	"strings"
)

// Command is an argument vector. A string in a document becomes
// ["sh", "-c", string]; Shell remembers that for printing it back.
type Command struct {
	Argv  []string
	Shell bool
}

// ShellCommand is the command that a string in a document stands for.
func ShellCommand(line string) Command {
	return Command{Argv: []string{"sh", "-c", line}, Shell: true}
}

// String is c as a person would type it into a shell.
func (c Command) String() string {
	if line, ok := c.line(); ok {
		return line
	}
	return ShellWords(c.Argv...)
}

// ShellWords is words as a shell reads them back, whatever they contain: those
// that need it in quotes, with blanks between.
func ShellWords(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = shellQuote(w)
	}
	return strings.Join(quoted, " ")
}

// line is the string that was written, when it was one.
func (c Command) line() (string, bool) {
	if !c.Shell || len(c.Argv) != 3 || c.Argv[0] != "sh" || c.Argv[1] != "-c" {
		return "", false
	}
	return c.Argv[2], true
}

func shellQuote(w string) string {
	plain := w != ""
	for i := 0; i < len(w) && plain; i++ {
		plain = alnum(w[i]) || strings.IndexByte("_-./=:,@%+", w[i]) >= 0
	}
	if plain {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

func (c *Command) read(n *node) error {
	switch n.kind {
	case nodeText:
		if strings.TrimSpace(n.text) == "" {
			return FieldError{Problem: "is empty", Hint: "write what to run, such as: python3 train.py"}
		}
		*c = ShellCommand(n.text)
		return nil
	case nodeList:
		if len(n.items) == 0 {
			return FieldError{Problem: "is empty", Hint: "write the program and its arguments, such as: [python3, train.py]"}
		}
		argv := make([]string, len(n.items))
		for i := range n.items {
			if !n.items[i].scalar() {
				e := mismatch(&n.items[i], "a string")
				e.Path = fmt.Sprintf("[%d]", i)
				return e
			}
			argv[i] = n.items[i].text
		}
		*c = Command{Argv: argv}
		return nil
	default:
		return mismatch(n, "a string, or a list of strings")
	}
}

func (c Command) write() node {
	if line, ok := c.line(); ok {
		return textNode(line)
	}
	n := node{kind: nodeList}
	for _, w := range c.Argv {
		n.items = append(n.items, textNode(w))
	}
	return n
}

// MarshalJSON writes c as it was written: a string or a list.
func (c Command) MarshalJSON() ([]byte, error) {
	if len(c.Argv) == 0 {
		return []byte("null"), nil
	}
	return scalarJSON(c)
}

// UnmarshalJSON reads a string or a list.
func (c *Command) UnmarshalJSON(data []byte) error { return readScalarJSON(data, c) }
