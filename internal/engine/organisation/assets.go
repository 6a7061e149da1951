package organisation

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
func scopes(tx *draft.Tx, t *core.Template) error {
	for i, id := range append([]core.ProjectID{t.Project}, t.SharedWith...) {
		field := "project"
		if i > 0 {
			field = fmt.Sprintf("sharedWith[%d]", i-1)
		} else if id == core.SystemScope {
			continue
		}
		if _, known := tx.Tree()(id); !known {
			return &draft.Error{Code: draft.CodeNotFound, Field: field, Message: fmt.Sprintf("project %q does not exist", id), Hint: "muster project list shows what there is"}
		}
	}
	// A document's field data names both.
	other := map[core.TemplateKind]core.TemplateKind{core.TemplateDataSource: core.TemplateDataVolume, core.TemplateDataVolume: core.TemplateDataSource}[t.Kind]
	if _, taken := tx.Template(core.TemplateID{Project: t.Project, Kind: other, Name: t.Name}); taken {
		return &draft.Error{Code: draft.CodeConflict, Field: "name", Message: fmt.Sprintf("%s has %s %q already, and a document names both in its field data", scopeWord(t.Project), assetWord(other), t.Name), Hint: "choose another name"}
	}
	return nil
}

// Templates are those of a kind, or of all where it is empty, that a project uses:
// its own, those of the departments above it, of the system, and what others share
// with it; of all projects where it is empty. They are by kind, project and name.
func Templates(kind core.TemplateKind, project core.ProjectID) draft.Command[[]core.Template] {
	return func(tx *draft.Tx) ([]core.Template, error) {
		var all []core.Template
		line := upwards(tx, project)
		for _, t := range tx.State.Templates {
			if (kind == "" && t.Schedule == nil || t.Kind == kind) && (project == "" || usable(&t, line)) {
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
// nearest above it, or what another shares with it.
func FindTemplate(id core.TemplateID) draft.Command[core.Template] {
	return func(tx *draft.Tx) (core.Template, error) { return asset(tx, id.Project, id.Name, id.Kind) }
}

// asset finds an asset of one of the kinds.
func asset(tx *draft.Tx, project core.ProjectID, name string, kinds ...core.TemplateKind) (core.Template, error) {
	line := upwards(tx, project)
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
	e := &draft.Error{Code: draft.CodeNotFound, Message: fmt.Sprintf("%s has no %s %q, nor has a department above it", scopeWord(project), word, name), Hint: fmt.Sprintf("muster %s list -p %s shows what there is", kind, project)}
	if project == core.SystemScope {
		e.Message, e.Hint = fmt.Sprintf("the system has no %s %q", word, name), fmt.Sprintf("muster %s list --all shows what there is", kind)
	}
	slices.Sort(names)
	if near := nearest.Word(name, names); near != "" {
		e.Hint = "did you mean " + near + "?"
	}
	return core.Template{}, e
}

// TakeAsset is what a document of a project is made of where it names an asset.
func TakeAsset(project core.ProjectID, kind, ref string) draft.Command[spec.Piece] {
	return func(tx *draft.Tx) (spec.Piece, error) {
		name, number, ok := spec.SplitAsset(ref)
		if !ok {
			return spec.Piece{}, &draft.Error{Code: draft.CodeInvalid, Field: kind, Message: fmt.Sprintf("%.60q is not the name of an asset", ref), Hint: "write NAME, or NAME@3 for version 3"}
		}
		kinds := []core.TemplateKind{core.TemplateKind(kind)}
		if kind == spec.AssetData {
			kinds = []core.TemplateKind{core.TemplateDataSource, core.TemplateDataVolume}
		}
		t, err := asset(tx, project, name, kinds...)
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
	if t.Kind != core.TemplateDataVolume || slices.Contains(upwards(tx, project), t.Project) {
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
		return v, &draft.Error{Code: draft.CodeNotFound, Message: fmt.Sprintf("%s %s has no version %d; its last is %d", assetWord(t.Kind), t.Name, number, t.Last().Number), Hint: fmt.Sprintf("muster %s describe %s lists them", t.Kind, t.Name)}
	}
	return v, nil
}

// upwards is a project, the departments above it, nearest first, and the system.
func upwards(tx *draft.Tx, id core.ProjectID) []core.ProjectID {
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
