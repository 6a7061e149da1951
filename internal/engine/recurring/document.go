package recurring

import (
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/rbac"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/asset"
	"github.com/musterhq/muster/internal/engine/draft"
)

// document is that of a run which is started now: the assets that it names are taken
// as they are at present.
func document(tx *draft.Tx, t *core.Template) (*spec.Document, error) {
	doc, err := spec.LoadWith([]byte(t.Last().Document), spec.Assets{}, func(*spec.Document) spec.Resolve {
		return func(kind, ref string) (spec.Piece, error) {
			if err := allowed(tx, t, rbac.Read, rbac.AssetNoun(core.TemplateKind(kind))); err != nil {
				return spec.Piece{}, err
			}
			return asset.Take(t.Project, kind, ref)(tx)
		}
	})
	if err != nil {
		return nil, err
	}
	doc.Project = string(t.Project)
	if errs := spec.Validate(doc); errs != nil {
		return nil, errs
	}
	return doc, nil
}

// rightsOf refuses what the owner of a schedule may not submit at present.
func rightsOf(tx *draft.Tx, t *core.Template, doc *spec.Document) error {
	if err := allowed(tx, t, rbac.Create, rbac.NounOf(doc.Kind)); err != nil {
		return err
	}
	if field, what := rbac.ReachesHost(doc, tx.State.D.AsSubmitter); field != "" {
		if err := allowed(tx, t, rbac.Create, rbac.HostAccess); err != nil {
			err.(*draft.Error).Message = field + ": " + what + "; " + err.(*draft.Error).Message
			return err
		}
	}
	return nil
}

// allowed refuses what the owner of a schedule may not do in its project at present.
func allowed(tx *draft.Tx, t *core.Template, verb, noun string) error {
	rights := tx.Rights()
	if !rights.Enabled() || t.Schedule.ByOwner {
		return nil
	}
	c, ok := rights.Known(t.User)
	if s := t.Schedule; tx.State.D.AsSubmitter && s.ByMachine {
		if _, onRecord := rights.User(t.User); !onRecord {
			c, ok = rbac.Caller{Name: t.User, Kind: core.SubjectUser}, true
		}
		c.Groups = slices.Concat(c.Groups, []string{rbac.MachineGroup})
	}
	if !ok {
		return &draft.Error{Code: draft.CodeForbidden, Message: fmt.Sprintf("%s, whose schedule it is, is no user any more, or disabled", t.User), Hint: "somebody who may submit here makes it theirs by giving it another document, or deletes it"}
	}
	if rights.Allows(c, verb, noun, t.Project, true) {
		return nil
	}
	return &draft.Error{
		Code: draft.CodeForbidden, Message: fmt.Sprintf("%s, whose schedule it is, may not %s %s in %s: permission %s:%s is missing there", t.User, verb, noun, rbac.ScopeWord(t.Project), verb, noun),
		Hint: "an administrator can give it with muster access-rule create",
	}
}
