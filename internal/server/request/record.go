package request

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/server/problem"
)

// Strictly decodes a record into out, and names every field that it does not
// have or that is of the wrong sort, below path.
func Strictly(record map[string]any, path string, out any) error {
	problems := strangers(record, reflect.TypeOf(out).Elem(), path)
	if len(problems) == 0 {
		data, err := json.Marshal(record)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(data, out); err != nil {
			problems = append(problems, api.FieldProblem{Path: path, Problem: Unexpected(err), Hint: "see the fields in /docs"})
		}
	}
	if len(problems) == 0 {
		return nil
	}
	p := problem.New(http.StatusUnprocessableEntity, "invalid", problems[0].Path+": "+problems[0].Problem, problems[0].Hint)
	p.Errors = problems
	return p
}

// strangers are the fields of v that a value of type t cannot have.
func strangers(v any, t reflect.Type, path string) []api.FieldProblem {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if v == nil || t == reflect.TypeFor[json.RawMessage]() {
		return nil // null is absence; and what is raw is read by its own rules
	}
	switch t.Kind() {
	case reflect.Struct:
		return strangeFields(v, t, path)
	case reflect.Map:
		m, ok := v.(map[string]any)
		if !ok {
			return notA(v, "a mapping of names", path)
		}
		var out []api.FieldProblem
		for _, k := range slices.Sorted(maps.Keys(m)) {
			out = append(out, strangers(m[k], t.Elem(), path+"."+k)...)
		}
		return out
	case reflect.Slice:
		list, ok := v.([]any)
		if !ok {
			return notA(v, "a list", path)
		}
		var out []api.FieldProblem
		for i, x := range list {
			out = append(out, strangers(x, t.Elem(), fmt.Sprintf("%s[%d]", path, i))...)
		}
		return out
	case reflect.String:
		if _, ok := v.(string); !ok {
			return notA(v, "a text; put it in quotes", path)
		}
	case reflect.Bool:
		if _, ok := v.(bool); !ok {
			return notA(v, "true or false", path)
		}
	case reflect.Int, reflect.Int64:
		if n, ok := v.(float64); !ok || n != float64(int64(n)) {
			return notA(v, "a whole number", path)
		}
	case reflect.Float64:
		if _, ok := v.(float64); !ok {
			return notA(v, "a number", path)
		}
	}
	return nil
}

func notA(v any, want, path string) []api.FieldProblem {
	text, err := json.Marshal(v)
	if err != nil {
		text = []byte("it")
	}
	if len(text) > 60 {
		text = append(bytes.ToValidUTF8(text[:60], nil), "…"...)
	}
	return []api.FieldProblem{{Path: path, Value: string(text), Problem: fmt.Sprintf("%s is not %s", text, strings.Split(want, ";")[0]), Hint: "write " + want}}
}

func strangeFields(v any, t reflect.Type, path string) []api.FieldProblem {
	m, ok := v.(map[string]any)
	if !ok {
		return notA(v, "a mapping", path)
	}
	fields := fieldsOf(t)
	var out []api.FieldProblem
	for _, k := range slices.Sorted(maps.Keys(m)) {
		at := strings.TrimPrefix(path+"."+k, ".")
		f, ok := fields[k]
		if !ok {
			out = append(out, api.FieldProblem{Path: at, Problem: "is not known", Hint: "the fields there are " + strings.Join(slices.Sorted(maps.Keys(fields)), ", "), Allowed: slices.Sorted(maps.Keys(fields))})
			continue
		}
		out = append(out, strangers(m[k], f, at)...)
	}
	return out
}

// fieldsOf are the fields of a struct by their names in JSON.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" && !f.Anonymous {
			out[name] = f.Type
		}
	}
	return out
}

// Merge is a record after a JSON merge patch (RFC 7396).
func Merge(record, patch map[string]any) map[string]any {
	out := maps.Clone(record)
	if out == nil {
		out = map[string]any{}
	}
	for k, v := range patch {
		switch v := v.(type) {
		case nil:
			delete(out, k)
		case map[string]any:
			below, _ := out[k].(map[string]any)
			out[k] = Merge(below, v)
		default:
			out[k] = v
		}
	}
	return out
}

// RecordOf is a value as JSON has it.
func RecordOf(v any) (map[string]any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var m map[string]any
	return m, json.Unmarshal(data, &m)
}

// Patch applies a merge patch to a record, which do then takes.
func Patch[T any](was T, patch map[string]any, do func(T) error) error {
	m, err := RecordOf(was)
	if err != nil {
		return err
	}
	var n T
	if err := Strictly(Merge(m, patch), "", &n); err != nil {
		return err
	}
	return do(n)
}
