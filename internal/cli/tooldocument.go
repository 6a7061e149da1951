package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/document"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// Edit returns a document with fields set, each written FIELD=value as for
// muster run --set.
func Edit(doc *spec.Document, sets []string) (*spec.Document, error) {
	var changes []document.Change
	for _, text := range sets {
		c, err := document.ParseSet(text)
		if err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	return document.Edit(doc, changes)
}

// BadDocument is a file, or a command line where there is none, that cannot be
// read.
func BadDocument(file string, errs codec.Errors) error {
	if file == "" {
		errs = slices.Clone(errs)
		for i := range errs {
			errs[i].Line = 0
		}
	}
	return session.BadDocument(file, errs)
}

// Overlay returns base with what over says in its place.
func Overlay(base, over *spec.Document) (*spec.Document, error) {
	var trees [2]map[string]any
	for i, d := range []*spec.Document{base, over} {
		data, err := document.Encode(d)
		if err != nil {
			return nil, err
		}
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		if err := dec.Decode(&trees[i]); err != nil {
			return nil, err
		}
	}
	laid(trees[0], trees[1])
	data, err := json.Marshal(trees[0])
	if err != nil {
		return nil, err
	}
	return spec.Parse(data)
}

// laid lays one tree over another, map by map.
func laid(under, over map[string]any) {
	for k, v := range over {
		inner, ok := v.(map[string]any)
		if there, is := under[k].(map[string]any); ok && is {
			laid(there, inner)
			continue
		}
		under[k] = v
	}
}

// Change gives a workload another document.
func (t *Tool) Change(ctx context.Context, w *api.Workload, doc *spec.Document) error {
	if errs := spec.Validate(spec.WithDefaults(doc)); len(errs) > 0 {
		return session.BadDocument("", errs)
	}
	data, err := document.Encode(doc)
	if err != nil {
		return err
	}
	c, err := t.s.Connect(ctx)
	if err != nil {
		return err
	}
	_, err = c.Update(ctx, w.Project, w.ID, data)
	return err
}

// Amend sets fields of the document of a workload that has not ended, each
// written FIELD=value: its priority and its limits.
func (t *Tool) Amend(ctx context.Context, w *api.Workload, sets []string) (*api.Workload, error) {
	doc, err := Edit(&spec.Document{}, sets)
	if err != nil {
		return nil, err
	}
	data, err := document.Encode(doc)
	if err != nil {
		return nil, err
	}
	patch := map[string]any{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&patch); err != nil {
		return nil, err
	}
	for _, text := range sets {
		set, err := document.ParseSet(text)
		if err != nil {
			return nil, err
		}
		path := strings.Split(set.Path, ".")
		if set.Key != "" { // which may have dots
			path = append(path, set.Key)
		}
		emptied(patch, path)
	}
	c, err := t.s.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return c.Change(ctx, w.Project, w.ID, patch)
}

// emptied puts null where a field is set to what it is by itself, which a
// document leaves out.
func emptied(patch map[string]any, path []string) {
	next, there := patch[path[0]]
	below, nested := next.(map[string]any)
	switch {
	case len(path) > 1 && !there:
		below = map[string]any{}
		patch[path[0]] = below
		emptied(below, path[1:])
	case len(path) > 1 && nested:
		emptied(below, path[1:])
	case !there:
		patch[path[0]] = nil
	}
}
