package codec

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// jsonScanner builds nodes from text that is known to be one valid JSON value:
// it only has to find where each begins and ends. Lists of workloads are read
// and answered at its speed.
type jsonScanner struct {
	data  []byte
	at    int
	nodes int
}

// space goes to what comes next.
func (s *jsonScanner) space() {
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case ' ', '\t', '\r', '\n', ',', ':':
			s.at++
		default:
			return
		}
	}
}

func (s *jsonScanner) value(depth int) (Node, error) {
	s.space()
	var n Node
	switch c := s.data[s.at]; c {
	case '{', '[':
		s.at++
		n.Pos = s.at
		if s.nodes++; s.nodes > maxNodes {
			return n, tooMany
		}
		if depth >= maxDepth {
			return n, tooDeep(0)
		}
		return s.collection(n, c, depth)
	case '"':
		n.Kind, n.Text = NodeText, s.text()
	case 't':
		n.Kind, n.Text = NodeBool, "true"
		s.at += 4
	case 'f':
		n.Kind, n.Text = NodeBool, "false"
		s.at += 5
	case 'n':
		s.at += 4
	default:
		begin := s.at
		for s.at < len(s.data) && ofNumbers[s.data[s.at]] {
			s.at++
		}
		n.Kind, n.Text = NodeNumber, string(s.data[begin:s.at])
	}
	n.Pos = s.at
	if s.nodes++; s.nodes > maxNodes {
		return n, tooMany
	}
	return n, nil
}

// ofNumbers is what numbers are written with.
var ofNumbers = [256]bool{
	'0': true, '1': true, '2': true, '3': true, '4': true, '5': true, '6': true, '7': true, '8': true, '9': true,
	'-': true, '+': true, '.': true, 'e': true, 'E': true,
}

func (s *jsonScanner) collection(n Node, open byte, depth int) (Node, error) {
	n.Kind = NodeList
	if open == '{' {
		n.Kind = NodeMap
		n.Keys, n.At, n.Items = make([]string, 0, 8), make([]int, 0, 8), make([]Node, 0, 8)
	}
	for {
		s.space()
		if c := s.data[s.at]; c == '}' || c == ']' {
			s.at++
			return n, nil
		}
		if n.Kind == NodeMap {
			n.Keys, n.At = append(n.Keys, s.text()), append(n.At, s.at)
		}
		item, err := s.value(depth + 1)
		if err != nil {
			return n, err
		}
		n.Items = append(n.Items, item)
	}
}

// text reads a string at its opening quote.
func (s *jsonScanner) text() string {
	begin := s.at + 1
	for end := begin; ; end++ {
		switch s.data[end] {
		case '\\':
			end++
		case '"':
			s.at = end + 1
			inside := s.data[begin:end]
			if bytes.IndexByte(inside, '\\') < 0 && utf8.Valid(inside) {
				return string(inside)
			}
			var out string
			_ = json.Unmarshal(s.data[begin-1:s.at], &out) // it is valid
			return out
		}
	}
}
