package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/nearest"
	"github.com/musterhq/muster/internal/core/spec"
)

func assetWord(kind core.TemplateKind) string { return spec.AssetWord(string(kind)) }

// scopeWord is a project, or the system, as sentences begin with it.
func scopeWord(id core.ProjectID) string {
	if id == core.SystemScope {
		return "the system"
	}
	return "project " + string(id)
}

// scopes refuses an asset of a project, or shared with one, that is not there,
// and a name that would stand for two.
func (tx *tx) scopes(t *core.Template) error {
	for i, id := range append([]core.ProjectID{t.Project}, t.SharedWith...) {
		field := "project"
		if i > 0 {
			field = fmt.Sprintf("sharedWith[%d]", i-1)
		} else if id == core.SystemScope {
			continue
		}
		if _, known := tx.tree()(id); !known {
			return &Error{Code: CodeNotFound, Field: field, Message: fmt.Sprintf("project %q does not exist", id), Hint: "muster project list shows what there is"}
		}
	}
	// A document's field data names both.
	other := map[core.TemplateKind]core.TemplateKind{core.TemplateDataSource: core.TemplateDataVolume, core.TemplateDataVolume: core.TemplateDataSource}[t.Kind]
	if _, taken := tx.template(core.TemplateID{Project: t.Project, Kind: other, Name: t.Name}); taken {
		return &Error{Code: CodeConflict, Field: "name", Message: fmt.Sprintf("%s has %s %q already, and a document names both in its field data", scopeWord(t.Project), assetWord(other), t.Name), Hint: "choose another name"}
	}
	return nil
}

// Templates are those of a kind, or of all where it is empty, that a project
// uses: its own, those of the departments above it, of the system, and what
// others share with it; of all projects where it is empty. The value is a
// []core.Template by Kind, Project and Name.
func Templates(kind core.TemplateKind, project core.ProjectID) Command {
	return func(tx *tx) (any, error) {
		var all []core.Template
		line := tx.upwards(project)
		for _, t := range tx.e.templates {
			if (kind == "" || t.Kind == kind) && (project == "" || usable(&t, line)) {
				all = append(all, t)
			}
		}
		slices.SortFunc(all, func(a, b core.Template) int {
			return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Project, b.Project), cmp.Compare(a.Name, b.Name))
		})
		return all, nil
	}
}

// usable reports whether a project uses t; line is what upwards says of it.
func usable(t *core.Template, line []core.ProjectID) bool {
	return slices.Contains(line, t.Project) || slices.ContainsFunc(t.SharedWith, func(p core.ProjectID) bool { return slices.Contains(line, p) })
}

// FindTemplate is the asset of that name that a project uses: its own, or the
// nearest above it, or what another shares with it. The value is a
// core.Template.
func FindTemplate(id core.TemplateID) Command {
	return func(tx *tx) (any, error) { return tx.asset(id.Project, id.Name, id.Kind) }
}

// asset finds an asset of one of the kinds.
func (tx *tx) asset(project core.ProjectID, name string, kinds ...core.TemplateKind) (core.Template, error) {
	line := tx.upwards(project)
	for _, p := range line {
		for _, kind := range kinds {
			if t, ok := tx.template(core.TemplateID{Project: p, Kind: kind, Name: name}); ok {
				return t, nil
			}
		}
	}
	var names []string
	var shared []core.Template
	for _, t := range tx.e.templates {
		if !slices.Contains(kinds, t.Kind) || !usable(&t, line) {
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
	e := &Error{Code: CodeNotFound, Message: fmt.Sprintf("%s has no %s %q, nor has a department above it", scopeWord(project), word, name), Hint: fmt.Sprintf("muster %s list -p %s shows what there is", kind, project)}
	if project == core.SystemScope {
		e.Message, e.Hint = fmt.Sprintf("the system has no %s %q", word, name), fmt.Sprintf("muster %s list --all shows what there is", kind)
	}
	slices.Sort(names)
	if near := nearest.Word(name, names); near != "" {
		e.Hint = "did you mean " + near + "?"
	}
	return core.Template{}, e
}

// TakeAsset is what a document of a project is made of where it names an asset:
// the value is a spec.Piece.
func TakeAsset(project core.ProjectID, kind, ref string) Command {
	return func(tx *tx) (any, error) {
		name, number, ok := spec.SplitAsset(ref)
		if !ok {
			return nil, &Error{Code: CodeInvalid, Field: kind, Message: fmt.Sprintf("%.60q is not the name of an asset", ref), Hint: "write NAME, or NAME@3 for version 3"}
		}
		kinds := []core.TemplateKind{core.TemplateKind(kind)}
		if kind == spec.AssetData {
			kinds = []core.TemplateKind{core.TemplateDataSource, core.TemplateDataVolume}
		}
		t, err := tx.asset(project, name, kinds...)
		if err != nil {
			err.(*Error).Field = kind
			return nil, err
		}
		v, err := VersionOf(&t, number)
		if err != nil {
			return nil, err
		}
		p := spec.Piece{Kind: string(t.Kind), Name: t.Name, Version: v.Number, Environment: t.Environment, Document: new(spec.Document)}
		if err := json.Unmarshal([]byte(v.Document), p.Document); err != nil {
			return nil, fmt.Errorf("%s: %w", &p, err)
		}
		return p, tx.elsewhere(project, &t, &p)
	}
}

// elsewhere makes what a data volume of another project is to this one.
func (tx *tx) elsewhere(project core.ProjectID, t *core.Template, p *spec.Piece) error {
	if t.Kind != core.TemplateDataVolume || slices.Contains(tx.upwards(project), t.Project) {
		return nil
	}
	if v := p.Document.Volumes[0]; v.Claim != "" {
		return &Error{
			Code: CodeUnsupported, Field: spec.AssetData, Message: fmt.Sprintf("%s is claim %s in the namespace of project %s, and Kubernetes mounts no claim of another namespace", p, v.Claim, t.Project),
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
		return v, &Error{Code: CodeNotFound, Message: fmt.Sprintf("%s %s has no version %d; its last is %d", assetWord(t.Kind), t.Name, number, t.Last().Number), Hint: fmt.Sprintf("muster %s describe %s lists them", t.Kind, t.Name)}
	}
	return v, nil
}

// upwards is a project, the departments above it, nearest first, and the system.
func (tx *tx) upwards(id core.ProjectID) []core.ProjectID {
	if id == core.SystemScope {
		return []core.ProjectID{id}
	}
	out := []core.ProjectID{id}
	for i, p := range tx.tree().Path(id) {
		if i > 0 {
			out = append(out, p.ID)
		}
	}
	return append(out, core.SystemScope)
}

// resolved refuses a document that still says less than it stands for: whoever
// submits it has to take its assets first.
func resolved(doc *spec.Document) error {
	if !doc.NamesAssets() {
		return nil
	}
	return &Error{Code: CodeInvalid, Message: "the document names assets that were not taken", Hint: "submit it through the API, which takes them"}
}
