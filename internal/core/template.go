package core

import (
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core/spec"
)

// TemplateKind is what sort of part of a document a Template is; package spec
// lists them and says what each may hold.
type TemplateKind string

// The kinds of templates.
const (
	TemplateWork        TemplateKind = spec.AssetTemplate
	TemplateEnvironment TemplateKind = spec.AssetEnvironment
	TemplateCompute     TemplateKind = spec.AssetCompute
	TemplateDataSource  TemplateKind = spec.AssetDataSource
	TemplateDataVolume  TemplateKind = spec.AssetDataVolume
)

// TemplatePolicy is the kind of records that say what documents may: a policy is kept
// like a template, under the kind of workload that it is for, and is no asset.
const TemplatePolicy TemplateKind = "policy"

// What is kept like a template beside policies: checks of a scope, the images that
// somebody has looked at for a check, and who decides for whom.
const (
	TemplateCheck      TemplateKind = "check"
	TemplateReviewed   TemplateKind = "reviewed-image"
	TemplateDelegation TemplateKind = "delegation"
)

// SystemScope stands where a project does for what is there for all projects. No
// project has that name.
const SystemScope ProjectID = "-"

// Template is an asset: a part of a document that workloads of a project, of all
// that are below a department, or of everyone, are made of.
type Template struct {
	Project     ProjectID    `json:"project"` // or department, or SystemScope
	Kind        TemplateKind `json:"kind"`
	Name        string       `json:"name"` // unique of a project and kind
	Description string       `json:"description,omitempty"`
	// Environment is the name of one that a template builds upon; empty: none.
	Environment string `json:"environment,omitempty"`
	// SharedWith are projects and departments elsewhere that may use it too: of a
	// data volume alone.
	SharedWith []ProjectID `json:"sharedWith,omitempty"`
	// User made it, and may change it; so may Editors, of whom "*" is everyone.
	User    string   `json:"user"`
	Editors []string `json:"editors,omitempty"`
	// Versions are the documents that it has had, oldest first; the last is the
	// present one.
	Versions  []TemplateVersion `json:"versions"`
	CreatedAt time.Time         `json:"createdAt"`
	// Schedule is when workloads are made of it: of a TemplateSchedule alone. It is
	// never changed in place.
	Schedule *Schedule `json:"schedule,omitempty"`
}

// TemplateVersion is a document that a template has had.
type TemplateVersion struct {
	Number   int       `json:"number"`   // from 1
	Document string    `json:"document"` // as JSON
	User     string    `json:"user"`     // who made it so
	At       time.Time `json:"at"`
}

// TemplateID names a template.
type TemplateID struct {
	Project ProjectID
	Kind    TemplateKind
	Name    string
}

// ID returns the name of t.
func (t *Template) ID() TemplateID { return TemplateID{t.Project, t.Kind, t.Name} }

// Last is the present version.
func (t *Template) Last() TemplateVersion { return t.Versions[len(t.Versions)-1] }

// Revise gives t another document, as its present version; of those before the last
// are kept, so many in all. What it has already makes no version.
func (t *Template) Revise(document, user string, at time.Time, kept int) {
	next := TemplateVersion{Number: 1, Document: document, User: user, At: at}
	if len(t.Versions) > 0 {
		if t.Last().Document == document {
			return
		}
		next.Number = t.Last().Number + 1
	}
	t.Versions = append(slices.Clone(t.Versions), next)
	t.Versions = t.Versions[max(0, len(t.Versions)-kept):]
}

// Version returns the version of a number; 0: the present one.
func (t *Template) Version(number int) (TemplateVersion, bool) {
	if number == 0 {
		return t.Last(), true
	}
	i := slices.IndexFunc(t.Versions, func(v TemplateVersion) bool { return v.Number == number })
	if i < 0 {
		return TemplateVersion{}, false
	}
	return t.Versions[i], true
}

// Edits reports whether a user may change t.
func (t *Template) Edits(user string) bool {
	return user == t.User || slices.Contains(t.Editors, user) || slices.Contains(t.Editors, "*")
}
