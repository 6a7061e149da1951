package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Kernels since which a task is followed by a descriptor that nothing else can be
// taken for (pidfd_open), and since which a control group ends whole (cgroup.kill).
// See pidfd_open(2) and the kernel's Documentation/admin-guide/cgroup-v2.rst.
var (
	kernelPidfd = [2]int{5, 3}
	kernelKill  = [2]int{5, 14}
)

func (m Machine) kernel() Check {
	c := Check{Name: "kernel", Status: OK}
	release, err := m.Kernel()
	if err != nil {
		c.Status, c.Found = Skip, err.Error()
		return c
	}
	c.Found = "Linux " + release
	var v [2]int
	if n, _ := fmt.Sscanf(release, "%d.%d", &v[0], &v[1]); n != 2 {
		c.Status, c.Means = Skip, "its version cannot be read"
		return c
	}
	switch {
	case slices.Compare(v[:], kernelPidfd[:]) < 0:
		c.Status, c.Means, c.Fix = Fail, "tasks cannot be followed safely before Linux 5.3", "install a newer kernel"
	case slices.Compare(v[:], kernelKill[:]) < 0:
		c.Status, c.Means, c.Fix = Warn, "before Linux 5.14 a task that forks while it is ended may leave processes behind for some seconds", "install a newer kernel"
	}
	return c
}

// groups tells which control groups there are and whether this user may make
// some: they hold a task's processes together, and its limits.
func (m Machine) groups() Check {
	c := Check{Name: "control groups", Status: OK}
	v2, v1 := "", map[string]string{}
	for line := range strings.Lines(m.read("/proc/self/mountinfo")) {
		before, after, ok := strings.Cut(line, " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		if !ok || len(f) < 5 || len(g) < 3 {
			continue
		}
		switch g[0] {
		case "cgroup2":
			v2 = f[4]
		case "cgroup":
			for _, o := range strings.Split(g[2], ",") {
				v1[o] = f[4]
			}
		}
	}
	own := map[string]string{}
	for line := range strings.Lines(m.read("/proc/self/cgroup")) {
		if p := strings.SplitN(strings.TrimSpace(line), ":", 3); len(p) == 3 {
			for _, o := range strings.Split(p[1], ",") {
				own[o] = p[2]
			}
		}
	}
	if v2 == "" {
		c.Status, c.Found = Warn, "no unified hierarchy (v2) is mounted"
		c.Means, c.Fix = "a task that detaches from its parents can outlive its end; memory limits are not kept", "boot with systemd.unified_cgroup_hierarchy=1"
		return c
	}
	writable := ""
	for _, dir := range []string{v2, filepath.Join(v2, own[""])} {
		if unix.Access(m.path(dir), unix.W_OK) == nil && unix.Access(m.path(filepath.Join(dir, "cgroup.procs")), unix.W_OK) == nil {
			writable = dir
			break
		}
	}
	controllers := strings.Fields(m.read(filepath.Join(v2, "cgroup.controllers")))
	memory := slices.Contains(controllers, "memory")
	_, old := v1["memory"]
	c.Found = "v2 at " + v2
	if len(v1) > 0 {
		c.Found = "v1 and v2 side by side, v2 at " + v2
	}
	switch {
	case writable == "":
		c.Status, c.Found = Warn, c.Found+", not writable for this user"
		c.Means = "tasks have no memory limit, and one that detaches from its parents is found by its environment only"
		c.Fix = "muster server install, whose unit is given a group of its own (Delegate=yes), or run the server as root"
	case !memory && !old:
		c.Status, c.Means, c.Fix = Warn, "there is no memory controller: memory limits are not kept", "boot without cgroup_disable=memory"
	default:
		c.Found += ", writable"
	}
	return c
}

// engine tells whether containers can run: as cmd/muster's openImages has it, that
// takes root and runc.
func (m Machine) engine(ctx context.Context) Check {
	c := Check{Name: "containers", Status: OK}
	path, err := m.Look("runc")
	if err != nil {
		c.Status, c.Found = Warn, "runc is not in PATH"
		c.Means, c.Fix = "a workload with an image is refused; commands run as processes", "apt-get install runc"
		return c
	}
	output, err := m.Ask(ctx, path, "--version")
	output, _, _ = strings.Cut(output, "\n")
	if err != nil {
		c.Status, c.Found, c.Means, c.Fix = Fail, fmt.Sprintf("%s --version: %v: %s", path, err, output), "a workload with an image fails", "install runc again"
		return c
	}
	c.Found = output
	if m.UID != 0 {
		c.Status, c.Found = Warn, output+", not as root"
		c.Means, c.Fix = "a workload with an image is refused; commands run as processes", "run the server as root: muster server install --system --as root"
		return c
	}
	if !strings.Contains(m.read("/proc/filesystems"), "overlay") && m.read("/sys/module/overlay/initstate") == "" {
		if _, err := os.Stat(m.path("/sys/module/overlay")); err != nil {
			c.Status, c.Means, c.Fix = Warn, "the kernel has no overlay file system loaded: images cannot be layered", "modprobe overlay"
		}
	}
	return c
}

// builder looks for the programs that build images, by the order in which they
// are tried (internal/operations).
func (m Machine) builder() Check {
	c := Check{Name: "image builder", Status: OK}
	for _, name := range []string{"buildah", "buildctl"} {
		if path, err := m.Look(name); err == nil {
			c.Found = path
			return c
		}
	}
	c.Status, c.Found = Skip, "neither buildah nor buildctl is in PATH"
	c.Means, c.Fix = "operations that build an image are refused", "apt-get install buildah, where images are to be built"
	return c
}
