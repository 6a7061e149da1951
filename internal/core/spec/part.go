package spec

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core/spec/codec"
)

// assetFields are what an asset of a kind may say; of a kind that is not here,
// anything but ownFields.
var assetFields = map[string][]string{
	// Where a program finds itself and which it is, and not what it needs.
	AssetEnvironment: {"annotations", "args", "build", "command", "env", "image", "init", "integrations", "labels", "ports", "pullPolicy", "pullSecret", "runAs", "secrets", "volumes", "workdir"},
	AssetCompute:     {"resources", "tolerations"},
	AssetDataSource:  {"env", "integrations", "secrets", "volumes"},
	AssetDataVolume:  {"volumes"},
}

// ownFields are those that each workload has for itself.
var ownFields = []string{"name", "project"}

// AssetFields are the fields that an asset of a kind may say, in alphabetical
// order; none: any but a workload's own.
func AssetFields(kind string) []string { return slices.Clone(assetFields[kind]) }

// CheckPart refuses what an asset of a kind cannot say. It fails with Errors.
func CheckPart(doc *Document, kind string) error {
	var errs codec.Errors
	seen := map[string]bool{}
	allowed := assetFields[kind]
	fields := FieldsOf(doc)
	for _, path := range slices.Sorted(maps.Keys(fields)) {
		name, _, _ := strings.Cut(path, ".")
		if seen[name] {
			continue
		}
		seen[name] = true
		switch {
		case slices.Contains(ownFields, name):
			errs.Add(codec.FieldError{Path: name, Value: string(fields[name]), Problem: "is each workload's own", Hint: "leave it out; namePrefix makes names"})
		case name == AssetTemplate:
			errs.Add(codec.FieldError{Path: name, Value: string(fields[name]), Problem: "is not for what is kept: a template builds upon no other", Hint: "leave it out, and say what the other says"})
		case allowed != nil && !slices.Contains(allowed, name):
			errs.Add(codec.FieldError{Path: name, Value: string(fields[name]), Problem: "is no part of " + article(AssetWord(kind)), Allowed: AssetFields(kind), Hint: "put it into " + article(AssetWord(kindFor(name)))})
		}
	}
	if len(seen) == 0 {
		errs.Add(codec.FieldError{Problem: "it says nothing", Hint: "give at least one field, such as " + cmp.Or(firstFields[kind], "image")})
	}
	if len(errs) == 0 && allowed != nil {
		errs = checkAsset(doc, kind, seen)
	}
	slices.SortFunc(errs, func(a, b codec.FieldError) int { return strings.Compare(a.Path, b.Path) })
	return errs.OrNil()
}

var firstFields = map[string]string{AssetCompute: "resources", AssetDataSource: "volumes", AssetDataVolume: "volumes"}

func article(word string) string {
	if strings.ContainsRune("aeiou", rune(word[0])) {
		return "an " + word
	}
	return "a " + word
}

// kindFor is the kind of asset that is there for a field.
func kindFor(field string) string {
	for _, kind := range []string{AssetEnvironment, AssetCompute} {
		if slices.Contains(assetFields[kind], field) {
			return kind
		}
	}
	return AssetTemplate
}

// checkAsset finds what no document could make right again.
func checkAsset(doc *Document, kind string, says map[string]bool) (errs codec.Errors) {
	whole := doc.Clone() // what others say of a workload is not what is judged here
	if whole.Command.String() == "" {
		whole.Command = Command{Argv: []string{"true"}} // to which arguments can be appended
	}
	if whole.Image == "" && whole.Build == nil {
		whole.Image = "image"
	}
	for _, e := range Validate(WithDefaults(whole)) {
		if name, _, _ := strings.Cut(e.Path, "."); says[name[:len(name)-len(indexOf(name))]] {
			errs.Add(e)
		}
	}
	switch kind {
	case AssetDataSource:
		for i, g := range doc.Integrations {
			if g.Git == nil {
				errs.Add(codec.FieldError{Path: fmt.Sprintf("integrations[%d]", i), Problem: "brings no data: of a data source's integrations there is git alone", Hint: "put it into an environment"})
			}
		}
		if len(doc.Volumes)+len(doc.Integrations)+len(doc.Secrets) == 0 {
			errs.Add(codec.FieldError{Path: "volumes", Problem: "is missing: it brings no data", Hint: "write volumes with hostPath, claim, config or secret, or integrations with git"})
		}
	case AssetDataVolume:
		if n := len(doc.Volumes); n != 1 {
			errs.Add(codec.FieldError{Path: "volumes", Problem: fmt.Sprintf("has %d entries; a data volume is one", n), Hint: "make a data source of several, or several data volumes"})
		} else if v := doc.Volumes[0]; v.HostPath == "" && v.Claim == "" {
			errs.Add(codec.FieldError{Path: "volumes[0]", Problem: "keeps nothing that could be shared", Hint: "write hostPath or claim"})
		}
	}
	return errs
}

// indexOf is the index that a name in a path ends with, such as [0].
func indexOf(name string) string {
	if i := strings.IndexByte(name, '['); i >= 0 {
		return name[i:]
	}
	return ""
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
	// What is used beyond a part is of the part that is asked for, and of no other.
	for part, limit := range map[string]string{"resources.gpu.share": "resources.gpu.shareLimit", "resources.gpu.memory": "resources.gpu.memoryLimit"} {
		if slices.ContainsFunc(either[0], says) && !says(part) {
			out.drop(limit)
		}
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
