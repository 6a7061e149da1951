//go:build linux

package gpu

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
)

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestTheMPSDaemonMustLive(t *testing.T) {
	dir, proc := t.TempDir(), t.TempDir()
	found := func() bool { _, ok := findMPS(dir, proc); return ok }
	if found() {
		t.Error("found one in an empty directory")
	}
	put(t, filepath.Join(dir, mpsPID), "17\n")
	if found() {
		t.Error("found one that has ended")
	}
	put(t, filepath.Join(proc, "17", "comm"), "bash\n")
	if found() {
		t.Error("took bash for one")
	}
	put(t, filepath.Join(proc, "17", "comm"), mpsName[:commMost]+"\n")
	if !found() {
		t.Error("did not find it by its file")
	}
	if err := os.Remove(filepath.Join(dir, mpsPID)); err != nil {
		t.Fatal(err)
	}
	if found() {
		t.Error("found one that listens elsewhere")
	}
	put(t, filepath.Join(dir, mpsControl), "")
	if !found() {
		t.Error("did not find an older one by its pipe")
	}
}

func TestPartsAreEnforcedWhereMPSRuns(t *testing.T) {
	there := func() (string, bool) { return "/run/mps", true }
	gone := func() (string, bool) { return "/run/mps", false }
	half := []core.Share{{Device: "GPU-a", Milli: 500}, {Device: "GPU-b", Index: 1, Milli: 500}}
	for name, c := range map[string]struct {
		a    backend.Assignment
		find func() (string, bool)
		env  []string
		note string
	}{
		"whole":  {a: backend.Assignment{Devices: []core.Share{{Device: "GPU-a", Milli: 1000}}}, find: there},
		"none":   {find: there},
		"fake":   {a: backend.Assignment{Devices: []core.Share{{Device: "fake-0", Milli: 500}}}, find: there, note: "is fake"},
		"no one": {a: backend.Assignment{Devices: half}, find: gone, note: "no MPS daemon listens in /run/mps"},
		"boxed":  {a: backend.Assignment{Devices: half, Image: "x"}, find: there, note: "containers"},
		"halves": {a: backend.Assignment{Devices: half, GPUMemory: 8 << 30}, find: there, env: []string{
			"CUDA_MPS_PIPE_DIRECTORY=/run/mps", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=8192M,1=8192M",
		}},
		"more while there is room": {a: backend.Assignment{Devices: half[:1], GPULimit: 805, GPUMemory: 64 << 30}, find: there, env: []string{
			"CUDA_MPS_PIPE_DIRECTORY=/run/mps", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=80", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=65536M",
		}},
		"up to all": {a: backend.Assignment{Devices: half[:1], GPULimit: 1000, GPUMemory: 80 << 30}, find: there, env: []string{
			"CUDA_MPS_PIPE_DIRECTORY=/run/mps", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=100", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=81920M",
		}},
		"a limit below the part": {a: backend.Assignment{Devices: half[:1], GPULimit: 100}, find: there, env: []string{
			"CUDA_MPS_PIPE_DIRECTORY=/run/mps", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50",
		}},
		"little": {a: backend.Assignment{Devices: []core.Share{{Device: "GPU-a", Milli: 3}}}, find: there, env: []string{
			"CUDA_MPS_PIPE_DIRECTORY=/run/mps", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=1",
		}},
	} {
		env, note := partly(c.a, c.find)
		if !slices.Equal(env, c.env) || !strings.Contains(note, c.note) || (note == "") != (c.note == "") {
			t.Errorf("%s: %q, %q; want %q, %q", name, env, note, c.env, c.note)
		}
	}
}
