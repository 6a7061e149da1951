package organisation

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
	"github.com/musterhq/muster/internal/engine/asset"
	"github.com/musterhq/muster/internal/engine/draft"
)

const (
	// templatesMost bounds those of one project, of one kind.
	templatesMost = 1000
	// versionsKept is how many documents of a template are remembered.
	versionsKept = 20
	// descriptionLongest is in characters.
	descriptionLongest = 1000
)

// TemplateEdit makes a template, or gives one another document. Who edits it is
// its User, where it is new.
type TemplateEdit struct {
	core.Template // without versions and times
	Document      *spec.Document
	Must          Existence // MustBeNew or MustExist
	Anyones       bool      // it may be anyone's: access rules have allowed that
}

// EditTemplate makes or changes a template. What says the same as before makes no
// version.
func EditTemplate(r TemplateEdit) draft.Command[core.Template] {
	return func(tx *draft.Tx) (core.Template, error) {
		id := r.ID()
		if err := checkTemplate(&r); err != nil {
			return core.Template{}, err
		}
		if err := tx.Roomy(); err != nil {
			return core.Template{}, err
		}
		if err := scopes(tx, &r.Template); err != nil {
			return core.Template{}, err
		}
		was, there := tx.Template(id)
		switch {
		case there && r.Must == MustBeNew:
			return core.Template{}, &draft.Error{Code: draft.CodeConflict, Field: "name", Message: fmt.Sprintf("%s has %s %q already", asset.ScopeWord(id.Project), asset.Word(id.Kind), id.Name), Hint: fmt.Sprintf("muster %s update %s changes it", id.Kind, id.Name)}
		case !there && r.Must == MustExist:
			return core.Template{}, asset.None(id)
		case there && !r.Anyones && !was.Edits(r.User):
			return core.Template{}, notTheirs(&was, r.User)
		case !there && countTemplates(tx, id) >= templatesMost:
			return core.Template{}, &draft.Error{Code: draft.CodeInvalid, Message: fmt.Sprintf("%s has %d of them, the most there may be", asset.ScopeWord(id.Project), templatesMost), Hint: fmt.Sprintf("muster %s delete NAME makes room", id.Kind)}
		}
		t := r.Template
		t.CreatedAt, t.Versions = tx.Now, nil
		if there {
			t.CreatedAt, t.User, t.Versions = was.CreatedAt, was.User, was.Versions
		}
		data, err := json.Marshal(r.Document)
		if err != nil {
			return core.Template{}, &draft.Error{Code: draft.CodeInvalid, Field: "document", Message: err.Error(), Hint: "write it as a part of a workload document"}
		}
		t.Revise(string(data), r.User, tx.Now, versionsKept)
		tx.Templated.Drop(id)
		tx.Templated.Put = append(tx.Templated.Put, t)
		return t, nil
	}
}

// DeleteTemplate forgets a template; workloads that were made of it stay.
// Anyones says that it may be anyone's: access rules have allowed that.
func DeleteTemplate(id core.TemplateID, user string, anyones bool) draft.Command[draft.Nothing] {
	return func(tx *draft.Tx) (draft.Nothing, error) {
		t, ok := tx.Template(id)
		if !ok {
			return nil, asset.None(id)
		}
		if !anyones && !t.Edits(user) {
			return nil, notTheirs(&t, user)
		}
		tx.Templated.Drop(id)
		tx.Templated.Gone = append(tx.Templated.Gone, id)
		return nil, nil
	}
}

func notTheirs(t *core.Template, user string) error {
	return &draft.Error{Code: draft.CodeForbidden, Message: fmt.Sprintf("%s %s is %s's, and %s is not among its editors", asset.Word(t.Kind), t.Name, t.User, user), Hint: fmt.Sprintf("make one of your own, or ask %s for --editor %s", t.User, user)}
}

func checkTemplate(r *TemplateEdit) error {
	bad := func(field, problem, hint string) error {
		return &draft.Error{Code: draft.CodeInvalid, Field: field, Message: problem, Hint: hint}
	}
	if !spec.Named(r.Name) {
		return bad("name", fmt.Sprintf("%.60q is not a name", r.Name), fmt.Sprintf("use lower-case letters, digits and '-', at most %d characters", spec.MaxName))
	}
	if r.Project != core.SystemScope && !spec.Named(string(r.Project)) {
		return bad("project", fmt.Sprintf("%.60q is not a name", r.Project), "muster project list shows what there is")
	}
	if n := len([]rune(r.Description)); n > descriptionLongest {
		return bad("description", fmt.Sprintf("has %d characters, more than %d", n, descriptionLongest), "shorten it")
	}
	if r.Environment != "" && r.Kind != core.TemplateWork {
		return bad("environment", "a template builds upon one, and no other asset does", "leave it out")
	}
	if len(r.SharedWith) > 0 && r.Kind != core.TemplateDataVolume {
		return bad("sharedWith", "is of data volumes alone", "leave it out; what a department has is there for all projects below it")
	}
	if err := spec.CheckPart(r.Document, string(r.Kind)); err != nil {
		var errs codec.Errors
		if errors.As(err, &errs) {
			for i := range errs {
				errs[i].Path, errs[i].Line = trimDot("document."+errs[i].Path), 0
			}
			return errs
		}
		return err
	}
	return nil
}

func trimDot(path string) string {
	if path[len(path)-1] == '.' {
		return path[:len(path)-1]
	}
	return path
}

func countTemplates(tx *draft.Tx, id core.TemplateID) (n int) {
	for x := range tx.State.Templates {
		if x.Project == id.Project && x.Kind == id.Kind {
			n++
		}
	}
	return n
}
