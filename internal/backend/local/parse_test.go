//go:build linux

package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBrokenDriver: GPUs that cannot be asked must not look like no GPUs.
func TestBrokenDriver(t *testing.T) {
	bin := t.TempDir()
	tool := func(script string) {
		if err := os.WriteFile(filepath.Join(bin, "nvidia-smi"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	p := open(t, Options{NodeName: "n1", Pool: "a100"})
	tool("echo 'NVIDIA-SMI has failed'; exit 9\n")
	nodes, err := p.Inventory(t.Context())
	if err != nil || len(nodes) != 1 {
		t.Fatalf("Inventory: %v, %v", nodes, err)
	}
	if n := nodes[0]; n.Ready || !strings.Contains(n.Message, "NVIDIA-SMI has failed") || n.ID != "n1" || n.Pool != "a100" {
		t.Errorf("%+v; want n1 in a100, not ready, with the tool's own words", n)
	}
	tool(`case "$*" in *index,uuid,name,memory.total*) echo "0, GPU-1, T4, 15360";; *) exit 1;; esac` + "\n")
	nodes, err = p.Inventory(t.Context())
	if err != nil || !nodes[0].Ready || len(nodes[0].Devices) != 1 || nodes[0].Devices[0].ID != "GPU-1" {
		t.Errorf("Inventory: %+v, %v; want the one GPU", nodes, err)
	}
}

func TestFakeGPUsAreNamedSo(t *testing.T) {
	p := open(t, Options{FakeGPUs: 3})
	nodes, err := p.Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range nodes[0].Devices {
		if !d.Fake || !d.Healthy || d.Index != i || !strings.HasPrefix(d.ID, "fake-") {
			t.Errorf("device %d: %+v", i, d)
		}
	}
	if len(nodes[0].Devices) != 3 {
		t.Errorf("%d devices, want 3", len(nodes[0].Devices))
	}
}

func TestNodeName(t *testing.T) {
	for in, want := range map[string]string{
		"gpu-01.example.org": "gpu-01.example.org", "Big_Iron": "big-iron", "-x-": "x", "ü": "localhost", "": "localhost",
	} {
		if got := nodeName(in); got != want {
			t.Errorf("nodeName(%q) = %q, want %q", in, got, want)
		}
	}
}
