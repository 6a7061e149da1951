package problem

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/musterhq/muster/api"
)

// A refusal is short, whatever was sent: it says what was wrong, and does not send it back.
const (
	detailMost = 4 << 10 // bytes of a sentence
	valueMost  = 1 << 10 // bytes of a value
	fieldsMost = 100     // fields that are named one by one
)

// clip shortens a text, and leaves none that is no UTF-8.
func clip(s string, most int) string {
	if len(s) > 2*most {
		s = s[:2*most] // as much as is looked at
	}
	if s = strings.ToValidUTF8(s, "\uFFFD"); len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// clipped shortens what a problem says of its fields.
func clipped(all []api.FieldProblem) []api.FieldProblem {
	if len(all) > fieldsMost {
		all = all[:fieldsMost]
	}
	for i := range all {
		f := &all[i]
		f.Path, f.Value, f.Problem, f.Hint = clip(f.Path, valueMost), clip(f.Value, valueMost), clip(f.Problem, detailMost), clip(f.Hint, detailMost)
	}
	return all
}

// unfit is what encoding/json says of a value that does not go into a field.
var unfit = regexp.MustCompile(`^json: cannot unmarshal (\w+) ?(.*) into Go (?:struct field (\S+) of type|value of type) (.+)$`)

// plain says in words of JSON what the framework says in the program's: which field, if
// it is known, and what is wrong.
func plain(location, message string) (path, problem string) {
	m := unfit.FindStringSubmatch(message)
	if m == nil {
		return location, strings.TrimPrefix(message, "json: ")
	}
	path = location
	for part := range strings.SplitSeq(m[3], ".") {
		if part != "" && (part[0] < 'A' || part[0] > 'Z') { // a field, and no type
			path += "." + part
		}
	}
	found := m[1]
	if found == "bool" {
		found = "true or false"
	}
	if m[2] != "" {
		found += " " + clip(m[2], 40)
	}
	return path, "found " + found + ", expected " + wanted(m[4])
}

// choices are the words that are allowed where another one was found; false: it is wrong
// otherwise.
func choices(d *huma.ErrorDetail) ([]string, bool) {
	list, ok := strings.CutPrefix(d.Message, `expected value to be one of "`)
	if _, text := d.Value.(string); !ok || !text {
		return nil, false
	}
	return strings.Split(strings.TrimSuffix(list, `"`), ", "), true
}

// wanted is a type of Go in words.
func wanted(of string) string {
	switch {
	case strings.HasPrefix(of, "int"), strings.HasPrefix(of, "uint"):
		return "a whole number, written in digits, that is not too large"
	case strings.HasPrefix(of, "float"):
		return "a number up to 1.7e308"
	case of == "bool":
		return "true or false"
	case strings.HasPrefix(of, "[]"):
		return "a list"
	case of == "string", strings.HasSuffix(of, ".Time"), strings.HasSuffix(of, "Duration"):
		return "a text"
	}
	return "a mapping or another value"
}
