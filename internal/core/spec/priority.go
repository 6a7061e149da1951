package spec

import (
	"fmt"
	"strconv"
)

// Priority is an order inside a project; higher goes first. It is 0 to 1000.
type Priority int

// The priorities that have names.
const (
	VeryLow    Priority = 25
	Low        Priority = 40
	MediumLow  Priority = 65
	Medium     Priority = 80
	MediumHigh Priority = 90
	High       Priority = 125
	VeryHigh   Priority = 150
)

var priorities = []struct {
	name  string
	value Priority
}{
	{"very-low", VeryLow}, {"low", Low}, {"medium-low", MediumLow}, {"medium", Medium},
	{"medium-high", MediumHigh}, {"high", High}, {"very-high", VeryHigh},
}

// PriorityNames returns the names of priorities, lowest first.
func PriorityNames() []string {
	names := make([]string, len(priorities))
	for i, p := range priorities {
		names[i] = p.name
	}
	return names
}

// ParsePriority reads a name or a whole number from 0 to 1000.
func ParsePriority(s string) (Priority, error) {
	for _, p := range priorities {
		if p.name == s {
			return p.value, nil
		}
	}
	n, ok := integer(s)
	if ok && n >= 0 && n <= 1000 {
		return Priority(n), nil
	}
	e := FieldError{
		Value: s, Problem: fmt.Sprintf("%q is not a priority", shorten(s)),
		Allowed: append(PriorityNames(), "0 to 1000"),
	}
	if ok {
		e.Problem = fmt.Sprintf("%d is outside 0 to 1000", n)
	}
	if near := nearest(s, PriorityNames()); near != "" {
		e.Hint = didYouMean(near)
	}
	return 0, e
}

// String is the priority's name, or its number where it has none.
func (p Priority) String() string {
	for _, q := range priorities {
		if q.value == p {
			return q.name
		}
	}
	return strconv.Itoa(int(p))
}

func (p *Priority) read(n *node) error {
	if n.kind != nodeNumber && n.kind != nodeText {
		return mismatch(n, "a priority's name or a number from 0 to 1000")
	}
	v, err := ParsePriority(n.text)
	if err == nil {
		*p = v
	}
	return err
}

func (p Priority) write() node {
	text := p.String()
	if numeric(text) {
		return numNode(text)
	}
	return textNode(text)
}

// MarshalJSON writes the name, or the number where there is none.
func (p Priority) MarshalJSON() ([]byte, error) { return scalarJSON(p) }

// UnmarshalJSON reads a name or a number.
func (p *Priority) UnmarshalJSON(data []byte) error { return readScalarJSON(data, p) }
