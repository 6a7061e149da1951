package spec

import (
	"slices"
	"strings"
)

// environmentFields are what an environment may say: where a program finds
// itself, and not what it is or what it needs.
var environmentFields = []string{
	"annotations", "build", "env", "image", "init", "integrations", "labels", "pullPolicy", "pullSecret", "runAs", "secrets", "volumes", "workdir",
}

// ownFields are those that each workload has for itself.
var ownFields = []string{"name", "project"}

// EnvironmentFields are the fields that an environment may say, in alphabetical
// order.
func EnvironmentFields() []string { return slices.Clone(environmentFields) }

// CheckPart refuses what a template, or an environment, cannot say. It fails
// with Errors.
func CheckPart(doc *Document, environment bool) error {
	var errs Errors
	seen := map[string]bool{}
	for path, value := range FieldsOf(doc) {
		name, _, _ := strings.Cut(path, ".")
		if seen[name] {
			continue
		}
		seen[name] = true
		switch {
		case slices.Contains(ownFields, name):
			errs.add(FieldError{Path: name, Value: string(value), Problem: "is each workload's own", Hint: "leave it out; namePrefix makes names"})
		case environment && !slices.Contains(environmentFields, name):
			errs.add(FieldError{Path: name, Value: string(value), Problem: "is no part of an environment", Allowed: EnvironmentFields(), Hint: "put it into a template"})
		}
	}
	if len(seen) == 0 {
		errs.add(FieldError{Problem: "it says nothing", Hint: "give at least one field, such as image"})
	}
	slices.SortFunc(errs, func(a, b FieldError) int { return strings.Compare(a.Path, b.Path) })
	return errs.orNil()
}

// either are fields of which one takes the place of the others.
var either = [][]string{
	{"resources.gpu.count", "resources.gpu.share", "resources.gpu.memory", "resources.gpu.mig"},
	{"name", "namePrefix"},
}

// Overlay is base with what over says in its place: maps key by key, lists
// whole. Arguments belong to their command. It fails with Errors.
func Overlay(base, over *Document) (*Document, error) {
	out, upper := FieldsOf(base), FieldsOf(over)
	says := func(field string) bool {
		for path := range upper {
			if path == field || strings.HasPrefix(path, field+".") {
				return true
			}
		}
		return false
	}
	for _, group := range either {
		if slices.ContainsFunc(group, says) {
			out.drop(group...)
		}
	}
	if says("command") {
		out.drop("args")
	}
	for path, value := range upper {
		out[path] = value
	}
	return DocumentOf(out)
}

// drop takes fields away, with all that is below them.
func (f Fields) drop(fields ...string) {
	for path := range f {
		for _, field := range fields {
			if path == field || strings.HasPrefix(path, field+".") {
				delete(f, path)
			}
		}
	}
}
