package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// decode reads JSON into v and refuses what v has no field for, by its path:
// a case that says something we do not understand would be judged wrongly.
func decode(text []byte, v any) error {
	var raw any
	if err := json.Unmarshal(text, &raw); err != nil {
		return err
	}
	if errs := check(raw, reflect.TypeOf(v).Elem(), ""); len(errs) > 0 {
		return errors.Join(errs...)
	}
	return json.Unmarshal(text, v)
}

// check compares a value with the type that it is for.
func check(raw any, t reflect.Type, path string) []error {
	pointer := t.Kind() == reflect.Pointer
	if pointer {
		t = t.Elem()
	}
	if raw == nil {
		if pointer || t.Kind() == reflect.Interface {
			return nil
		}
		return []error{fmt.Errorf("%s is null; leave it out, or give a value", orWhole(path))}
	}
	switch t.Kind() {
	case reflect.Struct:
		object, ok := raw.(map[string]any)
		if !ok {
			return wrongKind(raw, "an object", path)
		}
		return checkFields(object, t, path)
	case reflect.Map:
		object, ok := raw.(map[string]any)
		if !ok {
			return wrongKind(raw, "an object", path)
		}
		var errs []error
		for _, key := range slices.Sorted(maps.Keys(object)) {
			errs = append(errs, check(object[key], t.Elem(), join(path, key))...)
		}
		return errs
	case reflect.Slice:
		list, ok := raw.([]any)
		if !ok {
			return wrongKind(raw, "a list", path)
		}
		var errs []error
		for i, item := range list {
			errs = append(errs, check(item, t.Elem(), fmt.Sprintf("%s[%d]", path, i))...)
		}
		return errs
	}
	return checkScalar(raw, t, path)
}

func checkFields(object map[string]any, t reflect.Type, path string) []error {
	known := map[string]reflect.Type{}
	for f := range t.Fields() {
		if tag := f.Tag.Get("json"); tag != "-" {
			known[tag] = f.Type
		}
	}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(object)) {
		field, ok := known[key]
		if !ok {
			errs = append(errs, fmt.Errorf("%s: no such field; there are %s", join(path, key), strings.Join(slices.Sorted(maps.Keys(known)), ", ")))
			continue
		}
		errs = append(errs, check(object[key], field, join(path, key))...)
	}
	return errs
}

func checkScalar(raw any, t reflect.Type, path string) []error {
	want, ok := "", true
	switch t.Kind() {
	case reflect.Interface:
	case reflect.String:
		_, ok = raw.(string)
		want = "a string"
	case reflect.Bool:
		_, ok = raw.(bool)
		want = "true or false"
	case reflect.Int, reflect.Int64:
		var n float64
		n, ok = raw.(float64)
		ok = ok && n == float64(int64(n))
		want = "a whole number"
	case reflect.Float64:
		_, ok = raw.(float64)
		want = "a number"
	default:
		return []error{fmt.Errorf("%s: the program has a field of type %s, which cases cannot have", orWhole(path), t)}
	}
	if !ok {
		return wrongKind(raw, want, path)
	}
	return nil
}

func wrongKind(raw any, want, path string) []error {
	text, err := json.Marshal(raw)
	if err != nil || len(text) > 40 {
		text = fmt.Appendf(nil, "a %T", raw)
	}
	return []error{fmt.Errorf("%s is %s, want %s", orWhole(path), text, want)}
}

func orWhole(path string) string {
	if path == "" {
		return "the case"
	}
	return path
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
