// Package asset finds the assets that a project uses.
package asset

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/nearest"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/draft"
)

// Word is a kind of assets as sentences have it.
func Word(kind core.TemplateKind) string { return spec.AssetWord(string(kind)) }

// ScopeWord is a project, or the system, as sentences begin with it.
func ScopeWord(id core.ProjectID) string {
	if id == core.SystemScope {
		return "the system"
	}
	return "project " + string(id)
}

// Usable reports whether a project uses t; line is what Upwards says of it.
func Usable(t *core.Template, line []core.ProjectID) bool {
	return slices.Contains(line, t.Project) || slices.ContainsFunc(t.SharedWith, func(p core.ProjectID) bool { return slices.Contains(line, p) })
}

// Exactly is the asset of a name in a scope, and of no scope above it.
func Exactly(id core.TemplateID) draft.Command[core.Template] {
	return func(tx *draft.Tx) (core.Template, error) {
		t, ok := tx.Template(id)
		if !ok {
			return t, None(id)
		}
		return t, nil
	}
}

// None says that a scope has no such asset.
func None(id core.TemplateID) error {
	return &draft.Error{Code: draft.CodeNotFound, Message: fmt.Sprintf("%s has no %s %q", ScopeWord(id.Project), Word(id.Kind), id.Name), Hint: fmt.Sprintf("muster %s list shows what there is", id.Kind)}
}

// Find is the asset of that name that a project uses: its own, or the
// nearest above it, or what another shares with it.
func Find(id core.TemplateID) draft.Command[core.Template] {
	return func(tx *draft.Tx) (core.Template, error) { return find(tx, id.Project, id.Name, id.Kind) }
}

// find is an asset of one of the kinds.
func find(tx *draft.Tx, project core.ProjectID, name string, kinds ...core.TemplateKind) (core.Template, error) {
	line := Upwards(tx, project)
	for _, p := range line {
		for _, kind := range kinds {
			if t, ok := tx.Template(core.TemplateID{Project: p, Kind: kind, Name: name}); ok {
				return t, nil
			}
		}
	}
	var names []string
	var shared []core.Template
	for _, t := range tx.State.Templates {
		if !slices.Contains(kinds, t.Kind) || !Usable(&t, line) {
			continue
		}
		if names = append(names, t.Name); t.Name == name {
			shared = append(shared, t)
		}
	}
	if len(shared) > 0 {
		return slices.MinFunc(shared, func(a, b core.Template) int { return cmp.Compare(a.Project, b.Project) }), nil
	}
	kind := string(kinds[0])
	word := spec.AssetWord(kind)
	if len(kinds) > 1 {
		word = spec.AssetWord(spec.AssetData)
	}
	e := &draft.Error{Code: draft.CodeNotFound, Message: fmt.Sprintf("%s has no %s %q, nor has a department above it", ScopeWord(project), word, name), Hint: fmt.Sprintf("muster %s list -p %s shows what there is", kind, project)}
	if project == core.SystemScope {
		e.Message, e.Hint = fmt.Sprintf("the system has no %s %q", word, name), fmt.Sprintf("muster %s list --all shows what there is", kind)
	}
	slices.Sort(names)
	if near := nearest.Word(name, names); near != "" {
		e.Hint = "did you mean " + near + "?"
	}
	return core.Template{}, e
}

// Take is what a document of a project is made of where it names an asset.
func Take(project core.ProjectID, kind, ref string) draft.Command[spec.Piece] {
	return func(tx *draft.Tx) (spec.Piece, error) {
		name, number, ok := spec.SplitAsset(ref)
		if !ok {
			return spec.Piece{}, &draft.Error{Code: draft.CodeInvalid, Field: kind, Message: fmt.Sprintf("%.60q is not the name of an asset", ref), Hint: "write NAME, or NAME@3 for version 3"}
		}
		kinds := []core.TemplateKind{core.TemplateKind(kind)}
		if kind == spec.AssetData {
			kinds = []core.TemplateKind{core.TemplateDataSource, core.TemplateDataVolume}
		}
		t, err := find(tx, project, name, kinds...)
		if err != nil {
			err.(*draft.Error).Field = kind
			return spec.Piece{}, err
		}
		v, err := VersionOf(&t, number)
		if err != nil {
			return spec.Piece{}, err
		}
		p := spec.Piece{Kind: string(t.Kind), Name: t.Name, Version: v.Number, Environment: t.Environment, Document: new(spec.Document)}
		if err := json.Unmarshal([]byte(v.Document), p.Document); err != nil {
			return spec.Piece{}, fmt.Errorf("%s: %w", &p, err)
		}
		return p, elsewhere(tx, project, &t, &p)
	}
}

// elsewhere makes what a data volume of another project is to this one.
func elsewhere(tx *draft.Tx, project core.ProjectID, t *core.Template, p *spec.Piece) error {
	if t.Kind != core.TemplateDataVolume || slices.Contains(Upwards(tx, project), t.Project) {
		return nil
	}
	if v := p.Document.Volumes[0]; v.Claim != "" {
		return &draft.Error{
			Code: draft.CodeUnsupported, Field: spec.AssetData, Message: fmt.Sprintf("%s is claim %s in the namespace of project %s, and Kubernetes mounts no claim of another namespace", p, v.Claim, t.Project),
			Hint: fmt.Sprintf("ask %s for a data volume with hostPath, or make a claim of the same storage for project %s and a data source of that", t.User, project),
		}
	}
	p.ReadOnly = true
	return nil
}

// VersionOf is a version of an asset; 0: the present one.
func VersionOf(t *core.Template, number int) (core.TemplateVersion, error) {
	v, ok := t.Version(number)
	if !ok {
		return v, &draft.Error{Code: draft.CodeNotFound, Message: fmt.Sprintf("%s %s has no version %d; its last is %d", Word(t.Kind), t.Name, number, t.Last().Number), Hint: fmt.Sprintf("muster %s describe %s lists them", t.Kind, t.Name)}
	}
	return v, nil
}

// Upwards is a project, the departments above it, nearest first, and the system.
func Upwards(tx *draft.Tx, id core.ProjectID) []core.ProjectID {
	if id == core.SystemScope {
		return []core.ProjectID{id}
	}
	out := []core.ProjectID{id}
	for i, p := range tx.Tree().Path(id) {
		if i > 0 {
			out = append(out, p.ID)
		}
	}
	return append(out, core.SystemScope)
}
