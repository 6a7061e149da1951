package jsonschema_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/core/spec/jsonschema"
)

func TestJSONSchemaCoversTheDocument(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(jsonschema.Document())
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Properties map[string]struct {
			Enum    []any `json:"enum"`
			Default any   `json:"default"`
		} `json:"properties"`
		AdditionalProperties bool `json:"additionalProperties"`
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	for _, c := range spec.Schema().Children {
		if _, ok := s.Properties[c.Name]; !ok {
			t.Errorf("%s is missing", c.Name)
		}
	}
	if s.AdditionalProperties || len(s.Properties["kind"].Enum) != 4 || s.Properties["kind"].Default != "training" {
		t.Errorf("%s", raw)
	}
}

func TestJSONSchemaOfLists(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(jsonschema.Document())
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"properties.ports.items.oneOf.0.type":                                        `"integer"`,
		"properties.ports.items.oneOf.0.maximum":                                     `65535`,
		"properties.secrets.items.oneOf.0.type":                                      `"string"`,
		"properties.secrets.items.oneOf.1.required":                                  `["name"]`,
		"properties.volumes.type":                                                    `"array"`,
		"properties.volumes.items.properties.path.type":                              `"string"`,
		"properties.volumes.items.additionalProperties":                              `false`,
		"properties.retry.properties.rules.items.properties.exitCodes.items.maximum": `255`,
		"properties.retry.properties.rules.items.properties.exitCodes.examples":      `[[42,137]]`,
		"properties.retry.properties.rules.items.properties.reasons.items.enum.1":    `"OutOfMemory"`,
		"properties.array.properties.grid.examples.0.seed":                           `[1,2,3]`,
		"properties.resources.properties.gpu.oneOf.0.type":                           `"integer"`,
		"properties.resources.properties.gpu.oneOf.1.exclusiveMaximum":               `1`,
		"properties.resources.properties.gpu.oneOf.2.properties.share.examples":      `[0.5]`,
		"properties.resources.properties.gpu.oneOf.2.properties.shareLimit.examples": `[0.8]`,
		"properties.resources.properties.gpu.oneOf.2.properties.shareLimit.maximum":  `1`,
		"properties.resources.properties.gpu.oneOf.2.properties.mig.oneOf.1.type":    `"object"`,
		"properties.tolerations.items.oneOf.1.properties.effect.enum.0":              `"NoSchedule"`,
		"properties.pools.examples":                                                  `[["h100","default"]]`,
		"properties.minWorkers.minimum":                                              `1`,
		"properties.runAs.properties.user.maximum":                                   `4294967294`,
	} {
		var at any
		if err := json.Unmarshal(raw, &at); err != nil {
			t.Fatal(err)
		}
		for name := range strings.SplitSeq(path, ".") {
			switch in := at.(type) {
			case map[string]any:
				at = in[name]
			case []any:
				i, err := strconv.Atoi(name)
				if err != nil || i >= len(in) {
					t.Fatalf("%s: no %s", path, name)
				}
				at = in[i]
			default:
				at = nil
			}
		}
		if got, err := json.Marshal(at); err != nil || string(got) != want && string(got) != strings.Replace(want, "4294967294", "4.294967294e+09", 1) {
			t.Errorf("%s: %s, want %s %v", path, got, want, err)
		}
	}
}
