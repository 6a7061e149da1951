package source

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// Value is one value of a source, with where it stands.
type Value struct {
	Reader *Reader
	Tree   *codec.Tree
	Path   string
	Line   int
}

// Map is v as a map; nil, and refused, where it is none.
func (v *Value) Map() *Map {
	if v == nil {
		return nil
	}
	return v.Reader.Map(v.Tree, v.Path)
}

// List is the items of a list; nil, and refused, where it is none.
func (v *Value) List() []*Value {
	if v == nil {
		return nil
	}
	if v.Tree.Kind != codec.TreeList {
		v.Refuse(v.Tree.Found()+", expected a list", "write items, as - item")
		return nil
	}
	items := make([]*Value, len(v.Tree.Items))
	for i := range v.Tree.Items {
		items[i] = &Value{Reader: v.Reader, Tree: &v.Tree.Items[i], Path: v.Path + "[" + strconv.Itoa(i) + "]", Line: v.Tree.Items[i].Line}
	}
	return items
}

func (v *Value) record(fate Fate, dropped bool, to, reason string) {
	if v == nil {
		return
	}
	text := v.Tree.Text
	if !v.Tree.Scalar() {
		text = ""
	}
	v.Reader.Note(Note{Line: v.Line, Last: v.last(), Field: v.Path, Value: text, Fate: fate, To: to, Reason: reason, Lossy: dropped})
}

// last is the last line of v that is known, where it is another than the first.
func (v *Value) last() int {
	line := LastLine(v.Tree)
	if line <= v.Line {
		return 0
	}
	return line
}

// LastLine is the last line of t.
func LastLine(t *codec.Tree) int {
	line := t.Line
	if t.Kind == codec.TreeText {
		line += strings.Count(strings.TrimSuffix(t.Text, "\n"), "\n")
	}
	for i := range t.Items {
		line = max(line, LastLine(&t.Items[i]))
	}
	return line
}

// Kept says that the document has v in the same words, at the path to.
func (v *Value) Kept(to string) { v.record(Kept, false, to, "") }

// Translated says that the document has v in other words.
func (v *Value) Translated(to, reason string) { v.record(Translated, false, to, reason) }

// Approximated says that the document has something near to v.
func (v *Value) Approximated(to, reason string) { v.record(Approximated, true, to, reason) }

// Dropped says that the document does not have v, and that meaning is lost.
func (v *Value) Dropped(reason string) { v.record(Ignored, true, "", reason) }

// Ignored says that the document does not have v, and that nothing is lost.
func (v *Value) Ignored(reason string) { v.record(Ignored, false, "", reason) }

// Refuse is nothing where there is no value: what holds it is refused then.
func (v *Value) Refuse(reason, hint string) {
	if v == nil {
		return
	}
	v.Reader.Refuse(v.Line, v.Path, v.Tree.Text, reason, hint)
}

// Text is a scalar as it was written; "", and refused, where it is none.
func (v *Value) Text() string {
	if v == nil {
		return ""
	}
	if !v.Tree.Scalar() {
		v.Refuse(v.Tree.Found()+", expected a text", "write it in quotes")
		return ""
	}
	return v.Tree.Text
}

// Texts is a list of scalars; one alone stands for a list of one.
func (v *Value) Texts() []string {
	if v == nil {
		return nil
	}
	if v.Tree.Scalar() {
		return []string{v.Tree.Text}
	}
	items := v.List()
	all := make([]string, 0, len(items))
	for _, item := range items {
		all = append(all, item.Text())
	}
	return all
}

// Integer is a whole number from least on; it is refused where it is none.
func (v *Value) Integer(least int) int {
	if v == nil {
		return 0
	}
	n, err := strconv.Atoi(v.Tree.Text)
	if !v.Tree.Scalar() || err != nil || n > math.MaxInt32 {
		v.Refuse(v.Tree.Found()+", expected a whole number", "write it in digits")
		return least
	}
	if n < least {
		v.Refuse(fmt.Sprintf("%d is less than %d", n, least), fmt.Sprintf("write %d or more", least))
		return least
	}
	return n
}

// Number is a number of which ok says whether there is a finite one, not
// negative; it is refused else.
func (v *Value) Number() (float64, bool) {
	if v == nil {
		return 0, false
	}
	f, err := strconv.ParseFloat(v.Tree.Text, 64)
	if !v.Tree.Scalar() || err != nil || math.IsInf(f, 0) || math.IsNaN(f) || f < 0 || f > 1e12 {
		v.Refuse(v.Tree.Found()+", expected a number that is not negative", "write it in digits")
		return 0, false
	}
	return f, true
}

// Bool is true or false.
func (v *Value) Bool() bool {
	if v == nil {
		return false
	}
	if v.Tree.Kind != codec.TreeBool {
		v.Refuse(v.Tree.Found()+", expected true or false", "")
		return false
	}
	return v.Tree.Text[0] == 't' || v.Tree.Text[0] == 'T'
}

// Quantity is an amount as Kubernetes writes it.
func (v *Value) Quantity() spec.Quantity {
	text := v.Text()
	if text == "" {
		return 0
	}
	q, err := spec.ParseQuantity(kubernetesUnits(text))
	if err != nil {
		v.Refuse(ProblemOf(err), HintOf(err))
	}
	return q
}

// kubernetesUnits is a quantity with the suffixes that documents do not have
// written out.
func kubernetesUnits(s string) string {
	if body, ok := strings.CutSuffix(s, "k"); ok {
		return body + "K"
	}
	return s
}

// Pairs is a map of texts, in the order of the source.
func (v *Value) Pairs() (names []string, values []*Value) {
	if v == nil {
		return nil, nil
	}
	o := v.Map()
	if o == nil {
		return nil, nil
	}
	for i, name := range o.Tree.Names {
		names = append(names, name)
		values = append(values, &Value{Reader: v.Reader, Tree: &o.Tree.Items[i], Path: FieldPath(v.Path, name), Line: o.Tree.Lines[i]})
	}
	return names, values
}

// Name is a workload's name; one that is too long or has other letters is
// refused, since others may refer to it.
func (v *Value) Name(to string) string {
	name := v.Text()
	v.Kept(to)
	return name
}
