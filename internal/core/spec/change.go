package spec

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/mergepatch"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// Change is one field in which a document differs from another. Values are
// JSON; an absent one means that the document says nothing there. A list is one
// field, and so is a parameter: changes of changes can then be told exactly.
type Change struct {
	Path string          `json:"path"`
	From json.RawMessage `json:"from,omitempty"`
	To   json.RawMessage `json:"to,omitempty"`
}

// Fields are what a document says, by path.
type Fields map[string]json.RawMessage

// Changes are the fields in which two documents differ, by path.
func Changes(from, to *Document) []Change { return FieldsOf(from).Changes(FieldsOf(to)) }

// Changes are the fields in which f and to differ, by path.
func (f Fields) Changes(to Fields) []Change {
	paths := make([]string, 0, len(f)+len(to))
	for p := range f {
		paths = append(paths, p)
	}
	for p := range to {
		if _, both := f[p]; !both {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	var out []Change
	for _, p := range paths {
		if !bytes.Equal(f[p], to[p]) {
			out = append(out, Change{Path: p, From: f[p], To: to[p]})
		}
	}
	return out
}

// Before are the fields as they were before the changes.
func (f Fields) Before(changes []Change) Fields {
	out := maps.Clone(f)
	for _, c := range changes {
		delete(out, c.Path)
		if c.From != nil {
			out[c.Path] = c.From
		}
	}
	return out
}

// Together is what several rounds of changes come to, oldest first: what was
// changed back is left out.
func Together(rounds ...[]Change) []Change {
	first, last := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	var paths []string
	for _, round := range rounds {
		for _, c := range round {
			if _, seen := last[c.Path]; !seen {
				first[c.Path] = c.From
				paths = append(paths, c.Path)
			}
			last[c.Path] = c.To
		}
	}
	slices.Sort(paths)
	var out []Change
	for _, p := range paths {
		if !bytes.Equal(first[p], last[p]) {
			out = append(out, Change{Path: p, From: first[p], To: last[p]})
		}
	}
	return out
}

// DocumentOf is the document of which f are the fields.
func DocumentOf(f Fields) (*Document, error) {
	tree := map[string]any{}
	for path, value := range f {
		d := json.NewDecoder(bytes.NewReader(value))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			return nil, codec.FieldError{Path: path, Problem: "is not JSON: " + err.Error()}
		}
		at := tree
		names := root().Parts(path)
		for _, name := range names[:len(names)-1] {
			if below, ok := at[name].(map[string]any); ok {
				at = below
				continue
			}
			below := map[string]any{}
			at[name], at = below, below
		}
		at[names[len(names)-1]] = v
	}
	data, err := json.Marshal(tree)
	if err != nil {
		return nil, err
	}
	return Parse(data)
}

// FieldsOf are the fields of a document; nil has none.
func FieldsOf(d *Document) Fields {
	out := Fields{}
	if d != nil {
		n, _ := d.tree()
		root().Leaves(&n, "", out)
	}
	return out
}

// Effect is when a change of a field of a workload that exists comes to hold.
type Effect string

// The effects of changes.
const (
	EffectLive    Effect = "live"        // at once; what runs goes on
	EffectRolling Effect = "rolling"     // replicas are replaced a few at a time
	EffectAttempt Effect = "new attempt" // what runs has to end first
	EffectNever   Effect = "never"       // it is another workload
)

// liveFields may change while a workload lives: its place in the order, its
// limits, and words about it.
var liveFields = []string{"annotations", "deadline", "deadlineAction", "expectedDuration", "gracePeriod", "idleLimit", "labels", "maxDuration", "preemptible", "priority", "retry", "ttlAfterEnd"}

// liveParts are parts of fields that may change so while the rest of these may not: how
// many tasks of an array run at once.
var liveParts = map[string][]string{"array": {"parallelism"}}

// fixedFields are what a workload is.
var fixedFields = []string{"kind", "name", "namePrefix", "project"}

// LiveFields are the fields that may change while a workload lives, in
// alphabetical order.
func LiveFields() []string { return slices.Clone(liveFields) }

// LivePart reports whether a part of a field, such as parallelism of array, may change
// while a workload lives though the field may not.
func LivePart(field, part string) bool { return slices.Contains(liveParts[field], part) }

// LivePatch is the merge patch that makes the fields that may change while a
// workload lives those of another document.
func LivePatch(from, to *Document) (map[string]any, error) {
	var trees [2]map[string]any
	for i, d := range []*Document{WithDefaults(from), to} {
		var err error
		if trees[i], err = mergepatch.Tree(d); err != nil {
			return nil, err
		}
		for name, value := range trees[i] {
			if slices.Contains(liveFields, name) {
				continue
			}
			parts, _ := value.(map[string]any)
			for part := range parts {
				if !LivePart(name, part) {
					delete(parts, part)
				}
			}
			if len(parts) == 0 {
				delete(trees[i], name)
			}
		}
	}
	return mergepatch.Between(trees[0], trees[1]), nil
}

// EffectOf is when a change of the field at path comes to hold for a workload
// of that kind.
func EffectOf(kind lifecycle.Kind, path string) Effect {
	name, part, _ := strings.Cut(path, ".")
	switch {
	case slices.Contains(fixedFields, name):
		return EffectNever
	case slices.Contains(liveFields, name), LivePart(name, part):
		return EffectLive
	case kind.Replicated():
		return EffectRolling
	default:
		return EffectAttempt
	}
}
