// Package export writes a document as a file for another system, and is sure
// that Import makes the same document of it again.
package export

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/convert"
	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// Export writes doc for another system: Kubernetes, Sbatch or Mcli. What the
// format has no words for is kept in a place that others pass over, and is in
// the notes; Import makes the same document of it again. It fails with
// codec.Errors where the format could only say something else.
func Export(doc *spec.Document, format source.Format) ([]byte, []source.Note, error) {
	doc = doc.Clone()
	if doc.Slurm != nil {
		doc.Slurm.Environment = "" // it is the submitter's, not the script's, and may hold keys
	}
	doc.Kind = cmp.Or(doc.Kind, lifecycle.Training)
	if errs := spec.Validate(spec.WithDefaults(doc)); len(errs) > 0 {
		return nil, nil, errs
	}
	doc = minimal(doc)
	var write func(doc *spec.Document, over string) ([]byte, codec.Errors)
	switch format {
	case source.Native:
		return spec.YAML(doc), nil, nil
	case source.Kubernetes:
		write = toKubernetes
	case source.Sbatch:
		if text, ok := verbatim(doc); ok {
			return text, nil, nil
		}
		write = toSbatch
	case source.Mcli:
		write = toMcli
	default:
		return nil, nil, codec.Errors{{Path: "format", Problem: fmt.Sprintf("%q is not written", format), Hint: "allowed are kubernetes, sbatch and mcli"}}
	}
	text, errs := write(doc, "")
	if len(errs) > 0 {
		return nil, nil, errs
	}
	have, err := again(format, text)
	if err != nil {
		return nil, nil, err
	}
	if have.TotalMilli() != doc.TotalMilli() || have.Size() != doc.Size() {
		return nil, nil, codec.Errors{{Path: "resources.gpu", Problem: fmt.Sprintf("%s would ask for other GPUs or another number of tasks", format), Hint: "export it in another format"}}
	}
	over, err := source.Difference(have, doc)
	if err != nil {
		return nil, nil, err
	}
	if len(over) == 0 {
		return text, nil, nil
	}
	var notes []source.Note
	for _, c := range over {
		reason := "only muster import sees it; " + string(format) + " has no words for it"
		if c.Value == nil {
			reason = "only muster import knows that it is not said"
		}
		notes = append(notes, source.Note{Field: c.Field(), Fate: source.Ignored, Reason: reason, Lossy: true})
	}
	data, err := json.Marshal(over)
	if err != nil {
		return nil, nil, err
	}
	text, errs = write(doc, string(data))
	if len(errs) > 0 {
		return nil, nil, errs
	}
	return text, notes, nil
}

// again is the document that a file is read as.
func again(format source.Format, text []byte) (*spec.Document, error) {
	r, err := convert.ImportAs(format, text)
	if err != nil {
		return nil, fmt.Errorf("it cannot be written as %s: %w", format, err)
	}
	if len(r.Documents) != 1 {
		return nil, fmt.Errorf("it cannot be written as %s: it becomes %d workloads", format, len(r.Documents))
	}
	return r.Documents[0], nil
}

// minimal is doc without what it says only because it is the default, so that
// no file says it for them.
func minimal(doc *spec.Document) *spec.Document {
	full, err := source.Fields(doc)
	if err != nil {
		return doc.Clone()
	}
	base, err := source.Fields(spec.WithDefaults(&spec.Document{Kind: doc.Kind}))
	if err != nil {
		return doc.Clone()
	}
	without(full, base)
	full["kind"] = string(doc.Kind)
	data, err := json.Marshal(full)
	if err != nil {
		return doc.Clone()
	}
	small, err := spec.Parse(data)
	if err != nil || !spec.WithDefaults(small).Equal(spec.WithDefaults(doc)) {
		return doc.Clone()
	}
	return small
}

func without(m, base map[string]any) {
	for name, v := range m {
		b, ok := base[name]
		if !ok {
			continue
		}
		x, xok := v.(map[string]any)
		y, yok := b.(map[string]any)
		switch {
		case xok && yok:
			if without(x, y); len(x) == 0 {
				delete(m, name)
			}
		case reflect.DeepEqual(v, b):
			delete(m, name)
		}
	}
}

// verbatim is the script that doc was made of, where it still says the same.
func verbatim(doc *spec.Document) ([]byte, bool) {
	if doc.Slurm == nil {
		return nil, false
	}
	for _, a := range doc.Command.Argv {
		if !strings.HasPrefix(a, "#!") {
			continue
		}
		have, err := again(source.Sbatch, []byte(a))
		return []byte(a), err == nil && spec.WithDefaults(have).Equal(spec.WithDefaults(doc))
	}
	return nil, false
}

// Builders of trees.

func texts(list []string) codec.Tree {
	t := codec.Tree{Kind: codec.TreeList}
	for _, s := range list {
		t.Items = append(t.Items, codec.Text(s))
	}
	return t
}

func numberTree(n int) codec.Tree { return codec.Tree{Kind: codec.TreeNumber, Text: fmt.Sprint(n)} }

func truthTree(b bool) codec.Tree { return codec.Tree{Kind: codec.TreeBool, Text: fmt.Sprint(b)} }

func pairTree(m map[string]string) codec.Tree {
	t := codec.Map()
	for _, k := range slices.Sorted(maps.Keys(m)) {
		t.Names, t.Items = append(t.Names, k), append(t.Items, codec.Text(m[k]))
	}
	return t
}

// of is a map of entries.
func of(entries ...any) codec.Tree {
	t := codec.Map()
	for i := 0; i+1 < len(entries); i += 2 {
		name := entries[i].(string)
		switch v := entries[i+1].(type) {
		case codec.Tree:
			t.Put(name, v)
		case string:
			t.Put(name, codec.Text(v))
		case int:
			t.Put(name, numberTree(v))
		case bool:
			if v {
				t.Put(name, truthTree(v))
			}
		}
	}
	return t
}

func list(items ...codec.Tree) codec.Tree { return codec.Tree{Kind: codec.TreeList, Items: items} }
