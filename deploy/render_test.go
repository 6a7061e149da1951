// Package deploy checks what is deployed: the chart, against a real API server.
package deploy

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"github.com/goccy/go-yaml"
)

// chart is that of the repository, or a package of it that was unpacked elsewhere.
var chart = cmp.Or(os.Getenv("MUSTER_CHART"), "helm/muster")

// values are those of values.yaml with changes by their paths, as with --set.
func values(t *testing.T, set map[string]any) map[string]any {
	t.Helper()
	v := map[string]any{}
	read(t, filepath.Join(chart, "values.yaml"), &v)
	for path, value := range set {
		m := v
		names := strings.Split(path, ".")
		for _, name := range names[:len(names)-1] {
			m = m[name].(map[string]any)
		}
		m[names[len(names)-1]] = value
	}
	return v
}

func read(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// render does what helm template does, with the functions that the chart uses.
// Each manifest is an object.
func render(t *testing.T, namespace string, set map[string]any) ([]map[string]any, error) {
	t.Helper()
	var about struct{ Name, Version, AppVersion string }
	read(t, filepath.Join(chart, "Chart.yaml"), &about)
	var meta map[string]any
	read(t, filepath.Join(chart, "Chart.yaml"), &meta)
	data := map[string]any{
		"Values":  values(t, set),
		"Chart":   map[string]any{"Name": about.Name, "Version": about.Version, "AppVersion": meta["appVersion"]},
		"Release": map[string]any{"Name": "muster", "Namespace": namespace, "Service": "Helm"},
	}
	all := template.New("chart").Option("missingkey=error")
	all.Funcs(functions(all))
	paths, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	if err != nil || len(paths) < 8 {
		t.Fatalf("%d templates (%v)", len(paths), err)
	}
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := all.New(filepath.Base(p)).Parse(string(text)); err != nil {
			t.Fatal(err)
		}
	}
	var objects []map[string]any
	for _, p := range paths {
		var out bytes.Buffer
		if err := all.ExecuteTemplate(&out, filepath.Base(p), data); err != nil {
			return nil, err
		}
		if filepath.Ext(p) != ".yaml" {
			continue
		}
		for _, part := range strings.Split(out.String(), "\n---\n") {
			o := map[string]any{}
			if err := yaml.Unmarshal([]byte(part), &o); err != nil {
				t.Fatalf("%s: %v in\n%s", p, err, part)
			}
			if len(o) > 0 {
				objects = append(objects, o)
			}
		}
	}
	return objects, nil
}

// functions are those of Helm that the chart uses.
func functions(all *template.Template) template.FuncMap {
	indent := func(n int, s string) string {
		return strings.Repeat(" ", n) + strings.ReplaceAll(s, "\n", "\n"+strings.Repeat(" ", n))
	}
	return template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var out bytes.Buffer
			err := all.ExecuteTemplate(&out, name, data)
			return out.String(), err
		},
		"toYaml": func(v any) (string, error) {
			text, err := yaml.MarshalWithOptions(v, yaml.IndentSequence(false)) // as Helm does
			return strings.TrimSuffix(string(text), "\n"), err
		},
		"nindent":    func(n int, s string) string { return "\n" + indent(n, s) },
		"quote":      func(v any) string { return strconv.Quote(toText(v)) },
		"default":    func(otherwise, v any) any { return pick(toText(v) == "", otherwise, v) },
		"contains":   func(part, s string) bool { return strings.Contains(s, part) },
		"trunc":      func(n int, s string) string { return s[:min(n, len(s))] },
		"trimSuffix": func(suffix, s string) string { return strings.TrimSuffix(s, suffix) },
		"int":        func(v any) (int, error) { return strconv.Atoi(toText(v)) },
		"empty":      func(v any) bool { return toText(v) == "" },
		"fail":       func(why string) (string, error) { return "", errors.New(why) },
		"lookup":     func(_, _, _, _ string) map[string]any { return nil },
		"b64enc":     func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"list":       func(all ...any) []any { return all },
		"dict": func(pairs ...any) map[string]any {
			m := map[string]any{}
			for i := 0; i+1 < len(pairs); i += 2 {
				m[pairs[i].(string)] = pairs[i+1]
			}
			return m
		},
		"randAlphaNum": func(n int) string {
			text := rand.Text()
			for len(text) < n {
				text += rand.Text()
			}
			return text[:n]
		},
	}
}

func pick(first bool, a, b any) any {
	if first {
		return a
	}
	return b
}

func toText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		text, _ := yaml.Marshal(v) // a scalar always marshals
		return strings.TrimSpace(string(text))
	}
}

// one is the object of a kind; the test fails unless there is exactly one.
func one(t *testing.T, objects []map[string]any, kind string) map[string]any {
	t.Helper()
	all := of(objects, kind)
	if len(all) != 1 {
		t.Fatalf("%d objects of kind %s", len(all), kind)
	}
	return all[0]
}

func of(objects []map[string]any, kind string) (all []map[string]any) {
	for _, o := range objects {
		if o["kind"] == kind {
			all = append(all, o)
		}
	}
	return all
}

// at is what stands at a path; numbers are indexes.
func at(t *testing.T, o any, path string) any {
	t.Helper()
	for _, name := range strings.Split(path, ".") {
		switch v := o.(type) {
		case map[string]any:
			o = v[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(v) {
				t.Fatalf("%s: no item %s", path, name)
			}
			o = v[i]
		default:
			t.Fatalf("%s: nothing at %s", path, name)
		}
	}
	return o
}

func texts(v any) (all []string) {
	items, _ := v.([]any)
	for _, i := range items {
		all = append(all, toText(i))
	}
	return all
}

// paths are those of all values below m, and of what is a map in the schema
// without names of its own.
func paths(m map[string]any, prefix string, into map[string]bool) map[string]bool {
	for name := range maps.Keys(m) {
		into[prefix+name] = true
		if below, ok := m[name].(map[string]any); ok && len(below) > 0 {
			paths(below, prefix+name+".", into)
		}
	}
	return into
}
