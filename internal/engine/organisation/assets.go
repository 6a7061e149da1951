package organisation

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine/asset"
	"github.com/musterhq/muster/internal/engine/draft"
)

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
		return &draft.Error{Code: draft.CodeConflict, Field: "name", Message: fmt.Sprintf("%s has %s %q already, and a document names both in its field data", asset.ScopeWord(t.Project), asset.Word(other), t.Name), Hint: "choose another name"}
	}
	return nil
}

// Templates are those of a kind, or of all where it is empty, that a project uses:
// its own, those of the departments above it, of the system, and what others share
// with it; of all projects where it is empty. They are by kind, project and name.
func Templates(kind core.TemplateKind, project core.ProjectID) draft.Command[[]core.Template] {
	return func(tx *draft.Tx) ([]core.Template, error) {
		var all []core.Template
		line := asset.Upwards(tx, project)
		for _, t := range tx.State.Templates {
			if (kind == "" && t.Schedule == nil || t.Kind == kind) && (project == "" || asset.Usable(&t, line)) {
				all = append(all, t)
			}
		}
		slices.SortFunc(all, func(a, b core.Template) int {
			return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Project, b.Project), cmp.Compare(a.Name, b.Name))
		})
		return all, nil
	}
}
