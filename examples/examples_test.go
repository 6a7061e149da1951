// Package examples holds workloads to learn from and the programs they run.
package examples

import (
	"os"
	"path/filepath"
	"testing"

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
