//go:build linux

package local

import (
	"os"
	"path/filepath"
	"testing"
)

// TestInventoryHasLinks asks a tool that prints a topology, then one that cannot.
func TestInventoryHasLinks(t *testing.T) {
	bin := t.TempDir()
	file, err := filepath.Abs(filepath.Join("gpu", "testdata", "topology", "pcie-nv4.txt"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	p := open(t, Options{})
	for _, works := range []bool{true, false} {
		say := "cat '" + file + "'"
		if !works {
			say = "exit 3"
		}
		script := "#!/bin/sh\ncase \"$*\" in *index,uuid,name*) for i in 0 1 2 3 4 5 6 7; do echo \"$i, GPU-$i, L40S, 46068\"; done;; 'topo -m') " + say + ";; *) exit 1;; esac\n"
		if err := os.WriteFile(filepath.Join(bin, "nvidia-smi"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		nodes, err := p.Inventory(t.Context())
		if err != nil || len(nodes) != 1 || !nodes[0].Ready || len(nodes[0].Devices) != 8 {
			t.Fatalf("%+v, %v", nodes, err)
		}
		if got := nodes[0].Links.Known(8); got != works {
			t.Errorf("the tool works %v, the links are %q", works, nodes[0].Links)
		}
	}
}
