//go:build linux

package cgroup

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestParseQuota(t *testing.T) {
	for text, want := range map[string]int64{
		"max 100000\n": 0, "150000 100000\n": 1500, "50000 100000": 500, "1 1000000": 1, "": 0, "x y": 0, "-1 100000": 0,
	} {
		if got, ok := parseQuota(text); got != want || ok != (want > 0) {
			t.Errorf("parseQuota(%q) = %d, %v; want %d", text, got, ok, want)
		}
	}
}

func TestGroupsAreRead(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"cpu.stat": "usage_usec 2500000\nuser_usec 1\n", "memory.current": "1000000\n", "memory.stat": "anon 5\ninactive_file 400000\n",
		"memory.usage_in_bytes": "900000\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	both := Group{V2: dir, Second: t.TempDir()}
	if cpu, ok := both.CPUTime(); !ok || cpu != 2500*time.Millisecond {
		t.Errorf("cpu %v, %v", cpu, ok)
	}
	if m, ok := both.MemoryHeld(); !ok || m != 600000 {
		t.Errorf("memory %v, %v", m, ok)
	}
	if m, ok := (Group{V2: t.TempDir(), V1: []string{t.TempDir(), dir}}).MemoryHeld(); !ok || m != 900000 {
		t.Errorf("memory of version 1: %v, %v", m, ok)
	}
	if _, ok := (Group{}).CPUTime(); ok {
		t.Error("no group counts")
	}
}
