package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// ReadTree reads bytes as JSON when they look like it, else as YAML.
func ReadTree(data []byte) (Node, Source, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	refuse := func(e FieldError) (Node, Source, error) { return Node{}, Source{}, Errors{e} }
	src := Source{data: data}
	if len(data) > MaxBytes {
		return refuse(FieldError{Problem: fmt.Sprintf("the document has %d bytes; at most %d are taken", len(data), MaxBytes), Hint: "put large data into files"})
	}
	if at := invalidUTF8(data); at >= 0 {
		src.offsets = true
		return refuse(FieldError{Line: src.Line(at), Problem: fmt.Sprintf("byte 0x%02x is not UTF-8 text", data[at]), Hint: "save the file as UTF-8"})
	}
	var n Node
	var err error
	if head := bytes.TrimLeft(data, " \t\r\n"); len(head) > 0 && head[0] == '{' {
		src.offsets = true
		if n, err = ReadJSON(data); err != nil {
			// A YAML map in braces begins like JSON, but for the quotes.
			if y, yerr := ReadYAML(data); yerr == nil && !quotedKey(head) {
				n, err, src.offsets = y, nil, false
			}
		}
	} else {
		n, err = ReadYAML(data)
	}
	var e FieldError
	switch {
	case errors.As(err, &e):
		return refuse(e)
	case n.Kind == NodeNull:
		return refuse(FieldError{Problem: "the document is empty", Hint: "write at least a command, such as: command: python3 train.py"})
	case n.Kind != NodeMap:
		return refuse(FieldError{Line: src.Line(n.Pos), Problem: n.Found() + " where a document begins with fields", Hint: "write fields, such as: command: python3 train.py"})
	}
	return n, src, nil
}

func quotedKey(head []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(head[1:], " \t\r\n"), []byte{'"'})
}

func invalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
	return -1
}

// Within reports whether path is around's own or lies below it.
func Within(path, around string) bool {
	rest, ok := strings.CutPrefix(path, around)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Mismatch is the problem of a node that is not what was wanted.
func Mismatch(n *Node, want string) FieldError {
	return FieldError{Value: n.Text, Problem: n.Found() + ", expected " + want}
}

// Source turns positions of nodes into lines.
type Source struct {
	data    []byte
	offsets bool // positions are byte offsets
}

// SourceOfJSON is JSON whose nodes have byte offsets as their positions.
func SourceOfJSON(data []byte) Source { return Source{data, true} }

// Line is the line of a position.
func (s Source) Line(pos int) int {
	if !s.offsets {
		return pos
	}
	return 1 + bytes.Count(s.data[:min(max(pos, 0), len(s.data))], []byte("\n"))
}

// LineOf returns the line of a path that validation complained about, or of
// the nearest thing around it; 0 when nothing of it was written.
func (s Source) LineOf(n *Node, path string) int {
	line := 0
	for path != "" {
		var next *Node
		var pos int
		switch n.Kind {
		case NodeMap:
			next, pos, path = n.entry(path)
		case NodeList:
			next, pos, path = n.element(path)
		}
		if next == nil {
			break
		}
		line, path, n = s.Line(pos), strings.TrimPrefix(path, "."), next
	}
	return line
}

// lines is line for many positions: it counts the lines of the source once.
func (s Source) lines() func(pos int) int {
	if !s.offsets {
		return func(pos int) int { return pos }
	}
	var ends []int
	for i, c := range s.data {
		if c == '\n' {
			ends = append(ends, i)
		}
	}
	return func(pos int) int {
		before, _ := slices.BinarySearch(ends, pos)
		return before + 1
	}
}

// Written is what a YAML or JSON document says, as JSON, without defaults and
// whether or not it makes sense: editors show it while it is being written. It
// fails with Errors where it is no document at all.
func Written(data []byte) (json.RawMessage, error) {
	n, _, err := ReadTree(data)
	if err != nil {
		return nil, err
	}
	return json.Marshal(n.Any())
}
