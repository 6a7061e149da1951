package source

import (
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/core/spec/codec"
)

// Map is a map of a source of which each entry is asked for once. What
// nobody asked for is accounted for by Finish.
type Map struct {
	r        *Reader
	Tree     *codec.Tree
	Path     string
	consumed []bool
}

// Map is t as a map; nil, and refused, where it is none or says something
// twice.
func (r *Reader) Map(t *codec.Tree, path string) *Map {
	if t.Kind != codec.TreeMap {
		r.Refuse(t.Line, path, t.Text, t.Found()+", expected a map", "write fields, as name: value")
		return nil
	}
	o := &Map{r: r, Tree: t, Path: path, consumed: make([]bool, len(t.Names))}
	seen := make(map[string]int, len(t.Names))
	for i, name := range t.Names {
		if first, twice := seen[name]; twice {
			o.consumed[i] = true
			r.Refuse(t.Lines[i], FieldPath(path, name), "", fmt.Sprintf("stands twice, first in line %d", first), "keep one of them")
			continue
		}
		seen[name] = t.Lines[i]
	}
	return o
}

// FieldPath is the path of an entry of the map at path.
func FieldPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// Consume is the entry of that name; nil where there is none, or nothing in it.
func (o *Map) Consume(name string) *Value {
	if o == nil {
		return nil
	}
	i := slices.Index(o.Tree.Names, name)
	if i < 0 || o.consumed[i] {
		return nil
	}
	o.consumed[i] = true
	v := &Value{Reader: o.r, Tree: &o.Tree.Items[i], Path: FieldPath(o.Path, name), Line: o.Tree.Lines[i]}
	if v.Tree.Kind == codec.TreeNull {
		v.Ignored("it is empty")
		return nil
	}
	return v
}

// Has reports whether there is an entry of that name.
func (o *Map) Has(name string) bool { return o != nil && slices.Contains(o.Tree.Names, name) }

// Map is the entry of that name as a map.
func (o *Map) Map(name string) *Map {
	v := o.Consume(name)
	if v == nil {
		return nil
	}
	return v.Map()
}

// Reasons says why an entry that is known means nothing here.
type Reasons map[string]string

// Finish accounts for what was not asked for: ignored is what loses no meaning,
// dropped what does. All else is not known, and refused where strict.
func (o *Map) Finish(ignored, dropped Reasons, strict bool) {
	if o == nil {
		return
	}
	for i, name := range o.Tree.Names {
		if o.consumed[i] {
			continue
		}
		o.consumed[i] = true
		v := &Value{Reader: o.r, Tree: &o.Tree.Items[i], Path: FieldPath(o.Path, name), Line: o.Tree.Lines[i]}
		if why, known := ignored[name]; known {
			v.Ignored(why)
		} else if why, known := dropped[name]; known {
			v.Dropped(why)
		} else if strict {
			v.Refuse("is not known"+suggest(name, ignored, dropped), "remove it, or correct its name")
		} else {
			v.Dropped("it is not known" + suggest(name, ignored, dropped))
		}
	}
}

// Entry is the entry of that name, which stays unread.
func Entry(t *codec.Tree, name string) *codec.Tree {
	for i, n := range t.Names {
		if n == name {
			return &t.Items[i]
		}
	}
	return nil
}
