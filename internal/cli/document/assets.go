package document

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
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/nearest"
	"github.com/musterhq/muster/internal/core/spec"
)

// TakeAssets makes the assets that are named, or that the file names, what a file
// and flags are laid over. Data is taken by the server, since it lies beside what
// a document says.
func TakeAssets(ctx context.Context, s *session.Session, d *DocumentFlags, named spec.Assets) error {
	if d.File == "" {
		if named == (spec.Assets{}) {
			return nil
		}
		take, err := resolver(ctx, s, d.Project)
		if err == nil {
			d.Base, err = spec.Compose(named, take)
		}
		return Source{}.Refuse(err)
	}
	if _, err := pieces(s, d); err != nil {
		return err
	}
	for i, p := range d.read {
		over := named.Or(p.Doc.Assets())
		if over == (spec.Assets{}) {
			continue
		}
		take, err := resolver(ctx, s, cmp.Or(d.Project, p.Doc.Project))
		if err != nil {
			return err
		}
		base, err := spec.Compose(over, take)
		if err == nil {
			d.read[i].Doc, err = spec.Overlay(base, p.Doc.WithoutAssets())
		}
		if err != nil {
			return p.Src.Refuse(err)
		}
	}
	return nil
}

// resolver returns the lookup of the assets that a project uses.
func resolver(ctx context.Context, s *session.Session, project string) (spec.Resolve, error) {
	c, err := s.Connect(ctx)
	return func(kind, ref string) (spec.Piece, error) {
		t, err := Template(ctx, s, c, project, kind, ref)
		if err != nil {
			return spec.Piece{}, err
		}
		doc, err := PartOf(t)
		return spec.Piece{Kind: kind, Name: t.Name, Version: t.Version, Environment: t.Environment, Document: doc}, err
	}, err
}

// Whole is the document that doc stands for: itself, where it names no assets.
func Whole(ctx context.Context, s *session.Session, c *client.Client, doc *spec.Document) (*spec.Document, error) {
	if !doc.NamesAssets() {
		return doc, nil
	}
	data, err := Encode(doc)
	if err != nil {
		return nil, err
	}
	if data, err = c.Assembled(ctx, data); err != nil {
		return nil, err
	}
	out := new(spec.Document)
	return out, out.UnmarshalJSON(data)
}

// SayAssets says of what a document was made.
func SayAssets(s *session.Session, doc *spec.Document) {
	for _, made := range AssetsOf(doc) {
		s.Say("%s", made)
	}
}

// AssetsOf are the assets that a document was made of, each with its kind.
func AssetsOf(doc *spec.Document) (out []string) {
	for _, kind := range append(spec.MadeOfKinds(), "imposed") {
		if made := doc.Annotations[spec.MadeOf+kind]; made != "" {
			out = append(out, kind+" "+strings.ReplaceAll(made, ",", ", "))
		}
	}
	return out
}

// Template is the one that NAME or NAME@VERSION means in a project.
func Template(ctx context.Context, s *session.Session, c *client.Client, project, kind, ref string) (*api.Template, error) {
	name, digits, at := strings.Cut(ref, "@")
	version := 0
	if at {
		n, err := strconv.Atoi(digits)
		if err != nil || n < 1 {
			return nil, session.UsageError(fmt.Sprintf("%s: %q is not a version", ref, digits), "write NAME, or NAME@3 for version 3")
		}
		version = n
	}
	if name == "" {
		return nil, session.UsageError("the name of the "+spec.AssetWord(kind)+" is missing", "muster "+kind+" list shows what there is")
	}
	t, err := c.Templates.Get(ctx, TemplateProject(project), kind, name, version)
	if !session.IsNotFound(err) {
		return t, err
	}
	if list, lerr := c.Templates.List(ctx, TemplateProject(project), kind); lerr == nil {
		var names []string
		for _, t := range list.Items {
			names = append(names, t.Name)
		}
		var p *api.Problem
		if near := nearest.Words(name, names); len(near) > 0 && errors.As(err, &p) {
			p.Hint = "did you mean " + near[0] + "?"
		}
	}
	return nil, err
}

// PartOf is the document of a template.
func PartOf(t *api.Template) (*spec.Document, error) {
	data, err := json.Marshal(t.Document)
	if err != nil {
		return nil, err
	}
	doc := new(spec.Document)
	return doc, doc.UnmarshalJSON(data)
}

// TemplateProject is the project in which an asset is looked for: the default one
// where none is named.
func TemplateProject(project string) string {
	if project == "" {
		return session.DefaultProject
	}
	return project
}
