package operator

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/goccy/go-yaml"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var update = flag.Bool("update", false, "write the resource definition anew")

// TestAnOlderDefinitionIsNoticed: of the one that is in force, what it lacks.
func TestAnOlderDefinitionIsNoticed(t *testing.T) {
	text, err := CRD()
	if err != nil {
		t.Fatal(err)
	}
	var d map[string]any
	if err := yaml.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	if got := lacking(d); len(got) > 0 {
		t.Errorf("our own lacks %v", got)
	}
	schema := []string{"schema", "openAPIV3Schema", "properties"}
	version := d["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
	unstructured.RemoveNestedField(version, slices.Concat(schema, []string{"spec", "properties", "image"})...)
	unstructured.RemoveNestedField(version, slices.Concat(schema, []string{"status", "properties", "tasks", "properties", "running"})...)
	if got := lacking(d); !slices.Equal(got, []string{"spec.image", "status.tasks.running"}) {
		t.Errorf("it lacks %v", got)
	}
}

func TestTheDefinitionIsThatOfTheDocument(t *testing.T) {
	path := filepath.Join("..", "..", "deploy", "helm", "muster", "crds", "workloads.yaml")
	want, err := CRD()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the document's schema makes of it (%v): go test ./internal/operator -update", path, err)
	}
}
