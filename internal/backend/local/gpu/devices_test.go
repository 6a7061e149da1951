//go:build linux

package gpu

import (
	"slices"
	"testing"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
)

func TestParseDevices(t *testing.T) {
	got, err := parseDevices("0, GPU-aa, NVIDIA H100 80GB HBM3, 81559\n1, GPU-bb, NVIDIA GB10, [N/A]\n")
	want := []core.Device{
		{ID: "GPU-aa", Index: 0, Product: "NVIDIA H100 80GB HBM3", Memory: 81559 << 20, Healthy: true},
		{ID: "GPU-bb", Index: 1, Product: "NVIDIA GB10", Healthy: true},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	if got, err := parseDevices(""); err != nil || len(got) != 0 {
		t.Errorf("no GPUs: %v, %v", got, err)
	}
	for _, bad := range []string{"No devices were found\n", "x, GPU-aa, A, 1\n"} {
		if _, err := parseDevices(bad); err == nil {
			t.Errorf("%q was understood", bad)
		}
	}
}

func TestParseGPUs(t *testing.T) {
	got, err := parseGPUs("GPU-a, 37, 10, 100, 250.5, 61\nGPU-c, [N/A], [N/A], [N/A], [Not Supported], 40\n", "n")
	a, c := got["GPU-a"], got["GPU-c"]
	if err != nil || a.Busy != 0.37 || a.MemoryUsed != 10<<20 || a.MemoryTotal != 100<<20 || a.Power != 250.5 || a.Temperature != 61 {
		t.Errorf("%+v, %v", a, err)
	}
	if c.Busy != backend.Unknown || c.MemoryUsed != backend.Unknown || c.Power != backend.Unknown || c.Temperature != 40 {
		t.Errorf("what is not said: %+v", c)
	}
	if _, err := parseGPUs("GPU-a\n", "n"); err == nil {
		t.Error("a line without numbers was taken")
	}
}
