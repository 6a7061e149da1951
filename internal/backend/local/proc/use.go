//go:build linux

package proc

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// clockTick is the length of the ticks in /proc/PID/stat: USER_HZ is 100 on
// every architecture that Go runs on.
const clockTick = 10 * time.Millisecond

// Use is what a task has used of the processors so far, and uses of the memory,
// in bytes.
type Use struct {
	CPU    time.Duration
	Memory int64
}

// UsedByTask is what all living processes use by the task that their environment
// names, with the processor time of children that they have waited for. Memory
// that processes share is counted once.
func UsedByTask() map[string]Use {
	all, shared := map[string]Use{}, map[string]int64{}
	for _, pr := range All() {
		if pr.Dir == "" {
			continue
		}
		at := filepath.Join("/proc", strconv.Itoa(pr.PID))
		u := all[pr.Dir]
		u.CPU += processorTime(at)
		own, common := residentMemory(at)
		u.Memory += own
		shared[pr.Dir] = max(shared[pr.Dir], common)
		all[pr.Dir] = u
	}
	for dir, n := range shared {
		u := all[dir]
		u.Memory += n
		all[dir] = u
	}
	return all
}

func processorTime(at string) (sum time.Duration) {
	data, err := os.ReadFile(at + "/stat")
	if err != nil {
		return 0
	}
	f := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(f) < 15 {
		return 0
	}
	for _, text := range f[11:15] { // utime, stime, cutime, cstime
		ticks, _ := strconv.ParseInt(text, 10, 64)
		sum += time.Duration(ticks) * clockTick
	}
	return sum
}

// residentMemory is a process's own memory, and what it may share with others,
// in bytes.
func residentMemory(at string) (own, shared int64) {
	data, err := os.ReadFile(at + "/status")
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(data)) {
		key, rest, _ := strings.Cut(line, ":")
		kib := func() int64 {
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return n << 10
		}
		switch key {
		case "RssAnon":
			own = kib()
		case "RssShmem":
			shared = kib()
		}
	}
	return own, shared
}
