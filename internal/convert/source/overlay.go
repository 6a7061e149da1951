package source

import (
	"bytes"
	"encoding/json"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/core/spec"
)

// OverlayName is where an export keeps what its format has no words for: an
// annotation or comment that others pass over and Import applies. So what is
// exported and imported again is the same workload.
const OverlayName = "muster.dev/workload"

// Overlay is a list of changes of a document as JSON has it.
type Overlay []Change

// Change sets the field at Path, or removes it where Value is nil. Names are
// those of maps, outermost first. It holds only as long as the rest of the file
// says what it said when it was written, whose sum Was is: whoever edits the
// file is meant.
type Change struct {
	Path  []string        `json:"path"`
	Value json.RawMessage `json:"value,omitempty"`
	Was   string          `json:"was,omitempty"` // empty: nothing
}

// sum tells one value from another.
func sum(data []byte) string {
	h := fnv.New64a()
	_, _ = h.Write(data)
	return strconv.FormatUint(h.Sum64(), 36)
}

// Field is the path as documents write it.
func (c Change) Field() string { return strings.Join(c.Path, ".") }

// Fields is doc as JSON has it.
func Fields(doc *spec.Document) (map[string]any, error) {
	data, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	m := map[string]any{}
	return m, d.Decode(&m)
}

// Difference is what makes of have what want is.
func Difference(have, want *spec.Document) (Overlay, error) {
	a, err := Fields(have)
	if err != nil {
		return nil, err
	}
	b, err := Fields(want)
	if err != nil {
		return nil, err
	}
	var o Overlay
	err = o.compare(nil, a, b)
	return o, err
}

func (o *Overlay) compare(path []string, a, b map[string]any) error {
	names := slices.Sorted(maps.Keys(a))
	for name := range b {
		if _, both := a[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		at := append(slices.Clone(path), name)
		before, had := a[name]
		after, has := b[name]
		x, xok := before.(map[string]any)
		y, yok := after.(map[string]any)
		if had && xok && yok {
			if err := o.compare(at, x, y); err != nil {
				return err
			}
			continue
		}
		c := Change{Path: at}
		old, err := json.Marshal(before)
		if err != nil {
			return err
		}
		if had {
			c.Was = sum(old)
		}
		if has {
			if c.Value, err = json.Marshal(after); err != nil {
				return err
			}
		}
		if had != has || !bytes.Equal(old, c.Value) {
			*o = append(*o, c)
		}
	}
	return nil
}

// apply makes the changes to a copy of doc. It fails on what is no document
// afterwards.
func (o Overlay) apply(doc *spec.Document) (*spec.Document, error) {
	m, err := Fields(doc)
	if err != nil {
		return nil, err
	}
	for _, c := range o {
		if len(c.Path) == 0 {
			continue
		}
		in, last := m, len(c.Path)-1
		for _, name := range c.Path[:last] {
			next, ok := in[name].(map[string]any)
			if !ok {
				next = map[string]any{}
				in[name] = next
			}
			in = next
		}
		if !c.holds(in[c.Path[last]]) {
			continue
		}
		if c.Value == nil {
			delete(in, c.Path[last])
			continue
		}
		var v any
		d := json.NewDecoder(bytes.NewReader(c.Value))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			return nil, err
		}
		in[c.Path[last]] = v
	}
	data, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	return spec.Parse(data)
}

// holds reports whether the file still says what it said.
func (c Change) holds(now any) bool {
	if now == nil {
		return c.Was == ""
	}
	data, err := json.Marshal(now)
	return err == nil && sum(data) == c.Was
}

// ApplyAnnotation applies the overlay that an export left in the annotations of doc.
func (r *Reader) ApplyAnnotation(doc *spec.Document) {
	if doc == nil {
		return
	}
	text, ok := doc.Annotations[OverlayName]
	if !ok {
		return
	}
	if delete(doc.Annotations, OverlayName); len(doc.Annotations) == 0 {
		doc.Annotations = nil
	}
	r.ApplyOverlay(doc, text)
}

// ApplyOverlay makes of doc what an overlay in text says.
func (r *Reader) ApplyOverlay(doc *spec.Document, text string) {
	line := 1
	for _, n := range r.Notes {
		if strings.HasSuffix(n.Field, OverlayName) {
			line = n.Line
		}
	}
	var o Overlay
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		r.Refuse(line, OverlayName, "", "is not what an export wrote: "+err.Error(), "remove it")
		return
	}
	if doc.Size() > 0 || doc.Kind.Replicated() { // what counts is said in the format's own words
		gpus, each, size, limit := doc.TotalMilli(), doc.Resources.GPU.TotalMilli(), doc.Size(), doc.MaxDuration
		next, err := o.apply(doc)
		switch {
		case err != nil:
			r.Refuse(line, OverlayName, "", "makes no workload: "+err.Error(), "remove it")
		case next.TotalMilli() != gpus || size == 0 && next.Resources.GPU.TotalMilli() != each || next.Size() != size || limit > 0 && (next.MaxDuration == 0 || next.MaxDuration > limit):
			r.Refuse(line, OverlayName, "", "asks for other GPUs, another number of tasks or a longer time than the rest of the file", "export it again, or remove it")
		default:
			*doc = *next
		}
	}
}
