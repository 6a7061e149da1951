//go:build linux

package supervisor

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/taskdir"
	"github.com/musterhq/muster/internal/core"
)

func TestTaskEnvKeepsTheLast(t *testing.T) {
	a := backend.Assignment{
		ID:    core.TaskID{Workload: "w", Attempt: 1, Index: 2},
		Env:   []string{"PATH=/bin", "A=1", "broken", "=x", "A=2", "CUDA_VISIBLE_DEVICES=7", "PATH=/opt"},
		Files: []backend.File{{Name: "f", EnvVar: "F"}, {Name: "g"}},
	}
	got := taskEnv(a.Env, "/d", a, func(f backend.File) string { return filepath.Join("/d", taskdir.FilesDir, f.Name) })
	want := []string{"PATH=/opt", "A=2", "CUDA_VISIBLE_DEVICES=", "F=/d/files/f", "MUSTER_TASK_ID=w/1/2", "MUSTER_TASK_DIR=/d"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
