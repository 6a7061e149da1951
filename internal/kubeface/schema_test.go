package kubeface

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the resource definition anew")

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
		t.Errorf("%s is not what the document's schema makes of it (%v): go test ./internal/kubeface -update", path, err)
	}
}
