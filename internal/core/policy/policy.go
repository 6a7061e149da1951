// Package policy decides what documents may say where somebody has decided that for
// a part of the tree of projects: what is filled in where they say nothing, between
// which bounds values stay, and what is laid beside them. It is pure: a document and
// policies in, a document or every violation out.
package policy

import (
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// All is what a policy is for that holds for every kind of workload which has none of
// its own in the same scope, field by field.
const All = "all"

// For are what policies may be for: the kinds of workloads, and All.
func For() []string {
	out := []string{All}
	for _, k := range lifecycle.Kinds() {
		if !k.Foreign() {
			out = append(out, string(k))
		}
	}
	return out
}

// ID names a policy: there is one of a scope and a kind.
type ID struct {
	Scope core.ProjectID // project, department, or core.SystemScope
	For   string         // kind of workload, or All
}

// Source is where something comes from.
type Source struct {
	ID
	Department bool // the scope is one
}

// String is the policy as sentences have it.
func (s Source) String() string {
	what := s.For
	if what == All {
		what = "all kinds"
	}
	return "the policy for " + what + " of " + s.Where()
}

// Where is the scope as sentences have it.
func (s Source) Where() string {
	switch {
	case s.Scope == core.SystemScope:
		return "the system"
	case s.Department:
		return "department " + string(s.Scope)
	default:
		return "project " + string(s.Scope)
	}
}

// Policy is what a scope decides about documents of a kind.
type Policy struct {
	Defaults *spec.Document // what is filled in; never nil
	Rules    []Rule         // by path
	Impose   Impose
}

// Impose are assets that every workload is given, whatever its document says.
type Impose struct {
	Environment string         `json:"environment,omitempty"` // its fields take the place of the document's
	Compute     string         `json:"compute,omitempty"`     // and its
	Data        []spec.DataUse `json:"data,omitempty"`        // lie beside the document's
}

// Empty reports whether nothing is imposed.
func (i Impose) Empty() bool { return i.Environment == "" && i.Compute == "" && len(i.Data) == 0 }

// Rule is what holds for the field at a path of documents, or for an entry of one of
// their maps.
type Rule struct {
	Path   string
	place  place
	Checks Checks
}

// Checks are what is asked of a value, or of the items of a map or list.
type Checks struct {
	CanEdit     *bool // false: it stays as the default has it
	Required    bool  // it must be said, by the document or a default
	Min         *Value
	Max         *Value
	Step        *Value // allowed are Min (else 0), Min+Step, …
	Options     []Option
	DefaultFrom *From
	Default     *Value // of an attribute, for items that do not say it

	CanAdd     *bool             // false: no items beyond the default ones
	Locked     []string          // keys of default items that may not be changed or left out
	Attributes map[string]Checks // of every item, by the paths below it
	attributes []attribute       // the same, in order
}

// Value is a bound or an option: as it is written, and where it is an amount, how
// much that is.
type Value struct {
	Text   string
	amount int64
}

// Option is an allowed value, with what people are shown instead.
type Option struct {
	Value
	Displayed string
}

// From is a default that is worked out from another field.
type From struct {
	Field  string
	Factor float64
	place  place
}

func fixed(c *bool) bool { return c != nil && !*c }

// rule is that of a path; nil: there is none.
func (p *Policy) rule(path string) *Rule {
	i, ok := slices.BinarySearchFunc(p.Rules, path, func(r Rule, path string) int { return strings.Compare(r.Path, path) })
	if !ok {
		return nil
	}
	return &p.Rules[i]
}
