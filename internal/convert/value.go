package convert

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/core/spec"
)

// value is one value of a source, with where it stands.
type value struct {
	r    *reader
	t    *spec.Tree
	path string
	line int
}

func (v *value) object() *object {
	if v == nil {
		return nil
	}
	return v.r.object(v.t, v.path)
}

// list is the items of a list; nil, and refused, where it is none.
func (v *value) list() []*value {
	if v == nil {
		return nil
	}
	if v.t.Kind != spec.TreeList {
		v.refuse(v.t.Found()+", expected a list", "write items, as - item")
		return nil
	}
	items := make([]*value, len(v.t.Items))
	for i := range v.t.Items {
		items[i] = &value{r: v.r, t: &v.t.Items[i], path: v.path + "[" + strconv.Itoa(i) + "]", line: v.t.Items[i].Line}
	}
	return items
}

func (v *value) say(fate Fate, lossy bool, to, reason string) {
	if v == nil {
		return
	}
	text := v.t.Text
	if !v.t.Scalar() {
		text = ""
	}
	v.r.note(Note{Line: v.line, Last: v.last(), Field: v.path, Value: text, Fate: fate, To: to, Reason: reason, Lossy: lossy})
}

// last is the last line of v that is known, where it is another than the first.
func (v *value) last() int {
	line := lastLine(v.t)
	if line <= v.line {
		return 0
	}
	return line
}

func lastLine(t *spec.Tree) int {
	line := t.Line
	if t.Kind == spec.TreeText {
		line += strings.Count(strings.TrimSuffix(t.Text, "\n"), "\n")
	}
	for i := range t.Items {
		line = max(line, lastLine(&t.Items[i]))
	}
	return line
}

func (v *value) kept(to string) { v.say(Kept, false, to, "") }

func (v *value) translated(to, reason string) { v.say(Translated, false, to, reason) }

func (v *value) approximated(to, reason string) { v.say(Approximated, true, to, reason) }

func (v *value) lost(reason string) { v.say(Ignored, true, "", reason) }

func (v *value) harmless(reason string) { v.say(Ignored, false, "", reason) }

// refuse is nothing where there is no value: what holds it is refused then.
func (v *value) refuse(reason, hint string) {
	if v == nil {
		return
	}
	v.r.refuse(v.line, v.path, v.t.Text, reason, hint)
}

// text is a scalar as it was written; "", and refused, where it is none.
func (v *value) text() string {
	if v == nil {
		return ""
	}
	if !v.t.Scalar() {
		v.refuse(v.t.Found()+", expected a text", "write it in quotes")
		return ""
	}
	return v.t.Text
}

// texts is a list of scalars; one alone stands for a list of one.
func (v *value) texts() []string {
	if v == nil {
		return nil
	}
	if v.t.Scalar() {
		return []string{v.t.Text}
	}
	items := v.list()
	all := make([]string, 0, len(items))
	for _, item := range items {
		all = append(all, item.text())
	}
	return all
}

// whole is a whole number from least on; it is refused where it is none.
func (v *value) whole(least int) int {
	if v == nil {
		return 0
	}
	n, err := strconv.Atoi(v.t.Text)
	if !v.t.Scalar() || err != nil || n > math.MaxInt32 {
		v.refuse(v.t.Found()+", expected a whole number", "write it in digits")
		return least
	}
	if n < least {
		v.refuse(fmt.Sprintf("%d is less than %d", n, least), fmt.Sprintf("write %d or more", least))
		return least
	}
	return n
}

// decimal is a number of which ok says whether there is a finite one, not
// negative; it is refused else.
func (v *value) decimal() (float64, bool) {
	if v == nil {
		return 0, false
	}
	f, err := strconv.ParseFloat(v.t.Text, 64)
	if !v.t.Scalar() || err != nil || math.IsInf(f, 0) || math.IsNaN(f) || f < 0 || f > 1e12 {
		v.refuse(v.t.Found()+", expected a number that is not negative", "write it in digits")
		return 0, false
	}
	return f, true
}

// truth is true or false.
func (v *value) truth() bool {
	if v == nil {
		return false
	}
	if v.t.Kind != spec.TreeBool {
		v.refuse(v.t.Found()+", expected true or false", "")
		return false
	}
	return v.t.Text[0] == 't' || v.t.Text[0] == 'T'
}

// quantity is an amount as Kubernetes writes it.
func (v *value) quantity() spec.Quantity {
	text := v.text()
	if text == "" {
		return 0
	}
	q, err := spec.ParseQuantity(kubernetesUnits(text))
	if err != nil {
		v.refuse(problemOf(err), hintOf(err))
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

// pairs is a map of texts, in the order of the source.
func (v *value) pairs() (names []string, values []*value) {
	if v == nil {
		return nil, nil
	}
	o := v.object()
	if o == nil {
		return nil, nil
	}
	for i, name := range o.t.Names {
		names = append(names, name)
		values = append(values, &value{r: v.r, t: &o.t.Items[i], path: below(v.path, name), line: o.t.Lines[i]})
	}
	return names, values
}

// name is a workload's name; one that is too long or has other letters is
// refused, since others may refer to it.
func (v *value) name(to string) string {
	name := v.text()
	v.kept(to)
	return name
}
