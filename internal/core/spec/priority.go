package spec

import (
	"fmt"
	"strconv"

	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/nearest"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// Priority is an order inside a project; higher goes first. It is 0 to 1000.
type Priority int

// The priorities that have names: grades, and classes named after what usually has
// them.
const (
	VeryLow                Priority = 25
	Low                    Priority = 40
	Train                  Priority = 50
	MediumLow              Priority = 65
	InteractivePreemptible Priority = 75
	Medium                 Priority = 80
	MediumHigh             Priority = 90
	Interactive            Priority = 100
	High                   Priority = 125
	Inference              Priority = 125
	VeryHigh               Priority = 150
)

// firm is from where on work is not preemptible, unless it says otherwise.
const firm = Interactive

// usual is the priority of a kind that names none.
func usual(kind lifecycle.Kind, preemptible *bool) Priority {
	switch {
	case kind.Interactive() && preemptible != nil && *preemptible:
		return InteractivePreemptible
	case kind.Interactive():
		return Interactive
	case kind.Replicated():
		return Inference
	default:
		return Train
	}
}

// Follow is for the next document of a workload that has the document was: with
// another priority it stays as preemptible as its priority had made it, unless the
// next one says otherwise.
func (d *Document) Follow(was *Document) {
	if d.Preemptible == nil && was.Preemptible != nil && *was.Preemptible == (was.Priority < firm) {
		d.Preemptible = was.Preemptible
	}
}

// UsualPriority is the priority that d has where it names none.
func UsualPriority(d *Document) Priority { return usual(d.Kind, d.Preemptible) }

var priorities = []struct {
	name  string
	value Priority
}{

	{"very-low", VeryLow}, {"low", Low}, {"train", Train}, {"medium-low", MediumLow},
	{"interactive-preemptible", InteractivePreemptible}, {"medium", Medium}, {"medium-high", MediumHigh},
	{"build", Interactive}, {"high", High}, {"inference", Inference}, {"very-high", VeryHigh},
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
	n, ok := codec.Integer(s)
	if ok && n >= 0 && n <= 1000 {
		return Priority(n), nil
	}
	e := codec.FieldError{
		Value: s, Problem: fmt.Sprintf("%q is not a priority", codec.Shorten(s)),
		Allowed: append(PriorityNames(), "0 to 1000"),
	}
	if ok {
		e.Problem = fmt.Sprintf("%d is outside 0 to 1000", n)
	}
	if near := nearest.Word(s, PriorityNames()); near != "" {
		e.Hint = codec.DidYouMean(near)
	}
	return 0, e
}

// String is the priority's name, the first where it has two, or its number where it
// has none.
func (p Priority) String() string {
	for _, q := range priorities {
		if q.value == p {
			return q.name
		}
	}
	return strconv.Itoa(int(p))
}

// ReadNode reads what a document says. It fails with a FieldError.
func (p *Priority) ReadNode(n *codec.Node) error {
	if n.Kind != codec.NodeNumber && n.Kind != codec.NodeText {
		return codec.Mismatch(n, "a priority's name or a number from 0 to 1000")
	}
	v, err := ParsePriority(n.Text)
	if err == nil {
		*p = v
	}
	return err
}

// WriteNode is the value as a document has it.
func (p Priority) WriteNode() codec.Node {
	text := p.String()
	if codec.Numeric(text) {
		return codec.NumberNode(text)
	}
	return codec.TextNode(text)
}

// MarshalJSON writes the name, or the number where there is none.
func (p Priority) MarshalJSON() ([]byte, error) { return codec.ScalarJSON(p) }

// UnmarshalJSON reads a name or a number.
func (p *Priority) UnmarshalJSON(data []byte) error { return codec.ReadScalarJSON(data, p) }
