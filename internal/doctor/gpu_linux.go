package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const nvidia = "0x10de" // NVIDIA's vendor number on the PCI bus

// gpus looks at what is on the bus, the driver, its tool, and what hands GPUs to
// containers and divides them.
func (m Machine) gpus(ctx context.Context) []Check {
	c := Check{Name: "GPUs", Status: OK}
	there := m.onBus()
	driver := ""
	if v := m.read("/proc/driver/nvidia/version"); v != "" {
		driver, _, _ = strings.Cut(v, "\n")
		if _, rest, ok := strings.Cut(driver, "Module"); ok {
			driver = "driver " + strings.Fields(rest + " ?")[0]
		}
	}
	tool, err := m.Look("nvidia-smi")
	switch {
	case there == 0 && driver == "" && err != nil:
		c.Status, c.Found = Skip, "no NVIDIA GPU on the bus"
		c.Means, c.Fix = "workloads that ask for GPUs wait", "muster server --fake-gpus 8 pretends some, to try things out"
		return []Check{c}
	case driver == "" && err != nil:
		c.Status, c.Found = Fail, fmt.Sprintf("%d on the bus, and no driver", there)
		c.Means, c.Fix = "the GPUs cannot be used", "install NVIDIA's driver (apt-get install nvidia-driver, or your distribution's), then modprobe nvidia"
		return []Check{c}
	case err != nil:
		c.Status, c.Found = Fail, driver+", and nvidia-smi is not in PATH"
		c.Means, c.Fix = "the server asks nvidia-smi which GPUs there are, and finds none", "install it (apt-get install nvidia-smi), or put it in the server's PATH"
		return []Check{c}
	}
	output, err := m.Ask(ctx, tool, "--query-gpu=index,name,persistence_mode,ecc.errors.uncorrected.volatile.total", "--format=csv,noheader,nounits")
	if err != nil {
		c.Status, c.Found = Fail, fmt.Sprintf("nvidia-smi: %v: %.200s", err, output)
		c.Means, c.Fix = "the node is not ready while this is so", "modprobe nvidia; a driver that was upgraded needs a reboot (or all users of it ended, and modprobe -r)"
		return []Check{c}
	}
	models, idle, broken := map[string]int{}, 0, []string{}
	var order []string
	n := 0
	for line := range strings.Lines(output) {
		f := strings.Split(strings.TrimSpace(line), ",")
		if len(f) < 4 {
			continue
		}
		n++
		for i := range f {
			f[i] = strings.TrimSpace(f[i])
		}
		if models[f[1]]++; models[f[1]] == 1 {
			order = append(order, f[1])
		}
		if f[2] == "Disabled" {
			idle++
		}
		if f[3] != "0" && f[3] != "" && !strings.HasPrefix(f[3], "[") && !strings.HasPrefix(f[3], "N/A") {
			broken = append(broken, f[0]+" ("+f[3]+")")
		}
	}
	var kinds []string
	for _, k := range order {
		kinds = append(kinds, fmt.Sprintf("%d × %s", models[k], k))
	}
	c.Found = strings.Join(kinds, ", ")
	if driver != "" {
		c.Found += ", " + driver
	}
	switch {
	case len(broken) > 0:
		c.Status, c.Means = Warn, "memory errors that could not be corrected on GPU "+strings.Join(broken, ", ")+": work there may fail or compute what is wrong"
		c.Fix = "nvidia-smi -q -d ECC; reset or replace it; until then muster node cordon"
	case n < there:
		c.Status, c.Means, c.Fix = Warn, fmt.Sprintf("%d are on the bus: the driver does not show the others", there), "dmesg | grep -i xid"
	case idle > 0:
		c.Status, c.Means, c.Fix = Warn, "persistence mode is off: the first task on a resting GPU waits seconds for the driver", "nvidia-smi -pm 1, or systemctl enable --now nvidia-persistenced"
	}
	return []Check{c, m.handed(), m.divided()}
}

// onBus counts NVIDIA's display and 3D controllers (PCI class 03).
func (m Machine) onBus() int {
	vendors, _ := filepath.Glob(m.path("/sys/bus/pci/devices/*/vendor"))
	n := 0
	for _, v := range vendors {
		b, err := os.ReadFile(v)
		if err != nil || strings.TrimSpace(string(b)) != nvidia {
			continue
		}
		class, err := os.ReadFile(filepath.Join(filepath.Dir(v), "class"))
		if err == nil && strings.HasPrefix(strings.TrimSpace(string(class)), "0x03") {
			n++
		}
	}
	return n
}

// handed looks for descriptions by which containers are given GPUs (CDI).
func (m Machine) handed() Check {
	c := Check{Name: "GPUs in containers", Status: OK}
	for _, dir := range []string{"/etc/cdi", "/var/run/cdi"} {
		if all, _ := filepath.Glob(m.path(dir + "/*")); len(all) > 0 {
			c.Found = "described in " + dir
			return c
		}
	}
	c.Status, c.Found = Warn, "no CDI description in /etc/cdi or /var/run/cdi"
	c.Means = "containers are given the device files, and not the driver's libraries: an image that lacks these finds no GPU"
	c.Fix = "install nvidia-container-toolkit, then: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"
	return c
}

// divided looks for the daemon that keeps those who share a GPU to their parts.
func (m Machine) divided() Check {
	c := Check{Name: "parts of GPUs", Status: OK}
	comms, _ := filepath.Glob(m.path("/proc/[0-9]*/comm"))
	for _, p := range comms {
		if b, err := os.ReadFile(p); err == nil && strings.HasPrefix(strings.TrimSpace(string(b)), "nvidia-cuda-mps") {
			c.Found = "MPS runs"
			return c
		}
	}
	c.Status, c.Found = Warn, "MPS does not run"
	c.Means, c.Fix = "tasks that share a GPU are counted by their parts, and not kept to them", "nvidia-cuda-mps-control -d, as the user that runs tasks"
	return c
}
