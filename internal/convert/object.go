package convert

import (
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/core/spec"
)

// object is a map of a source of which each entry is asked for once. What
// nobody asked for is accounted for by done.
type object struct {
	r     *reader
	t     *spec.Tree
	path  string
	taken []bool
}

// object is t as a map; nil, and refused, where it is none or says something
// twice.
func (r *reader) object(t *spec.Tree, path string) *object {
	if t.Kind != spec.TreeMap {
		r.refuse(t.Line, path, t.Text, t.Found()+", expected a map", "write fields, as name: value")
		return nil
	}
	o := &object{r: r, t: t, path: path, taken: make([]bool, len(t.Names))}
	seen := make(map[string]int, len(t.Names))
	for i, name := range t.Names {
		if first, twice := seen[name]; twice {
			o.taken[i] = true
			r.refuse(t.Lines[i], below(path, name), "", fmt.Sprintf("stands twice, first in line %d", first), "keep one of them")
			continue
		}
		seen[name] = t.Lines[i]
	}
	return o
}

func below(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// take is the entry of that name; nil where there is none, or nothing in it.
func (o *object) take(name string) *value {
	if o == nil {
		return nil
	}
	i := slices.Index(o.t.Names, name)
	if i < 0 || o.taken[i] {
		return nil
	}
	o.taken[i] = true
	v := &value{r: o.r, t: &o.t.Items[i], path: below(o.path, name), line: o.t.Lines[i]}
	if v.t.Kind == spec.TreeNull {
		v.harmless("it is empty")
		return nil
	}
	return v
}

// has reports whether there is an entry of that name.
func (o *object) has(name string) bool { return o != nil && slices.Contains(o.t.Names, name) }

// object is the entry of that name as a map.
func (o *object) object(name string) *object {
	v := o.take(name)
	if v == nil {
		return nil
	}
	return v.object()
}

// nothing says why an entry that is known means nothing here.
type nothing map[string]string

// done accounts for what was not asked for: harmless is what loses no meaning,
// lossy what does. All else is not known, and refused where strict.
func (o *object) done(harmless, lossy nothing, strict bool) {
	if o == nil {
		return
	}
	for i, name := range o.t.Names {
		if o.taken[i] {
			continue
		}
		o.taken[i] = true
		v := &value{r: o.r, t: &o.t.Items[i], path: below(o.path, name), line: o.t.Lines[i]}
		if why, known := harmless[name]; known {
			v.harmless(why)
		} else if why, known := lossy[name]; known {
			v.lost(why)
		} else if strict {
			v.refuse("is not known"+suggest(name, harmless, lossy), "remove it, or correct its name")
		} else {
			v.lost("it is not known" + suggest(name, harmless, lossy))
		}
	}
}

// entry is the entry of that name, untaken.
func entry(t *spec.Tree, name string) *spec.Tree {
	for i, n := range t.Names {
		if n == name {
			return &t.Items[i]
		}
	}
	return nil
}
