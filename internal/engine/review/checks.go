// Package review has the use cases of those who say what has to be approved before
// something runs: checks of scopes, the images that were looked at for them, what waits
// for somebody's approval, and who decides for whom.
package review

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/admission"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
	"github.com/musterhq/muster/internal/engine/checking"
	"github.com/musterhq/muster/internal/engine/consequence"
	"github.com/musterhq/muster/internal/engine/draft"
)

const (
	checksMost         = 50 // of a scope
	versionsKept       = 20
	descriptionLongest = 1000 // characters
)

// CheckEdit makes a check, or has one ask something else.
type CheckEdit struct {
	Scope       core.ProjectID
	Name        string
	Description string
	Says        []byte // JSON of an admission.Rule
	User        string // who says so; a secret that it names is theirs
	New         bool   // one that is there is a conflict
	DryRun      bool
}

// SetCheck makes or changes a check. What waits for it already goes on to: programs are
// asked as it says now, people as it said then.
func SetCheck(r CheckEdit) draft.Command[core.Template] {
	return func(tx *draft.Tx) (core.Template, error) {
		id := draft.CheckID(r.Scope, r.Name)
		if err := named(tx, r); err != nil {
			return core.Template{}, err
		}
		was, there := tx.Template(id)
		switch {
		case there && r.New:
			return core.Template{}, &draft.Error{Code: draft.CodeConflict, Field: "name", Message: fmt.Sprintf("check %q of %s exists already", r.Name, scopeWord(r.Scope)), Hint: "muster check apply changes it"}
		case !there && countChecks(tx, r.Scope) >= checksMost:
			return core.Template{}, &draft.Error{Code: draft.CodeInvalid, Field: "name", Message: fmt.Sprintf("%s has %d checks, the most there may be", scopeWord(r.Scope), checksMost), Hint: "muster check delete NAME makes room"}
		}
		text, err := says(tx, r, was, there)
		if err != nil {
			return core.Template{}, err
		}
		t := core.Template{Project: r.Scope, Kind: core.TemplateCheck, Name: r.Name, Description: r.Description, User: r.User, CreatedAt: tx.Now}
		if there {
			t.User, t.CreatedAt, t.Versions = was.User, was.CreatedAt, was.Versions
		}
		t.Revise(text, r.User, tx.Now, versionsKept)
		if r.DryRun {
			return t, nil
		}
		if err := tx.Roomy(); err != nil {
			return core.Template{}, err
		}
		checking.Keep(tx, t)
		return t, consequence.Release(tx, r.Scope, r.Name, false, "user:"+r.User)
	}
}

// named refuses a check whose name or scope is none.
func named(tx *draft.Tx, r CheckEdit) error {
	if !spec.Named(r.Name) {
		return &draft.Error{Code: draft.CodeInvalid, Field: "name", Message: fmt.Sprintf("%.60q is not a name", r.Name), Hint: fmt.Sprintf("use lower-case letters, digits and '-', at most %d characters", spec.MaxName)}
	}
	if r.Name == "budget" || r.Name == "not-before" || strings.HasPrefix(r.Name, "after-") {
		return &draft.Error{Code: draft.CodeInvalid, Field: "name", Message: fmt.Sprintf("%q is what a check of this program is called", r.Name), Hint: "choose another name"}
	}
	if n := len([]rune(r.Description)); n > descriptionLongest {
		return &draft.Error{Code: draft.CodeInvalid, Field: "description", Message: fmt.Sprintf("has %d characters, more than %d", n, descriptionLongest), Hint: "shorten it"}
	}
	return exists(tx, r.Scope)
}

// exists refuses a scope that is not there.
func exists(tx *draft.Tx, scope core.ProjectID) error {
	if _, known := tx.Tree()(scope); !known && scope != core.SystemScope {
		return &draft.Error{Code: draft.CodeNotFound, Field: "scope", Message: fmt.Sprintf("project or department %q does not exist", scope), Hint: "muster project list and muster department list show what there is; - is the system"}
	}
	return nil
}

// says is what a check asks as it is kept, or what is wrong with it.
func says(tx *draft.Tx, r CheckEdit, was core.Template, there bool) (string, error) {
	rule, err := admission.Parse(r.Says)
	if err != nil {
		return "", err
	}
	rule.SecretOf = ""
	if rule.Secret != "" {
		rule.SecretOf = r.User
		if there { // who changes something else does not have to have the secret
			if old := draft.ReadCheck(was).Rule; old.Secret == rule.Secret && old.URL == rule.URL {
				rule.SecretOf = old.SecretOf
			}
		}
	}
	var errs codec.Errors
	if err := rule.Check(); err != nil && !errors.As(err, &errs) {
		return "", err
	}
	if rule.Role != "" {
		if _, ok := tx.Rights().Role(rule.Role); !ok {
			errs.Add(codec.FieldError{Path: "role", Value: rule.Role, Problem: fmt.Sprintf("role %q does not exist", rule.Role), Hint: "muster role list shows them"})
		}
	}
	if rule.Secret != "" {
		s, ok := tx.Secret(core.SecretID{User: rule.SecretOf, Name: rule.Secret})
		switch {
		case !ok:
			errs.Add(codec.FieldError{Path: "secret", Value: rule.Secret, Problem: fmt.Sprintf("%s has no secret %q", rule.SecretOf, rule.Secret), Hint: "muster secret create mounted " + rule.Secret + " makes one"})
		case s.Type != "env" && s.Type != "mounted":
			errs.Add(codec.FieldError{Path: "secret", Value: rule.Secret, Problem: fmt.Sprintf("is of type %s, which has no single value", s.Type), Hint: "name a secret of type mounted or env"})
		}
	}
	if err := errs.OrNil(); err != nil {
		return "", err
	}
	text, err := json.Marshal(rule)
	return string(text), err
}

func countChecks(tx *draft.Tx, scope core.ProjectID) (n int) {
	for _, c := range checking.All(tx) {
		n += core.Bit(c.Project == scope)
	}
	return n
}

func scopeWord(id core.ProjectID) string {
	if id == core.SystemScope {
		return "the system"
	}
	return string(id)
}

// DropCheck forgets a check, with what was remembered for it. What waits for it alone
// goes on.
func DropCheck(scope core.ProjectID, name, user string) draft.Command[draft.Nothing] {
	return func(tx *draft.Tx) (draft.Nothing, error) {
		id := draft.CheckID(scope, name)
		if _, ok := tx.Template(id); !ok {
			return nil, noCheck(scope, name)
		}
		checking.Drop(tx, id)
		for _, r := range remembered(tx, scope, name) {
			checking.Drop(tx, r.ID())
		}
		return nil, consequence.Release(tx, scope, name, true, "user:"+user)
	}
}

func noCheck(scope core.ProjectID, name string) error {
	return &draft.Error{Code: draft.CodeNotFound, Message: fmt.Sprintf("%s has no check %q", scopeWord(scope), name), Hint: "muster check list -A shows all"}
}

// Checks are those of a scope, and with above those that it stands below too; of every
// scope where it is empty.
func Checks(scope core.ProjectID, above bool) draft.Command[[]draft.ScopeCheck] {
	return func(tx *draft.Tx) ([]draft.ScopeCheck, error) {
		if scope == "" {
			return checking.All(tx), nil
		}
		if err := exists(tx, scope); err != nil {
			return nil, err
		}
		out := checking.Above(tx, scope)
		if !above {
			out = slices.DeleteFunc(out, func(c draft.ScopeCheck) bool { return c.Project != scope })
		}
		return out, nil
	}
}

// Check is one of a scope.
func Check(scope core.ProjectID, name string) draft.Command[draft.ScopeCheck] {
	return func(tx *draft.Tx) (draft.ScopeCheck, error) {
		c, ok := checking.One(tx, draft.CheckID(scope, name))
		if !ok {
			return c, noCheck(scope, name)
		}
		return c, nil
	}
}

// Seen is an image that somebody has looked at for a check.
type Seen struct {
	Check string
	Image string // as it is remembered: with its tag, its digest, or its repository
	core.Template
}

// Images are those that were looked at for a check, by name.
func Images(scope core.ProjectID, name string) draft.Command[[]Seen] {
	return func(tx *draft.Tx) ([]Seen, error) {
		if _, ok := tx.Template(draft.CheckID(scope, name)); !ok {
			return nil, noCheck(scope, name)
		}
		var out []Seen
		for _, t := range remembered(tx, scope, name) {
			_, image, _ := strings.Cut(t.Name, "=")
			out = append(out, Seen{name, image, t})
		}
		return out, nil
	}
}

// remembered are the records of a check's images, by name.
func remembered(tx *draft.Tx, scope core.ProjectID, name string) (out []core.Template) {
	ids := map[core.TemplateID]bool{}
	for id := range tx.State.Templates {
		ids[id] = true
	}
	for _, t := range tx.Templated.Put {
		ids[t.ID()] = true
	}
	for id := range ids {
		if id.Kind == core.TemplateReviewed && id.Project == scope && strings.HasPrefix(id.Name, name+"=") {
			if t, ok := tx.Template(id); ok {
				out = append(out, t)
			}
		}
	}
	slices.SortFunc(out, func(a, b core.Template) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// ForgetImage has a check ask about an image again that somebody has looked at.
func ForgetImage(scope core.ProjectID, name, image string) draft.Command[draft.Nothing] {
	return func(tx *draft.Tx) (draft.Nothing, error) {
		for _, key := range append([]string{image}, admission.Keys(image)...) {
			if id := draft.ReviewedID(scope, name, key); mayDrop(tx, id) {
				return nil, nil
			}
		}
		return nil, &draft.Error{Code: draft.CodeNotFound, Field: "image", Message: fmt.Sprintf("nobody has approved image %q for check %s of %s", image, name, scopeWord(scope)), Hint: "muster check images " + name + " shows which"}
	}
}

func mayDrop(tx *draft.Tx, id core.TemplateID) bool {
	if _, ok := tx.Template(id); !ok {
		return false
	}
	checking.Drop(tx, id)
	return true
}

// delegationsInOrder are all delegations by who delegates, to whom and where.
func delegationsInOrder(tx *draft.Tx) (ids []core.TemplateID, all map[core.TemplateID]admission.Delegation) {
	all = checking.Delegations(tx)
	ids = slices.SortedFunc(maps.Keys(all), func(a, b core.TemplateID) int {
		return strings.Compare(a.Name+"/"+string(a.Project), b.Name+"/"+string(b.Project))
	})
	return ids, all
}

// SeenKeys are the names of images, of those that are given, under which somebody has
// looked at them for a check.
func SeenKeys(scope core.ProjectID, name string, images []string) draft.Command[map[string]bool] {
	return func(tx *draft.Tx) (map[string]bool, error) {
		seen, out := checking.Reviewed(tx, scope, name), map[string]bool{}
		for _, image := range images {
			for _, key := range admission.Keys(image) {
				out[key] = seen(key)
			}
		}
		return out, nil
	}
}
