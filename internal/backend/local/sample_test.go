//go:build linux

package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/gpu"
	"github.com/musterhq/muster/internal/core"
)

func shares(ids ...string) []core.Share {
	var all []core.Share
	for i, id := range ids {
		all = append(all, core.Share{Device: id, Index: i, Milli: 1000})
	}
	return all
}

// look samples, and returns what was seen by task and by device.
func look(t *testing.T, p *Backend) (backend.Reading, map[core.TaskID]backend.Sample, map[string]backend.DeviceSample) {
	t.Helper()
	r, err := p.Sample(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tasks, devices := map[core.TaskID]backend.Sample{}, map[string]backend.DeviceSample{}
	for _, s := range r.Tasks {
		tasks[s.Task] = s
	}
	for _, d := range r.Devices {
		devices[d.Device] = d
	}
	return r, tasks, devices
}

func TestSampleTellsBusyFromIdle(t *testing.T) {
	p := open(t, Options{FakeGPUs: 2})
	busy, idle, none := shellTask("busy", 0, "while :; do :; done"), shellTask("idle", 0, "exec sleep 100000"), shellTask("none", 0, "exec sleep 100000")
	busy.Devices, idle.Devices = shares(gpu.FakePrefix+"0"), shares(gpu.FakePrefix+"1")
	start(t, p, busy, idle, none)
	_, first, _ := look(t, p)
	for id, s := range first {
		if s.Busy != backend.Unknown || s.CPU != backend.Unknown {
			t.Errorf("the first look says of %s %+v; there is nothing to compare with", id, s)
		}
	}
	until(t, "the busy one is busy and the idle one idle", func() bool {
		time.Sleep(300 * time.Millisecond)
		_, m, d := look(t, p)
		rest, known := m[idle.ID]
		return m[busy.ID].Busy > 0 && m[busy.ID].CPU > 0.01 && known && rest.Busy == 0 && m[none.ID].Busy == backend.Unknown && len(m) == 3 &&
			d[gpu.FakePrefix+"0"].Busy > 0 && d[gpu.FakePrefix+"1"].Busy == 0 && d[gpu.FakePrefix+"0"].Power == backend.Unknown
	})
}

func TestSampleCountsTheWholeTree(t *testing.T) {
	p := open(t, Options{})
	// The work is done by a grandchild, and so is the memory held.
	task := shellTask("tree", 0, `sh -c 'x=$(head -c 30000000 /dev/zero | tr "\0" x); while :; do :; done' & wait`)
	start(t, p, task)
	until(t, "its cores and its memory are seen", func() bool {
		time.Sleep(200 * time.Millisecond)
		r, m, _ := look(t, p)
		s := m[task.ID]
		return s.CPU > 0.01 && s.Memory > 25e6 && s.Memory < 2e9 && len(r.Nodes) == 1 && r.Nodes[0].CPU >= 0 && r.Nodes[0].Memory > s.Memory/2
	})
}

// fakeTool puts an nvidia-smi into the path that says what the file beside it
// holds, and notes how often it was asked.
func fakeTool(t *testing.T) (says, asked string) {
	t.Helper()
	dir := t.TempDir()
	says, asked = filepath.Join(dir, "says"), filepath.Join(dir, "asked")
	script := "#!/bin/sh\necho \"$@\" >> " + asked + "\n[ -f " + says + " ] || { echo 'driver not loaded' >&2; exit 9; }\ncat " + says + "\n"
	if err := os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return says, asked
}

func TestSampleAsksRealGPUs(t *testing.T) {
	says, asked := fakeTool(t)
	p := open(t, Options{})
	work := shellTask("work", 0, "exec sleep 100000")
	work.Devices = shares("GPU-a", "GPU-b")
	start(t, p, work)
	r, m, _ := look(t, p)
	if len(r.Missing) != 1 || !strings.Contains(r.Missing[0], "driver not loaded") || m[work.ID].Busy != backend.Unknown {
		t.Errorf("a tool that fails: %v, busy %v", r.Missing, m[work.ID].Busy)
	}
	if err := os.WriteFile(says, []byte("GPU-a, 0, 1024, 81559, 71.52, 31\nGPU-b, 37, 40960, 81559, 512.10, 64\nGPU-c, 0, 0, 81559, 70, 30\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, m, d := look(t, p)
	if m[work.ID].Busy != 0.37 {
		t.Errorf("the busiest of its devices is at %v, want 0.37", m[work.ID].Busy)
	}
	want := backend.DeviceSample{Node: p.node(), Device: "GPU-b", Busy: 0.37, MemoryUsed: 40960 << 20, MemoryTotal: 81559 << 20, Power: 512.1, Temperature: 64}
	if len(d) != 3 || d["GPU-b"] != want {
		t.Errorf("devices %+v, want three, and GPU-b %+v", d, want)
	}
	if err := p.Stop(t.Context(), []core.TaskID{work.ID}, 0); err != nil {
		t.Fatal(err)
	}
	until(t, "it has ended", func() bool { return observe(t, p, work.ID).State.Ended() })
	before, _ := os.ReadFile(asked)
	for range 5 {
		look(t, p)
	}
	if after, _ := os.ReadFile(asked); len(after) > len(before) {
		t.Error("GPUs that nobody holds are asked at every look")
	}
}
