package source

import (
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/core/spec"
)

// Map is a map of a source of which each entry is asked for once. What
// nobody asked for is accounted for by done.
type Map struct {
	r     *Reader
	T     *spec.Tree
	Path  string
	taken []bool
}

// Map is t as a map; nil, and refused, where it is none or says something
// twice.
func (r *Reader) Map(t *spec.Tree, path string) *Map {
	if t.Kind != spec.TreeMap {
		r.Refuse(t.Line, path, t.Text, t.Found()+", expected a map", "write fields, as name: value")
		return nil
	}
	o := &Map{r: r, T: t, Path: path, taken: make([]bool, len(t.Names))}
	seen := make(map[string]int, len(t.Names))
	for i, name := range t.Names {
		if first, twice := seen[name]; twice {
			o.taken[i] = true
			r.Refuse(t.Lines[i], Below(path, name), "", fmt.Sprintf("stands twice, first in line %d", first), "keep one of them")
			continue
		}
		seen[name] = t.Lines[i]
	}
	return o
}

// Below is the path of an entry of the map at path.
func Below(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// Take is the entry of that name; nil where there is none, or nothing in it.
func (o *Map) Take(name string) *Value {
	if o == nil {
		return nil
	}
	i := slices.Index(o.T.Names, name)
	if i < 0 || o.taken[i] {
		return nil
	}
	o.taken[i] = true
	v := &Value{R: o.r, T: &o.T.Items[i], Path: Below(o.Path, name), Line: o.T.Lines[i]}
	if v.T.Kind == spec.TreeNull {
		v.Harmless("it is empty")
		return nil
	}
	return v
}

// Has reports whether there is an entry of that name.
func (o *Map) Has(name string) bool { return o != nil && slices.Contains(o.T.Names, name) }

// Map is the entry of that name as a map.
func (o *Map) Map(name string) *Map {
	v := o.Take(name)
	if v == nil {
		return nil
	}
	return v.Map()
}

// Nothing says why an entry that is known means nothing here.
type Nothing map[string]string

// Done accounts for what was not asked for: harmless is what loses no meaning,
// lossy what does. All else is not known, and refused where strict.
func (o *Map) Done(harmless, lossy Nothing, strict bool) {
	if o == nil {
		return
	}
	for i, name := range o.T.Names {
		if o.taken[i] {
			continue
		}
		o.taken[i] = true
		v := &Value{R: o.r, T: &o.T.Items[i], Path: Below(o.Path, name), Line: o.T.Lines[i]}
		if why, known := harmless[name]; known {
			v.Harmless(why)
		} else if why, known := lossy[name]; known {
			v.Lost(why)
		} else if strict {
			v.Refuse("is not known"+suggest(name, harmless, lossy), "remove it, or correct its name")
		} else {
			v.Lost("it is not known" + suggest(name, harmless, lossy))
		}
	}
}

// Entry is the entry of that name, untaken.
func Entry(t *spec.Tree, name string) *spec.Tree {
	for i, n := range t.Names {
		if n == name {
			return &t.Items[i]
		}
	}
	return nil
}
