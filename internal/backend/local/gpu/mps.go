//go:build linux

package gpu

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/backend"
)

// NVIDIA's Multi-Process Service holds its clients to a part of a GPU by what
// their environment says (docs.nvidia.com/deploy/mps). Without its control
// daemon nobody looks at these variables.
const (
	mpsPipes   = "CUDA_MPS_PIPE_DIRECTORY"
	mpsThreads = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"
	mpsMemory  = "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"

	mpsUsual   = "/tmp/nvidia-mps" // where its daemon listens unless it was told otherwise
	mpsPID     = "nvidia-cuda-mps-control.pid"
	mpsControl = "control"
	mpsName    = "nvidia-cuda-mps-control"
	commMost   = 15 // bytes of a program's name that the kernel keeps
)

// findMPS returns the directory in which a living MPS control daemon listens.
// Older ones write no file with their pid, so that any of that name will do.
func findMPS(dir, proc string) (string, bool) {
	dir = cmp.Or(dir, mpsUsual)
	is := func(pid string) bool {
		comm, err := os.ReadFile(filepath.Join(proc, pid, "comm"))
		return err == nil && strings.TrimSpace(string(comm)) == mpsName[:commMost]
	}
	if data, err := os.ReadFile(filepath.Join(dir, mpsPID)); err == nil {
		pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
		return dir, err == nil && is(strconv.Itoa(pid))
	}
	if _, err := os.Stat(filepath.Join(dir, mpsControl)); err != nil {
		return dir, false
	}
	all, err := os.ReadDir(proc)
	return dir, err == nil && slices.ContainsFunc(all, func(e os.DirEntry) bool { return is(e.Name()) })
}

// partly is what a task that has a part of its GPUs is started with, and what
// its owner should know of that; find looks for the daemon.
func partly(a backend.Assignment, find func() (string, bool)) (env []string, note string) {
	share := 1000
	for _, d := range a.Devices {
		share = min(share, d.Milli)
	}
	if share >= 1000 || share <= 0 {
		return nil, ""
	}
	if strings.HasPrefix(a.Devices[0].Device, FakePrefix) {
		return nil, "share not enforced: the GPU is fake"
	}
	dir, ok := find()
	switch {
	case !ok:
		return nil, fmt.Sprintf("share not enforced: no MPS daemon listens in %s; start %s -d there", dir, mpsName)
	case a.Image != "":
		return nil, "share not enforced: containers do not reach the machine's MPS daemon"
	}
	limit := min(max(share, a.GPULimit), 1000) // what is promised is booked, not enforced
	env = []string{mpsPipes + "=" + dir, mpsThreads + "=" + strconv.Itoa(max(limit/10, 1))}
	if a.GPUMemory > 0 {
		limits := make([]string, len(a.Devices))
		for i := range limits { // by the order in which the task sees them
			limits[i] = fmt.Sprintf("%d=%dM", i, max(a.GPUMemory>>20, 1))
		}
		env = append(env, mpsMemory+"="+strings.Join(limits, ","))
	}
	return env, ""
}

// Limit gives a task its part of GPUs.
func Limit(a backend.Assignment) (backend.Assignment, string) {
	env, note := partly(a, func() (string, bool) { return findMPS(os.Getenv(mpsPipes), "/proc") })
	a.Env = append(slices.Clip(a.Env), env...)
	return a, note
}
