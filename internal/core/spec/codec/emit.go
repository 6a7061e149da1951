package codec

import (
	"strings"
	"unicode"
)

// AppendYAML writes n in block style. Every reader of YAML 1.1 and 1.2 takes
// the same values from it.
func AppendYAML(b []byte, n *Node) []byte {
	if len(n.Items) > 0 {
		return block(b, n, 0, 0)
	}
	return append(inline(b, n, 0), '\n')
}

// block writes the entries of a map or list that is not empty, each on lines
// of its own. The first begins at column, the others at indent.
func block(b []byte, n *Node, column, indent int) []byte {
	for i := range n.Items {
		item := &n.Items[i]
		b = pad(b, indent-column)
		column = 0
		if n.Kind == NodeMap {
			b = append(yamlString(b, n.Keys[i]), ':')
		} else {
			b = append(b, '-')
		}
		switch {
		case len(item.Items) > 0 && n.Kind == NodeList && item.Kind == NodeMap:
			b = append(b, ' ')
			b = block(b, item, indent+2, indent+2)
		case len(item.Items) > 0:
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

func inline(b []byte, n *Node, indent int) []byte {
	switch {
	case n.Kind == NodeList:
		return append(b, "[]"...)
	case n.Kind == NodeMap:
		return append(b, "{}"...)
	case n.Kind == NodeText && literal(n.Text):
		return literalBlock(b, n.Text, indent)
	case n.Kind == NodeText && !n.bare:
		return yamlString(b, n.Text)
	default:
		return AppendJSON(b, &Node{Kind: NodeBool, Text: orNull(n)})
	}
}

func orNull(n *Node) string {
	if n.Kind == NodeNull {
		return "null"
	}
	return n.Text
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
	if s == "" || len(s) > 200 || Classify(s) != NodeText || !Letter(s[0]) && s[0] != '/' {
		return false
	}
	switch strings.ToLower(s) { // booleans and nulls of YAML 1.1
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case Alnum(c) || strings.IndexByte("_-./=+@%$,~;", c) >= 0:
		case c == ' ' && i+1 < len(s) && s[i+1] != ' ':
		case c == ':' && i+1 < len(s) && s[i+1] != ' ':
		default:
			return false
		}
	}
	return true
}

// Letter reports whether c is a letter of ASCII.
func Letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// Digit reports whether c is a decimal digit.
func Digit(c byte) bool { return c >= '0' && c <= '9' }

// Alnum reports whether c is a letter or a digit.
func Alnum(c byte) bool { return Letter(c) || Digit(c) }
