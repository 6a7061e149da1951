package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/store"
)

const (
	// templatesMost bounds those of one project, of one kind.
	templatesMost = 1000
	// versionsKept is how many documents of a template are remembered.
	versionsKept = 20
	// descriptionLongest is in characters.
	descriptionLongest = 1000
)

// templated is what a draft changes of templates.
type templated struct {
	put  []core.Template
	gone []core.TemplateID
}

func (e *Engine) loadTemplates(ctx context.Context) error {
	all, err := e.D.Store.Templates(ctx)
	if err != nil {
		return fmt.Errorf("read templates: %w", err)
	}
	e.templates = map[core.TemplateID]core.Template{}
	for _, t := range all {
		e.templates[t.ID()] = t
	}
	return nil
}

// template is one as the draft has it.
func (tx *tx) template(id core.TemplateID) (core.Template, bool) {
	if i := slices.IndexFunc(tx.templated.put, func(t core.Template) bool { return t.ID() == id }); i >= 0 {
		return tx.templated.put[i], true
	}
	if slices.Contains(tx.templated.gone, id) {
		return core.Template{}, false
	}
	t, ok := tx.e.templates[id]
	return t, ok
}

// TemplateEdit makes a template, or gives one another document. Who edits it is
// its User, where it is new.
type TemplateEdit struct {
	core.Template // without versions and times
	Document      *spec.Document
	Must          Existence // MustBeNew or MustExist
}

// EditTemplate makes or changes a template; the value is it. What says the same
// as before makes no version.
func EditTemplate(r TemplateEdit) Command {
	return func(tx *tx) (any, error) {
		id := r.ID()
		if err := checkTemplate(&r); err != nil {
			return nil, err
		}
		if err := tx.roomy(); err != nil {
			return nil, err
		}
		if err := tx.scopes(&r.Template); err != nil {
			return nil, err
		}
		was, there := tx.template(id)
		switch {
		case there && r.Must == MustBeNew:
			return nil, &Error{Code: CodeConflict, Field: "name", Message: fmt.Sprintf("%s has %s %q already", scopeWord(id.Project), assetWord(id.Kind), id.Name), Hint: fmt.Sprintf("muster %s update %s changes it", id.Kind, id.Name)}
		case !there && r.Must == MustExist:
			return nil, noTemplate(id)
		case there && !was.Edits(r.User):
			return nil, notTheirs(&was, r.User)
		case !there && tx.countTemplates(id) >= templatesMost:
			return nil, &Error{Code: CodeInvalid, Message: fmt.Sprintf("%s has %d of them, the most there may be", scopeWord(id.Project), templatesMost), Hint: fmt.Sprintf("muster %s delete NAME makes room", id.Kind)}
		}
		t := r.Template
		t.CreatedAt, t.Versions = tx.now, nil
		if there {
			t.CreatedAt, t.User, t.Versions = was.CreatedAt, was.User, was.Versions
		}
		data, err := json.Marshal(r.Document)
		if err != nil {
			return nil, &Error{Code: CodeInvalid, Field: "document", Message: err.Error(), Hint: "write it as a part of a workload document"}
		}
		if !there || t.Last().Document != string(data) {
			next := core.TemplateVersion{Number: 1, Document: string(data), User: r.User, At: tx.now}
			if there {
				next.Number = t.Last().Number + 1
			}
			t.Versions = append(slices.Clone(t.Versions), next)
			t.Versions = t.Versions[max(0, len(t.Versions)-versionsKept):]
		}
		tx.templated.drop(id)
		tx.templated.put = append(tx.templated.put, t)
		return t, nil
	}
}

// DeleteTemplate forgets a template; workloads that were made of it stay.
func DeleteTemplate(id core.TemplateID, user string) Command {
	return func(tx *tx) (any, error) {
		t, ok := tx.template(id)
		if !ok {
			return nil, noTemplate(id)
		}
		if !t.Edits(user) {
			return nil, notTheirs(&t, user)
		}
		tx.templated.drop(id)
		tx.templated.gone = append(tx.templated.gone, id)
		return nil, nil
	}
}

func noTemplate(id core.TemplateID) error {
	return &Error{Code: CodeNotFound, Message: fmt.Sprintf("%s has no %s %q", scopeWord(id.Project), assetWord(id.Kind), id.Name), Hint: fmt.Sprintf("muster %s list shows what there is", id.Kind)}
}

func notTheirs(t *core.Template, user string) error {
	return &Error{Code: CodeForbidden, Message: fmt.Sprintf("%s %s is %s's, and %s is not among its editors", assetWord(t.Kind), t.Name, t.User, user), Hint: fmt.Sprintf("make one of your own, or ask %s for --editor %s", t.User, user)}
}

func checkTemplate(r *TemplateEdit) error {
	bad := func(field, problem, hint string) error {
		return &Error{Code: CodeInvalid, Field: field, Message: problem, Hint: hint}
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
		var errs spec.Errors
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

func (tx *tx) countTemplates(id core.TemplateID) (n int) {
	for x := range tx.e.templates {
		if x.Project == id.Project && x.Kind == id.Kind {
			n++
		}
	}
	return n
}

// drop takes what the draft says of a template back.
func (x *templated) drop(id core.TemplateID) {
	x.put = slices.DeleteFunc(x.put, func(t core.Template) bool { return t.ID() == id })
	x.gone = slices.DeleteFunc(x.gone, func(g core.TemplateID) bool { return g == id })
}

// writeTemplates puts what changes of templates into the batch. Those of a
// project go with it.
func (tx *tx) writeTemplates(b *store.Batch) {
	for _, project := range b.DropProjects {
		for id := range tx.e.templates {
			if id.Project == project {
				tx.templated.drop(id)
				tx.templated.gone = append(tx.templated.gone, id)
			}
		}
	}
	slices.SortFunc(tx.templated.gone, func(x, y core.TemplateID) int {
		return cmp.Or(cmp.Compare(x.Project, y.Project), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Name, y.Name))
	})
	b.Templates, b.DropTemplates = tx.templated.put, tx.templated.gone
}

// templatesWritten takes over what a commit has written.
func (e *Engine) templatesWritten(x templated) {
	for _, id := range x.gone {
		delete(e.templates, id)
	}
	for _, t := range x.put {
		e.templates[t.ID()] = t
	}
}
