package server_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write the generated file again")

const described = "../../api/openapi.json"

func TestOpenAPIIsCheckedIn(t *testing.T) {
	raw, err := newWorld(t).server.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		t.Fatal(err)
	}
	b.WriteByte('\n')
	if *update {
		if err := os.WriteFile(described, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(described)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, b.Bytes()) {
		t.Error("api/openapi.json is not what the types say; make generate writes it again")
	}
}

// TestEveryOperationTellsHowItRefuses, web sockets too, and what a dry run
// answers is described.
func TestEveryOperationTellsHowItRefuses(t *testing.T) {
	raw, err := newWorld(t).server.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Paths map[string]map[string]struct {
			Responses map[string]any `json:"responses"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	for path, operations := range d.Paths {
		for method, o := range operations {
			if o.Responses["default"] == nil {
				t.Errorf("%s %s does not say how it refuses: %v", method, path, o.Responses)
			}
		}
	}
	if made := d.Paths["/v1/projects/{project}/workloads"]["post"].Responses; made["200"] == nil || made["201"] == nil {
		t.Errorf("a submission is answered with %v, want 201 and, of a dry run, 200", made)
	}
}
