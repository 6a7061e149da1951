package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/core/spec"
)

// takeAssets makes the assets that are named, or that the file names, what a file
// and flags are laid over. Data is taken by the server, since it lies beside what
// a document says.
func (s *session) takeAssets(ctx context.Context, d *documentFlags, named spec.Assets) error {
	if d.file == "" {
		if named == (spec.Assets{}) {
			return nil
		}
		take, err := s.taker(ctx, d.project)
		if err == nil {
			d.base, err = spec.Compose(named, take)
		}
		return source{}.refuse(err)
	}
	if _, err := s.pieces(d); err != nil {
		return err
	}
	for i, p := range d.read {
		over := named.Or(p.doc.Assets())
		if over == (spec.Assets{}) {
			continue
		}
		take, err := s.taker(ctx, cmp.Or(d.project, p.doc.Project))
		if err != nil {
			return err
		}
		base, err := spec.Compose(over, take)
		if err == nil {
			d.read[i].doc, err = spec.Overlay(base, p.doc.WithoutAssets())
		}
		if err != nil {
			return p.src.refuse(err)
		}
	}
	return nil
}

// taker finds the assets that a project uses.
func (s *session) taker(ctx context.Context, project string) (spec.Take, error) {
	c, err := s.connect(ctx)
	return func(kind, ref string) (spec.Piece, error) {
		t, err := s.template(ctx, c, project, kind, ref)
		if err != nil {
			return spec.Piece{}, err
		}
		doc, err := partOf(t)
		return spec.Piece{Kind: kind, Name: t.Name, Version: t.Version, Environment: t.Environment, Document: doc}, err
	}, err
}

// whole is the document that doc stands for: itself, where it names no assets.
func (s *session) whole(ctx context.Context, c *client.Client, doc *spec.Document) (*spec.Document, error) {
	if !doc.NamesAssets() {
		return doc, nil
	}
	data, err := encode(doc)
	if err != nil {
		return nil, err
	}
	if data, err = c.Assembled(ctx, data); err != nil {
		return nil, err
	}
	out := new(spec.Document)
	return out, out.UnmarshalJSON(data)
}

// sayAssets says of what a document was made.
func (s *session) sayAssets(doc *spec.Document) {
	for _, made := range assetsOf(doc) {
		s.say("%s", made)
	}
}

// assetsOf are the assets that a document was made of, each with its kind.
func assetsOf(doc *spec.Document) (out []string) {
	for _, kind := range spec.MadeOfKinds() {
		if made := doc.Annotations[spec.MadeOf+kind]; made != "" {
			out = append(out, kind+" "+strings.ReplaceAll(made, ",", ", "))
		}
	}
	return out
}

// template is the one that NAME or NAME@VERSION means in a project.
func (s *session) template(ctx context.Context, c *client.Client, project, kind, ref string) (*api.Template, error) {
	name, digits, at := strings.Cut(ref, "@")
	version := 0
	if at {
		n, err := strconv.Atoi(digits)
		if err != nil || n < 1 {
			return nil, usage(fmt.Sprintf("%s: %q is not a version", ref, digits), "write NAME, or NAME@3 for version 3")
		}
		version = n
	}
	if name == "" {
		return nil, usage("the name of the "+spec.AssetWord(kind)+" is missing", "muster "+kind+" list shows what there is")
	}
	t, err := c.Template(ctx, templateProject(project), kind, name, version)
	if !isNotFound(err) {
		return t, err
	}
	if list, lerr := c.Templates(ctx, templateProject(project), kind); lerr == nil {
		var names []string
		for _, t := range list.Items {
			names = append(names, t.Name)
		}
		var p *api.Problem
		if near := nearest(name, names); len(near) > 0 && errors.As(err, &p) {
			p.Hint = "did you mean " + near[0] + "?"
		}
	}
	return nil, err
}

// partOf is the document of a template.
func partOf(t *api.Template) (*spec.Document, error) {
	data, err := json.Marshal(t.Document)
	if err != nil {
		return nil, err
	}
	doc := new(spec.Document)
	return doc, doc.UnmarshalJSON(data)
}

func templateProject(project string) string {
	if project == "" {
		return defaultProject
	}
	return project
}
