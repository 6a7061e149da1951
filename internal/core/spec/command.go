package spec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core/spec/codec"
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
		plain = codec.Alnum(w[i]) || strings.IndexByte("_-./=:,@%+", w[i]) >= 0
	}
	if plain {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// ReadNode reads what a document says. It fails with a FieldError.
func (c *Command) ReadNode(n *codec.Node) error {
	switch n.Kind {
	case codec.NodeText:
		if strings.TrimSpace(n.Text) == "" {
			return codec.FieldError{Problem: "is empty", Hint: "write what to run, such as: python3 train.py"}
		}
		*c = ShellCommand(n.Text)
		return nil
	case codec.NodeList:
		if len(n.Items) == 0 {
			return codec.FieldError{Problem: "is empty", Hint: "write the program and its arguments, such as: [python3, train.py]"}
		}
		argv := make([]string, len(n.Items))
		for i := range n.Items {
			if !n.Items[i].Scalar() {
				e := codec.Mismatch(&n.Items[i], "a string")
				e.Path = fmt.Sprintf("[%d]", i)
				return e
			}
			argv[i] = n.Items[i].Text
		}
		*c = Command{Argv: argv}
		return nil
	default:
		return codec.Mismatch(n, "a string, or a list of strings")
	}
}

// WriteNode is the value as a document has it.
func (c Command) WriteNode() codec.Node {
	if line, ok := c.line(); ok {
		return codec.TextNode(line)
	}
	n := codec.Node{Kind: codec.NodeList}
	for _, w := range c.Argv {
		n.Items = append(n.Items, codec.TextNode(w))
	}
	return n
}

// MarshalJSON writes c as it was written: a string or a list.
func (c Command) MarshalJSON() ([]byte, error) {
	if len(c.Argv) == 0 {
		return []byte("null"), nil
	}
	return codec.ScalarJSON(c)
}

// UnmarshalJSON reads a string or a list.
func (c *Command) UnmarshalJSON(data []byte) error { return codec.ReadScalarJSON(data, c) }

// Detach gives c arguments of its own.
func (c *Command) Detach() { c.Argv = slices.Clone(c.Argv) }

// Parameters is free structure for the program. Numbers are json.Number, so
// that they reach the program as they were written.
type Parameters map[string]any

// YAML is the text of the file that $PARAMETERS names.
func (p Parameters) YAML() []byte {
	n, _ := codec.MapNode(p)
	return codec.AppendYAML(nil, &n)
}

// MarshalJSON writes p with its keys in order.
func (p Parameters) MarshalJSON() ([]byte, error) {
	n, ok := codec.MapNode(p)
	if !ok {
		return nil, errParameters
	}
	return codec.AppendJSON(nil, &n), nil
}

// UnmarshalJSON reads a map and keeps its numbers as they are written.
func (p *Parameters) UnmarshalJSON(data []byte) error {
	n, err := codec.ReadJSON(data)
	if err != nil || n.Kind == codec.NodeNull {
		return err
	}
	if n.Kind != codec.NodeMap {
		return codec.Mismatch(&n, "a map")
	}
	*p = n.Any().(map[string]any)
	return nil
}

var errParameters = codec.FieldError{
	Path: "parameters", Problem: "holds a value that neither JSON nor YAML can write",
	Hint: "use text, finite numbers, true or false, lists and maps",
}
