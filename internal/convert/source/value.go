package source

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/core/spec"
)

// Value is one value of a source, with where it stands.
type Value struct {
	R    *Reader
	T    *spec.Tree
	Path string
	Line int
}

// Map is v as a map; nil, and refused, where it is none.
func (v *Value) Map() *Map {
	if v == nil {
		return nil
	}
	return v.R.Map(v.T, v.Path)
}

// List is the items of a list; nil, and refused, where it is none.
func (v *Value) List() []*Value {
	if v == nil {
		return nil
	}
	if v.T.Kind != spec.TreeList {
		v.Refuse(v.T.Found()+", expected a list", "write items, as - item")
		return nil
	}
	items := make([]*Value, len(v.T.Items))
	for i := range v.T.Items {
		items[i] = &Value{R: v.R, T: &v.T.Items[i], Path: v.Path + "[" + strconv.Itoa(i) + "]", Line: v.T.Items[i].Line}
	}
	return items
}

func (v *Value) say(fate Fate, lossy bool, to, reason string) {
	if v == nil {
		return
	}
	text := v.T.Text
	if !v.T.Scalar() {
		text = ""
	}
	v.R.Note(Note{Line: v.Line, Last: v.last(), Field: v.Path, Value: text, Fate: fate, To: to, Reason: reason, Lossy: lossy})
}

// last is the last line of v that is known, where it is another than the first.
func (v *Value) last() int {
	line := LastLine(v.T)
	if line <= v.Line {
		return 0
	}
	return line
}

// LastLine is the last line of t.
func LastLine(t *spec.Tree) int {
	line := t.Line
	if t.Kind == spec.TreeText {
		line += strings.Count(strings.TrimSuffix(t.Text, "\n"), "\n")
	}
	for i := range t.Items {
		line = max(line, LastLine(&t.Items[i]))
	}
	return line
}

// Kept says that the document has v in the same words, at the path to.
func (v *Value) Kept(to string) { v.say(Kept, false, to, "") }

// Translated says that the document has v in other words.
func (v *Value) Translated(to, reason string) { v.say(Translated, false, to, reason) }

// Approximated says that the document has something near to v.
func (v *Value) Approximated(to, reason string) { v.say(Approximated, true, to, reason) }

// Lost says that the document does not have v, and that meaning is lost.
func (v *Value) Lost(reason string) { v.say(Ignored, true, "", reason) }

// Harmless says that the document does not have v, and that nothing is lost.
func (v *Value) Harmless(reason string) { v.say(Ignored, false, "", reason) }

// Refuse is nothing where there is no value: what holds it is refused then.
func (v *Value) Refuse(reason, hint string) {
	if v == nil {
		return
	}
	v.R.Refuse(v.Line, v.Path, v.T.Text, reason, hint)
}

// Text is a scalar as it was written; "", and refused, where it is none.
func (v *Value) Text() string {
	if v == nil {
		return ""
	}
	if !v.T.Scalar() {
		v.Refuse(v.T.Found()+", expected a text", "write it in quotes")
		return ""
	}
	return v.T.Text
}

// Texts is a list of scalars; one alone stands for a list of one.
func (v *Value) Texts() []string {
	if v == nil {
		return nil
	}
	if v.T.Scalar() {
		return []string{v.T.Text}
	}
	items := v.List()
	all := make([]string, 0, len(items))
	for _, item := range items {
		all = append(all, item.Text())
	}
	return all
}

// Whole is a whole number from least on; it is refused where it is none.
func (v *Value) Whole(least int) int {
	if v == nil {
		return 0
	}
	n, err := strconv.Atoi(v.T.Text)
	if !v.T.Scalar() || err != nil || n > math.MaxInt32 {
		v.Refuse(v.T.Found()+", expected a whole number", "write it in digits")
		return least
	}
	if n < least {
		v.Refuse(fmt.Sprintf("%d is less than %d", n, least), fmt.Sprintf("write %d or more", least))
		return least
	}
	return n
}

// Decimal is a number of which ok says whether there is a finite one, not
// negative; it is refused else.
func (v *Value) Decimal() (float64, bool) {
	if v == nil {
		return 0, false
	}
	f, err := strconv.ParseFloat(v.T.Text, 64)
	if !v.T.Scalar() || err != nil || math.IsInf(f, 0) || math.IsNaN(f) || f < 0 || f > 1e12 {
		v.Refuse(v.T.Found()+", expected a number that is not negative", "write it in digits")
		return 0, false
	}
	return f, true
}

// Truth is true or false.
func (v *Value) Truth() bool {
	if v == nil {
		return false
	}
	if v.T.Kind != spec.TreeBool {
		v.Refuse(v.T.Found()+", expected true or false", "")
		return false
	}
	return v.T.Text[0] == 't' || v.T.Text[0] == 'T'
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
	for i, name := range o.T.Names {
		names = append(names, name)
		values = append(values, &Value{R: v.R, T: &o.T.Items[i], Path: Below(v.Path, name), Line: o.T.Lines[i]})
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
