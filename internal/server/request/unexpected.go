package request

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
)

// Unexpected is what is wrong with a JSON text, in words of JSON: which of our
// types it did not fit is nobody's business.
func Unexpected(err error) string {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	at := ""
	if wrong.Field != "" {
		at = wrong.Field + ": "
	}
	found := wrong.Value // of a number also which
	if found == "bool" {
		found = "true or false"
	}
	return at + "found " + found + ", expected " + sortOf(wrong.Type)
}

// sortOf is a type as JSON has it.
func sortOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return sortOf(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.String:
		return "a text"
	case reflect.Slice, reflect.Array:
		return "a list"
	default:
		return "a mapping"
	}
}
