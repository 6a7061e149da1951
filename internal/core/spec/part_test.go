package spec_test

import (
	"errors"
	"testing"

	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/codec"
)

func TestOverlayTakesWhatIsSaidLast(t *testing.T) {
	for name, c := range map[string][3]string{
		"maps key by key":       {"env: {A: 1, B: 2}", "env: {B: 3}", `{"env":{"A":"1","B":"3"}}`},
		"lists whole":           {"ports: [1, 2]", "ports: [3]", `{"ports":[3]}`},
		"a part for whole GPUs": {"resources: {gpu: {count: 2, type: H100}}", "resources: {gpu: 0.5}", `{"resources":{"gpu":{"share":"0.5","type":"H100"}}}`},
		"args of a command":     {"command: a\nargs: [x]", "command: b", `{"command":"b"}`},
		"args on a command":     {"command: a\nargs: [x]", "args: [y]", `{"command":"a","args":["y"]}`},
		"a name for a prefix":   {"namePrefix: a", "name: b", `{"name":"b"}`},
		"a part without limit":  {"resources: {gpu: {share: 0.5, shareLimit: 0.9}}", "resources: {gpu: 2}", `{"resources":{"gpu":2}}`},
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
		if got, err := spec.Compose(spec.Assets{Template: c[0], Environment: c[1]}, take); err != nil || !got.Equal(want) {
			t.Errorf("%q and %q are %s, %v", c[0], c[1], spec.YAML(got), err)
		}
	}
	if _, err := spec.Compose(spec.Assets{Template: "t"}, func(kind, _ string) (spec.Piece, error) {
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
		text, kind string
		wrong      string // field; "-": none, "": the document
	}{
		{"image: a\nenv: {A: x}", spec.AssetEnvironment, "-"},
		{"image: a\ncommand: [x]\nargs: [y]\nports: [80]", spec.AssetEnvironment, "-"},
		{"image: a\nargs: [y]", spec.AssetEnvironment, "-"},
		{"env: {A: x}\nvolumes: [{hostPath: /a, path: /b, readOnly: true}]", spec.AssetEnvironment, "-"},
		{"image: a\ncommand: x\nworkers: 3", spec.AssetTemplate, "-"},
		{"name: x\nimage: a", spec.AssetTemplate, "name"},
		{"template: x\nimage: a", spec.AssetTemplate, "template"},
		{"project: x\nimage: a", spec.AssetEnvironment, "project"},
		{"resources: {gpu: 1}", spec.AssetEnvironment, "resources"},
		{"ports: [80, 80]", spec.AssetEnvironment, "ports[1].port"},
		{"{}", spec.AssetTemplate, ""},
		{"{}", spec.AssetCompute, ""},
		{"resources: {gpu: 0.5, cpu: 4, shm: 8Gi}\ntolerations: [dgx]", spec.AssetCompute, "-"},
		{"resources: {gpu: 1}\nimage: a", spec.AssetCompute, "image"},
		{"resources: {gpu: {share: 0.5, memory: 8Gi}}", spec.AssetCompute, "resources.gpu.memory"},
		{"volumes: [{hostPath: /srv/a, path: /data, readOnly: true}]", spec.AssetDataSource, "-"},
		{"integrations: [{git: {repo: a/b}}]", spec.AssetDataSource, "-"},
		{"integrations: [{pip: {packages: [a]}}]", spec.AssetDataSource, "integrations[0]"},
		{"env: {A: x}", spec.AssetDataSource, "volumes"},
		{"volumes: [{path: /data}]", spec.AssetDataSource, "volumes[0]"},
		{"volumes: [{claim: a, path: /data}]", spec.AssetDataVolume, "-"},
		{"volumes: [{claim: a, path: /data}, {claim: b, path: /b}]", spec.AssetDataVolume, "volumes"},
		{"volumes: [{temporary: 1Gi, path: /data}]", spec.AssetDataVolume, "volumes[0]"},
		{"secrets: [x]", spec.AssetDataVolume, "secrets"},
	} {
		doc, err := spec.Parse([]byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		err = spec.CheckPart(doc, c.kind)
		var errs codec.Errors
		if ok := errors.As(err, &errs); ok != (c.wrong != "-") || ok && errs[0].Path != c.wrong {
			t.Errorf("%s %q: %v, want %s", c.kind, c.text, err, c.wrong)
		}
	}
	for _, kind := range spec.AssetKinds() {
		for _, name := range spec.AssetFields(kind) {
			if _, err := spec.Explain(name); err != nil {
				t.Errorf("%s is no field: %v", name, err)
			}
		}
	}
}
