package spec_test

import (
	"errors"
	"testing"

	"github.com/musterhq/muster/internal/core/spec"
)

func TestOverlayTakesWhatIsSaidLast(t *testing.T) {
	for name, c := range map[string][3]string{
		"maps key by key":       {"env: {A: 1, B: 2}", "env: {B: 3}", `{"env":{"A":"1","B":"3"}}`},
		"lists whole":           {"ports: [1, 2]", "ports: [3]", `{"ports":[3]}`},
		"a part for whole GPUs": {"resources: {gpu: {count: 2, type: H100}}", "resources: {gpu: 0.5}", `{"resources":{"gpu":{"share":"0.5","type":"H100"}}}`},
		"args of a command":     {"command: a\nargs: [x]", "command: b", `{"command":"b"}`},
		"args on a command":     {"command: a\nargs: [x]", "args: [y]", `{"command":"a","args":["y"]}`},
		"a name for a prefix":   {"namePrefix: a", "name: b", `{"name":"b"}`},
		"dots in keys":          {"labels: {a.b/c: x, a: y}", "labels: {a: z}", `{"labels":{"a":"z","a.b/c":"x"}}`},
		"nothing":               {"image: a", "{}", `{"image":"a"}`},
	} {
		base, err := spec.Parse([]byte(c[0]))
		if err != nil {
			t.Fatal(err)
		}
		over, err := spec.Parse([]byte(c[1]))
		if err != nil {
			t.Fatal(err)
		}
		want, err := spec.Parse([]byte(c[2]))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := spec.Overlay(base, over); err != nil || !got.Equal(want) {
			t.Errorf("%s: %s, %v; want %s", name, spec.YAML(got), err, c[2])
		}
	}
}

// A template goes before the environment that it builds upon, and after one that
// is named beside it.
func TestTemplateAndEnvironment(t *testing.T) {
	kept := map[string]string{
		"template/t":    "env: {A: template, B: template}",
		"environment/u": "env: {A: under, C: under}",
		"environment/e": "env: {A: named, C: named}",
	}
	take := func(kind, ref string) (spec.Piece, error) {
		doc, err := spec.Parse([]byte(kept[kind+"/"+ref]))
		return spec.Piece{Name: ref, Version: 3, Environment: map[string]string{"t": "u"}[ref], Document: doc}, err
	}
	for _, c := range [][3]string{
		{"t", "", "env: {A: template, B: template, C: under}\nannotations: {muster.dev/template: t@3, muster.dev/environment: u@3}"},
		{"t", "e", "env: {A: named, B: template, C: named}\nannotations: {muster.dev/template: t@3, muster.dev/environment: e@3}"},
		{"", "e", "env: {A: named, C: named}\nannotations: {muster.dev/environment: e@3}"},
		{"", "", "{}"},
	} {
		want, err := spec.Parse([]byte(c[2]))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := spec.Compose(c[0], c[1], take); err != nil || !got.Equal(want) {
			t.Errorf("%q and %q are %s, %v", c[0], c[1], spec.YAML(got), err)
		}
	}
	if _, err := spec.Compose("t", "", func(kind, _ string) (spec.Piece, error) {
		if kind == "environment" {
			return spec.Piece{}, errors.ErrUnsupported
		}
		return take(kind, "t")
	}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("an environment that is not there: %v", err)
	}
}

func TestPartsSayWhatTheyMay(t *testing.T) {
	for _, c := range []struct {
		text        string
		environment bool
		wrong       string // field; "-": none, "": the document
	}{
		{"image: a\nenv: {A: x}", true, "-"},
		{"image: a\ncommand: x", true, "command"},
		{"image: a\ncommand: x", false, "-"},
		{"name: x\nimage: a", false, "name"},
		{"project: x\nimage: a", true, "project"},
		{"resources: {gpu: 1}", true, "resources"},
		{"{}", false, ""},
	} {
		doc, err := spec.Parse([]byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		err = spec.CheckPart(doc, c.environment)
		var errs spec.Errors
		if ok := errors.As(err, &errs); ok != (c.wrong != "-") || ok && errs[0].Path != c.wrong {
			t.Errorf("%q: %v, want %s", c.text, err, c.wrong)
		}
	}
	for _, name := range spec.EnvironmentFields() {
		if _, err := spec.Explain(name); err != nil {
			t.Errorf("%s is no field: %v", name, err)
		}
	}
}
