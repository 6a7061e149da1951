//go:build linux

package gpu

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core"
)

func eight() []core.Device {
	var all []core.Device
	for i := range 8 {
		all = append(all, core.Device{ID: "GPU-" + strconv.Itoa(i), Index: i, Healthy: true})
	}
	return all
}

func topology(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "topology", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheDriversTopologyIsUnderstood(t *testing.T) {
	for _, c := range []struct {
		file string
		a, b int
		want core.Link
	}{
		{"dgx-a100.txt", 0, 1, core.LinkNVLink12.Near()}, {"dgx-a100.txt", 1, 2, core.LinkNVLink12},
		{"dgx-h100.txt", 0, 3, core.LinkNVLink12.Near()}, {"dgx-h100.txt", 3, 4, core.LinkNVLink12},
		{"pcie-nv4.txt", 6, 7, core.LinkNVLink4.Near()}, {"pcie-nv4.txt", 5, 6, core.LinkNUMANode.Near()}, {"pcie-nv4.txt", 0, 7, core.LinkSockets},
		{"pcie-plain.txt", 0, 1, core.LinkSwitch.Near()}, {"pcie-plain.txt", 1, 2, core.LinkHostBridge.Near()}, {"pcie-plain.txt", 2, 5, core.LinkSockets},
	} {
		links := parseLinks(topology(t, c.file), eight())
		if !links.Known(8) {
			t.Fatalf("%s: %q", c.file, links)
		}
		if got, back := links.Between(c.a, c.b, 8), links.Between(c.b, c.a, 8); got != c.want || back != c.want {
			t.Errorf("%s: between %d and %d %d and back %d, want %d", c.file, c.a, c.b, got, back, c.want)
		}
	}
}

// TestDevicesThatAreNotAllThere: a container may see some of a machine's GPUs, in
// another order.
func TestDevicesThatAreNotAllThere(t *testing.T) {
	all := eight()
	links := parseLinks(topology(t, "pcie-nv4.txt"), []core.Device{all[6], all[1], all[7]})
	if !links.Known(3) || links.Between(0, 2, 3) != core.LinkNVLink4.Near() || links.Between(0, 1, 3) != core.LinkSockets {
		t.Errorf("%q", links)
	}
}

func TestWhatIsNoTopology(t *testing.T) {
	good := topology(t, "pcie-nv4.txt")
	for name, text := range map[string]string{
		"nothing": "", "an error": "Failed to query topology\n", "another word": strings.Replace(good, "NV4", "FOO", 1),
		"no such number": strings.Replace(good, "NV4", "NV0", 1), "cut off": good[:len(good)/8], "one missing": strings.Replace(good, "GPU7\t", "GPU9\t", 2),
	} {
		if got := parseLinks(text, eight()); got != "" {
			t.Errorf("%s: understood as %q", name, got)
		}
	}
}
