//go:build linux

package gpu

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
	"tags.cncf.io/container-device-interface/pkg/cdi"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/container"
)

// gpuKind is how CDI descriptions name GPUs.
const gpuKind = "nvidia.com/gpu="

// ForContainer decides how the assignment's real GPUs come into the container:
// by their CDI names, which bring the driver's libraries too, or else as mere
// device nodes.
func ForContainer(a backend.Assignment, dirs []string) (byName []string, nodes []container.Device, note string) {
	known := describedDevices(dirs)
	var missing []string
	for _, d := range a.Devices {
		if d.Device == "" || strings.HasPrefix(d.Device, FakePrefix) {
			continue // known by CUDA_VISIBLE_DEVICES alone
		}
		names := []string{gpuKind + d.Device, gpuKind + strconv.Itoa(d.Index)}
		if i := slices.IndexFunc(names, func(n string) bool { return slices.Contains(known, n) }); i >= 0 {
			byName = append(byName, names[i])
			continue
		}
		missing = append(missing, d.Device)
		if n, ok := deviceNode("/dev/nvidia" + strconv.Itoa(d.Index)); ok {
			nodes = append(nodes, n)
		}
	}
	if len(missing) == 0 {
		return byName, nil, ""
	}
	for _, path := range []string{"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"} {
		if n, ok := deviceNode(path); ok {
			nodes = append(nodes, n)
		}
	}
	return byName, nodes, fmt.Sprintf("no CDI description names the GPUs %s, so the container has their device nodes (%d found) but not the driver's libraries; run nvidia-ctk cdi generate",
		strings.Join(missing, ", "), len(nodes))
}

func deviceNode(path string) (container.Device, bool) {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR {
		return container.Device{}, false
	}
	return container.Device{Path: path, Major: int64(unix.Major(uint64(st.Rdev))), Minor: int64(unix.Minor(uint64(st.Rdev)))}, true
}

func cdiCache(dirs []string) (*cdi.Cache, error) {
	return cdi.NewCache(cdi.WithSpecDirs(dirs...), cdi.WithAutoRefresh(false))
}

func describedDevices(dirs []string) []string {
	if !slices.ContainsFunc(dirs, func(d string) bool { _, err := os.Stat(d); return err == nil }) {
		return nil
	}
	cache, err := cdiCache(dirs)
	if err != nil {
		return nil
	}
	return cache.ListDevices()
}

// Inject adds devices to a container by their CDI names.
func Inject(spec *specs.Spec, dirs, names []string) error {
	cache, err := cdiCache(dirs)
	if err != nil {
		return err
	}
	_, err = cache.InjectDevices(spec, names...)
	return err
}

// DriverFiles are the files of the machine that CDI descriptions give to containers
// with the assignment's GPUs: the driver's libraries and programs. Device nodes are
// not among them.
func DriverFiles(a backend.Assignment, dirs []string) ([]backend.Mount, error) {
	names, _, _ := ForContainer(a, dirs)
	if len(names) == 0 {
		return nil, nil
	}
	spec := &specs.Spec{Process: &specs.Process{}, Linux: &specs.Linux{}}
	if err := Inject(spec, dirs, names); err != nil {
		return nil, fmt.Errorf("the driver's files cannot be given to a container: %w", err)
	}
	var files []backend.Mount
	for _, m := range spec.Mounts {
		if m.Type == "" || m.Type == "bind" {
			files = append(files, backend.Mount{Source: m.Source, Target: m.Destination, ReadOnly: true})
		}
	}
	return files, nil
}
