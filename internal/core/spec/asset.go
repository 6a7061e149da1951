package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core/spec/codec"
)

// The kinds of assets: parts of documents that are kept under names.
const (
	AssetTemplate    = "template"    // any part
	AssetEnvironment = "environment" // where a program finds itself
	AssetCompute     = "compute"     // what each task needs
	AssetDataSource  = "datasource"  // data, and how a task comes to it
	AssetDataVolume  = "datavolume"  // one volume that a project shares with others
	// AssetData is what a document's field data names: a data source, or a data
	// volume.
	AssetData = "data"
)

// assetWords are the kinds as sentences have them.
var assetWords = map[string]string{
	AssetTemplate: "template", AssetEnvironment: "environment", AssetCompute: "compute resource", AssetDataSource: "data source", AssetDataVolume: "data volume", AssetData: "data source or data volume",
}

// AssetWord is a kind as sentences have it.
func AssetWord(kind string) string { return cmp.Or(assetWords[kind], kind) }

// AssetKinds are all kinds, in the order in which they are told of.
func AssetKinds() []string {
	return []string{AssetTemplate, AssetEnvironment, AssetCompute, AssetDataSource, AssetDataVolume}
}

// MadeOf begins the annotations of a workload that say of which assets it was
// made: MadeOf + "template" is NAME@VERSION, MadeOf + "data" several with commas
// between.
const MadeOf = "muster.dev/"

// MadeOfKinds are what may follow MadeOf, in the order in which it is told.
func MadeOfKinds() []string {
	return []string{AssetTemplate, AssetEnvironment, AssetCompute, AssetData}
}

// Piece is a part of a document that is kept under a name.
type Piece struct {
	Kind        string
	Name        string
	Version     int
	Environment string // that a template builds upon; empty: none
	ReadOnly    bool   // of a data volume: nobody here may write to it
	Document    *Document
}

// Ref is the version of the piece: NAME@VERSION.
func (p *Piece) Ref() string { return fmt.Sprintf("%s@%d", p.Name, p.Version) }

// String is the piece in sentences.
func (p *Piece) String() string { return AssetWord(p.Kind) + " " + p.Ref() }

// Take finds what is kept as one of the kinds of assets under NAME or
// NAME@VERSION.
type Resolve func(kind, ref string) (Piece, error)

// Assets are those that a document is laid over.
type Assets struct{ Template, Environment, Compute string }

// Assets are those that d names, but for its data, which are put beside what it
// says rather than under it.
func (d *Document) Assets() Assets { return Assets{d.Template, d.Environment, d.Compute} }

// NamesAssets reports whether d says less than what it stands for.
func (d *Document) NamesAssets() bool { return d.Assets() != Assets{} || len(d.Data) > 0 }

// Or are the assets of a, and those of b where a names none.
func (a Assets) Or(b Assets) Assets {
	return Assets{cmp.Or(a.Template, b.Template), cmp.Or(a.Environment, b.Environment), cmp.Or(a.Compute, b.Compute)}
}

// lay lays d over a, in place of what it names itself.
func (d *Document) lay(a Assets) {
	a = a.Or(d.Assets())
	d.Template, d.Environment, d.Compute = a.Template, a.Environment, a.Compute
}

// WithoutAssets is a copy of d that is laid over nothing any more.
func (d *Document) WithoutAssets() *Document {
	c := d.Clone()
	c.Template, c.Environment, c.Compute = "", "", ""
	return c
}

// Origins says which asset has said what, by path.
type Origins map[string]*Piece

// Of is the asset that has said the field at path, or what lies around it; nil:
// none has.
func (o Origins) Of(path string) *Piece {
	for path != "" {
		if p := o[path]; p != nil {
			return p
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return nil
}

// explain says of each error which asset has said what is wrong, since whoever
// reads it has not written it.
func (o Origins) explain(errs codec.Errors) codec.Errors {
	for i, e := range errs {
		p := o.Of(e.Path)
		if p == nil {
			continue
		}
		hint := "it is said by " + p.String()
		errs[i].Hint = cmp.Or(e.Hint, "say otherwise in the document") + " (" + hint + ")"
	}
	return errs
}

// Compose is what a document is laid over that is made of assets: what its
// template builds upon, the template, the environment and the compute resource
// that are named beside it. What is named takes the place of what the template
// would build upon.
func Compose(a Assets, take Resolve) (*Document, error) {
	base, _, err := compose(a, take)
	return base, err
}

func compose(a Assets, take Resolve) (*Document, Origins, error) {
	var under, over []Piece
	add := func(to *[]Piece, kind, ref string) error {
		if ref == "" {
			return nil
		}
		p, err := find(take, kind, kind, ref)
		if err != nil {
			return err
		}
		p.Kind, p.Document = kind, p.Document.Clone()
		p.Document.note(kind, p.Ref())
		*to = append(*to, p)
		return nil
	}
	below := Assets{}
	if err := add(&over, AssetTemplate, a.Template); err != nil {
		return nil, nil, err
	}
	if len(over) > 0 {
		t := &over[0]
		below = Assets{Environment: cmp.Or(t.Document.Environment, t.Environment), Compute: t.Document.Compute}
		t.Document = t.Document.WithoutAssets()
	}
	for _, x := range []struct{ kind, named, below string }{{AssetEnvironment, a.Environment, below.Environment}, {AssetCompute, a.Compute, below.Compute}} {
		to, ref := &over, x.named
		if ref == "" {
			to, ref = &under, x.below
		}
		if err := add(to, x.kind, ref); err != nil {
			return nil, nil, err
		}
	}
	base, from := new(Document), Origins{}
	for _, p := range slices.Concat(under, over) {
		var err error
		if base, err = Overlay(base, p.Document); err != nil {
			return nil, nil, err
		}
		for path := range FieldsOf(p.Document) {
			from[path] = &p
		}
	}
	return base, from, nil
}

// find is take for the field at path, whose text may not even be a name.
func find(take Resolve, path, kind, ref string) (Piece, error) {
	if problem, hint := assetForm(ref); problem != "" {
		return Piece{}, codec.Errors{{Path: path, Value: codec.Shorten(ref), Problem: problem, Hint: hint}}
	}
	return take(kind, ref)
}

// note says of what d is made.
func (d *Document) note(kind, ref string) {
	if d.Annotations == nil {
		d.Annotations = map[string]string{}
	}
	d.Annotations[MadeOf+kind] = ref
}

// Assemble is the document that d stands for: what its assets say, with what it
// says itself over that, and its data beside it. It names no assets any more, and
// says in its annotations which they were.
func Assemble(d *Document, take Resolve) (*Document, error) {
	out, _, err := assemble(d, take)
	return out, err
}

func assemble(d *Document, take Resolve) (*Document, Origins, error) {
	own := d.WithoutAssets()
	base, from, err := compose(d.Assets(), take)
	if err != nil {
		return nil, nil, err
	}
	out, err := Overlay(base, own)
	if err != nil {
		return nil, nil, err
	}
	for path := range FieldsOf(own) {
		delete(from, path)
	}
	return out, from, out.furnish(take, from)
}
