package slurm

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core/spec"
)

// TestExported has what sbatch 22.05.8 handed on, whose words ALL and NONE may be
// written small.
func TestExported(t *testing.T) {
	for export, want := range map[string]string{
		"": "A=1 B=2", "ALL": "A=1 B=2", "all": "A=1 B=2", "All,C=3": "A=1 B=2", "NONE": "", "none": "", "nil": "", "none,C=3": "", "B": "B=2",
	} {
		doc := &spec.Document{Slurm: &spec.Slurm{Export: export}}
		if got := strings.Join(Exported(doc, []string{"B=2", "A=1"}, nil), " "); got != want {
			t.Errorf("--export=%s: %q, want %q", export, got, want)
		}
	}
}
