//go:build linux

package local

import (
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
)

func TestSampleTellsBusyFromIdle(t *testing.T) {
	p := open(t, Options{FakeGPUs: 2})
	device := func(i int) []core.Share {
		return []core.Share{{Device: fakePrefix + string(rune('0'+i)), Index: i, Milli: 1000}}
	}
	busy, idle, none := shellTask("busy", 0, "while :; do :; done"), shellTask("idle", 0, "exec sleep 100000"), shellTask("none", 0, "exec sleep 100000")
	busy.Devices, idle.Devices = device(0), device(1)
	start(t, p, busy)
	start(t, p, idle)
	start(t, p, none)
	sample := func() map[core.TaskID]float64 {
		all, err := p.Sample(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m := map[core.TaskID]float64{}
		for _, s := range all {
			m[s.Task] = s.Busy
		}
		return m
	}
	if first := sample(); len(first) != 0 {
		t.Errorf("the first look says %v; there is nothing to compare with", first)
	}
	until(t, "the busy one is busy and the idle one idle", func() bool {
		time.Sleep(300 * time.Millisecond)
		m := sample()
		rest, known := m[idle.ID]
		return m[busy.ID] > 0 && known && rest == 0 && len(m) == 2
	})
}

func TestParseUtilization(t *testing.T) {
	got, err := parseUtilization("GPU-a, 37\nGPU-b, 0\nGPU-c, [N/A]\n")
	if err != nil || got["GPU-a"] != 0.37 || got["GPU-b"] != 0 || got["GPU-c"] != 1 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := parseUtilization("GPU-a\n"); err == nil {
		t.Error("a line without a number was taken")
	}
}
