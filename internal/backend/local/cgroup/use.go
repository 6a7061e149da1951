//go:build linux

package cgroup

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// CPUTime is the processor time of everything that was ever in the v2 group; false:
// there is none.
func (t Group) CPUTime() (time.Duration, bool) {
	if t.V2 == "" {
		return 0, false
	}
	var sum time.Duration
	known := false
	for _, dir := range []string{t.V2, t.Second} {
		if us, ok := keyed(dir, "cpu.stat", "usage_usec"); ok {
			sum, known = sum+time.Duration(us)*time.Microsecond, true
		}
	}
	return sum, known
}

// MemoryHeld is what the groups hold and cannot give back at once: without the file
// pages that nobody has used lately, as kubelets count.
func (t Group) MemoryHeld() (int64, bool) {
	if held, ok := number(t.V2, "memory.current"); ok {
		idle, _ := keyed(t.V2, "memory.stat", "inactive_file")
		return max(held-idle, 0), true
	}
	for _, dir := range append([]string{t.Memory}, t.V1...) {
		if held, ok := number(dir, "memory.usage_in_bytes"); ok {
			idle, _ := keyed(dir, "memory.stat", "total_inactive_file")
			return max(held-idle, 0), true
		}
	}
	return 0, false
}

func number(dir, file string) (int64, bool) {
	if dir == "" {
		return 0, false
	}
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	return n, err == nil
}

// keyed reads one line, a key and a number, of a file of a group.
func keyed(dir, file, key string) (int64, bool) {
	if dir == "" {
		return 0, false
	}
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(data) {
		if rest, ok := bytes.CutPrefix(line, []byte(key+" ")); ok {
			n, err := strconv.ParseInt(string(bytes.TrimSpace(rest)), 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// CPUQuota is the limit of our own v2 group in thousandths of cores, where
// there is one: a container with two cores of a machine with 64.
func CPUQuota() (int64, bool) {
	mounts, err := Mounts()
	if err != nil {
		return 0, false
	}
	for _, m := range mounts {
		dir, ok := Below(m, Own()[""])
		if m.V1 != "" || !ok {
			continue
		}
		data, err := os.ReadFile(dir + "/cpu.max")
		if err != nil {
			return 0, false
		}
		return parseQuota(string(data))
	}
	return 0, false
}

func parseQuota(text string) (milli int64, ok bool) {
	f := strings.Fields(text)
	if len(f) != 2 || f[0] == "max" {
		return 0, false
	}
	quota, err1 := strconv.ParseInt(f[0], 10, 64)
	period, err2 := strconv.ParseInt(f[1], 10, 64)
	if err1 != nil || err2 != nil || quota <= 0 || period <= 0 || quota > math.MaxInt64/1000 {
		return 0, false
	}
	return max(quota*1000/period, 1), true
}
