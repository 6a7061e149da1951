package policy

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

// Piece is an asset that is imposed.
type Piece struct {
	spec.Piece
	By  Source
	Use spec.DataUse // of data: where it lies
}

// impose lays an asset beside a document. What the document says otherwise is refused:
// it would be something else than its author means.
func impose(d *spec.Document, p *Piece, errs *codec.Errors) {
	part := p.Document.Clone()
	part.Environment, part.Compute = "", ""
	for i := range part.Volumes {
		if p.Use.Path != "" {
			part.Volumes[i].Path = p.Use.Path
		}
		part.Volumes[i].ReadOnly = part.Volumes[i].ReadOnly || p.Use.ReadOnly || p.ReadOnly
	}
	what := fmt.Sprintf("%s, which %s imposes", p.Piece.String(), p.By)
	for path := range unequal(d, part) {
		errs.Add(codec.FieldError{Path: path, Problem: "is said otherwise by " + what, Hint: "leave it out"})
	}
	if p.Kind == spec.AssetDataSource || p.Kind == spec.AssetDataVolume {
		before := slices.DeleteFunc(part.Integrations, func(g spec.Integration) bool {
			return slices.ContainsFunc(d.Integrations, func(o spec.Integration) bool { return reflect.DeepEqual(g, o) })
		})
		d.Integrations, part.Integrations = slices.Concat(before, d.Integrations), nil
	}
	overlay(d, part, d.Kind)
	refs := strings.FieldsFunc(d.Annotations[Imposed], func(r rune) bool { return r == ',' })
	if !slices.Contains(refs, p.Ref()) {
		refs = append(refs, p.Ref())
	}
	annotate(d, Imposed, strings.Join(refs, ","))
}

// Imposed is the annotation of a workload that says which assets policies have laid
// beside it: NAME@VERSION, several with commas between.
const Imposed = spec.MadeOf + "imposed"

// ReachesHost is by which field a part of a document reaches beyond containers; empty:
// by none. Defaults that do are for who may do that; what is imposed never does: others
// may change an asset.
func ReachesHost(d *spec.Document) string {
	if d.Build != nil && d.Build.Code != "" {
		return "build.code"
	}
	if i := slices.IndexFunc(d.Volumes, func(v spec.Volume) bool { return v.HostPath != "" }); i >= 0 {
		return fmt.Sprintf("volumes[%d].hostPath", i)
	}
	return ""
}

func annotate(d *spec.Document, name, text string) {
	d.Annotations = maps.Clone(d.Annotations)
	if text == "" {
		delete(d.Annotations, name)
		return
	}
	if d.Annotations == nil {
		d.Annotations = map[string]string{}
	}
	d.Annotations[name] = text
}

// unequal are the paths at which a document says something else than a part of one
// does.
func unequal(d, part *spec.Document) map[string]bool {
	out := map[string]bool{}
	have, want := spec.FieldsOf(d), spec.FieldsOf(part)
	for path, raw := range want {
		if path == "integrations" {
			continue
		}
		if itemKeys[path] == "" {
			if own, given := have[path]; given && string(own) != string(raw) {
				out[path] = true
			}
			continue
		}
		f := field(path)
		own, theirs := itemsOf(f, d.Value(f)), itemsOf(f, part.Value(f))
		for key, item := range theirs {
			if mine, given := own[key]; given && !reflect.DeepEqual(mine.Interface(), item.Interface()) {
				out[itemPath(f, key)] = true
			}
		}
	}
	return out
}
