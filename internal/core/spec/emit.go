package spec

import (
	"strings"
	"unicode"
)

// appendYAML writes n in block style. Every reader of YAML 1.1 and 1.2 takes
// the same values from it.
func appendYAML(b []byte, n *node) []byte {
	if len(n.items) > 0 {
		return block(b, n, 0, 0)
	}
	return append(inline(b, n, 0), '\n')
}

// block writes the entries of a map or list that is not empty, each on lines
// of its own. The first begins at column, the others at indent.
func block(b []byte, n *node, column, indent int) []byte {
	for i := range n.items {
		item := &n.items[i]
		b = pad(b, indent-column)
		column = 0
		if n.kind == nodeMap {
			b = append(yamlString(b, n.keys[i]), ':')
		} else {
			b = append(b, '-')
		}
		switch {
		case len(item.items) > 0 && n.kind == nodeList && item.kind == nodeMap:
			b = append(b, ' ')
			b = block(b, item, indent+2, indent+2)
		case len(item.items) > 0:
			b = append(b, '\n')
			b = block(b, item, 0, indent+2)
		default:
			b = append(b, ' ')
			b = append(inline(b, item, indent+2), '\n')
		}
	}
	return b
}

func pad(b []byte, indent int) []byte {
	for range indent {
		b = append(b, ' ')
	}
	return b
}

func inline(b []byte, n *node, indent int) []byte {
	switch {
	case n.kind == nodeList:
		return append(b, "[]"...)
	case n.kind == nodeMap:
		return append(b, "{}"...)
	case n.kind == nodeText && literal(n.text):
		return literalBlock(b, n.text, indent)
	case n.kind == nodeText && !n.bare:
		return yamlString(b, n.text)
	default:
		return appendJSON(b, &node{kind: nodeBool, text: orNull(n)})
	}
}

func orNull(n *node) string {
	if n.kind == nodeNull {
		return "null"
	}
	return n.text
}

// literal reports whether s reads best as lines under a |: a script. Blank
// ends and odd spaces are left to quotes, where nothing can be lost.
func literal(s string) bool {
	body := strings.TrimSuffix(s, "\n")
	if !strings.Contains(body, "\n") || strings.HasSuffix(body, "\n") {
		return false
	}
	for i, line := range strings.Split(body, "\n") {
		if line == "" && i == 0 || strings.TrimRight(line, " ") != line || i == 0 && line[0] == ' ' {
			return false
		}
		for _, r := range line {
			if r != ' ' && (!unicode.IsGraphic(r) || unicode.IsSpace(r)) {
				return false
			}
		}
	}
	return true
}

func literalBlock(b []byte, s string, indent int) []byte {
	body, whole := strings.CutSuffix(s, "\n")
	b = append(b, '|')
	if !whole {
		b = append(b, '-')
	}
	for line := range strings.SplitSeq(body, "\n") {
		b = append(b, '\n')
		if line != "" {
			b = append(pad(b, indent), line...)
		}
	}
	return b
}

// yamlString writes s without quotes where no reader can take it for anything
// but this text.
func yamlString(b []byte, s string) []byte {
	if plain(s) {
		return append(b, s...)
	}
	return appendString(b, s)
}

func plain(s string) bool {
	if s == "" || len(s) > 200 || classify(s) != nodeText || !letter(s[0]) && s[0] != '/' {
		return false
	}
	switch strings.ToLower(s) { // booleans and nulls of YAML 1.1
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case alnum(c) || strings.IndexByte("_-./=+@%$,~;", c) >= 0:
		case c == ' ' && i+1 < len(s) && s[i+1] != ' ':
		case c == ':' && i+1 < len(s) && s[i+1] != ' ':
		default:
			return false
		}
	}
	return true
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }
func alnum(c byte) bool  { return letter(c) || digit(c) }
