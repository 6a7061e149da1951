package policy

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
	"github.com/musterhq/muster/internal/core/spec/schema"
)

// sort is what can be asked of a value.
type sort int

const (
	truth  sort = iota
	word        // text, command
	amount      // number, quantity, length of time
	words       // list without keys
	items       // map, or list whose items have keys
)

var names = map[sort]string{truth: "a boolean", word: "a string", amount: "an amount", words: "a list", items: "a map or list of items"}

// itemKeys are the attributes by which items of lists are told apart.
var itemKeys = map[string]string{
	"volumes": "path", "ports": "port", "tolerations": "key", "secrets": "name", "nodeAffinity": "key", "after": "workload", "checks": "name",
}

// valueOf is the attribute of entries of maps: they have this one.
const valueOf = "value"

// place is a field, an entry of a map, or an attribute of all items of a list.
type place struct {
	field *schema.Field
	key   string          // of the entry
	below []*schema.Field // from an item of a list to its attribute
}

// leaf is the field whose value is at a place; nil: that of an entry of a map, whose
// type is the map's.
func (p place) leaf() *schema.Field {
	if len(p.below) > 0 {
		return p.below[len(p.below)-1]
	}
	return p.field
}

// sort is what can be asked of the value at p; entry: of that of an entry of a map.
func (p place) sort(entry bool) sort {
	f := p.leaf()
	switch f.Kind {
	case schema.Bool:
		return truth
	case schema.Int:
		return amount
	case schema.TextMap:
		if entry {
			return word
		}
		return items
	case schema.Counts:
		if entry {
			return amount
		}
		return items
	case schema.Scalar:
		if reflect.New(f.Typ).Elem().CanInt() {
			return amount
		}
		return word
	case schema.List:
		if itemKeys[f.Path] != "" && len(p.below) == 0 {
			return items
		}
		return words
	case schema.Text:
		return word
	default:
		return words
	}
}

// attributesOf finds the attribute of items of f at a path below them.
func attributeOf(f *schema.Field, name string) (place, bool) {
	p := place{field: f}
	if f.Kind != schema.List {
		return p, name == valueOf
	}
	at := f.Item
	for part := range strings.SplitSeq(name, ".") {
		next := at.ByName[part]
		if next == nil {
			return p, false
		}
		p.below, at = append(p.below, next), next
	}
	return p, at.Kind != schema.Object
}

// attributeNames are what items of f have.
func attributeNames(f *schema.Field) []string {
	if f.Kind != schema.List {
		return []string{valueOf}
	}
	var out []string
	for _, c := range f.Item.Fields {
		if c.Kind == schema.Object {
			for _, below := range c.Names {
				out = append(out, c.Name+"."+below)
			}
			continue
		}
		out = append(out, c.Name)
	}
	return out
}

// read is a text as the value at p: a document is written that says it there.
func (p place) read(n *codec.Node, entry bool) (Value, codec.FieldError, bool) {
	raw := json.RawMessage(codec.AppendJSON(nil, n))
	wrap := func(name string) { raw = fmt.Appendf(nil, "{%s:%s}", strconv.Quote(name), raw) }
	names := strings.Split(p.field.Path, ".")
	switch {
	case len(p.below) > 0:
		for _, f := range slices.Backward(p.below) {
			wrap(f.Name)
		}
		raw = fmt.Appendf(nil, "[%s]", raw)
	case entry:
		wrap(cmp.Or(p.key, "A"))
	case p.field.Kind == schema.Texts:
		raw = fmt.Appendf(nil, "[%s]", raw)
	}
	for _, name := range slices.Backward(names) {
		wrap(name)
	}
	doc, err := spec.Parse(raw)
	var errs codec.Errors
	if errors.As(err, &errs) {
		e := errs[0]
		e.Path, e.Line = "", 0
		return Value{}, e, false
	}
	v := p.field.In(reflect.ValueOf(doc).Elem())
	switch {
	case len(p.below) > 0:
		v = v.Index(0)
		for _, f := range p.below {
			v = f.Of(v)
		}
	case entry:
		v = v.MapIndex(reflect.ValueOf(cmp.Or(p.key, "A")))
	case p.field.Kind == schema.Texts:
		v = v.Index(0)
	}
	out := Value{Text: textOf(v)}
	if v.CanInt() {
		out.amount = v.Int()
	}
	if e := p.unfit(out); e.Problem != "" {
		return out, e, false
	}
	return out, codec.FieldError{}, true
}

// unfit is what no document could say at p.
func (p place) unfit(v Value) (e codec.FieldError) {
	f := p.leaf()
	e.Value = v.Text
	switch {
	case len(f.Enum) > 0 && !slices.Contains(f.Enum, v.Text):
		e.Problem, e.Allowed = strconv.Quote(codec.Shorten(v.Text))+" is nothing that the field may be", f.Enum
	case f.Kind == schema.Text && f.Check != nil && v.Text != "":
		e.Problem, e.Hint = f.Check(v.Text)
	}
	return e
}

// textOf is a value as it is written.
func textOf(v reflect.Value) string {
	if s, ok := v.Interface().(fmt.Stringer); ok {
		return s.String()
	}
	switch {
	case v.Kind() == reflect.String:
		return v.String()
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10)
	default:
		return fmt.Sprint(v.Interface())
	}
}

// keyOf is the key of an item of a list.
func keyOf(list *schema.Field, item reflect.Value) string {
	k := textOf(item.Field(list.Item.ByName[itemKeys[list.Path]].Index))
	return canonicalKey(list, k)
}

func canonicalKey(f *schema.Field, key string) string {
	if f.Path == "volumes" && key != "" {
		return path.Clean(key)
	}
	return key
}

// itemsOf are the items of a map or list by their keys; of a list, the second of a key
// with #2 behind it, and so on: none hides another.
func itemsOf(f *schema.Field, v reflect.Value) map[string]reflect.Value {
	out := map[string]reflect.Value{}
	switch {
	case !v.IsValid():
	case f.Kind == schema.List:
		for i := range v.Len() {
			key := keyOf(f, v.Index(i))
			for n, first := 2, key; out[key].IsValid(); n++ {
				key = first + "#" + strconv.Itoa(n)
			}
			out[key] = v.Index(i)
		}
	default:
		for it := v.MapRange(); it.Next(); {
			out[it.Key().String()] = it.Value()
		}
	}
	return out
}
