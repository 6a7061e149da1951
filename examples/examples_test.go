// Package examples holds workloads to learn from and the programs they run.
package examples

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/musterhq/muster/internal/convert"
	"github.com/musterhq/muster/internal/convert/source"
	"github.com/musterhq/muster/internal/core/spec"
)

func TestEveryExampleIsValid(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no examples", err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := spec.Load(raw); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestEveryImportIsTakenWhole(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("imports/*")
	if err != nil || len(files) < 7 {
		t.Fatal("no examples", err)
	}
	for _, file := range files {
		if filepath.Base(file) == "README.md" {
			continue
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := convert.Import(raw)
		if err != nil || r.Format == source.Native || len(r.Lossy()) > 0 {
			t.Errorf("%s: %s, %v, %v", file, r.Format, r.Lossy(), err)
		}
	}
}
