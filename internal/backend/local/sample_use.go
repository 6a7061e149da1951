//go:build linux

package local

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
)

// clockTick is the length of the ticks in /proc/PID/stat: USER_HZ is 100 on
// every architecture that Go runs on.
const clockTick = 10 * time.Millisecond

// use is what a task has used of the processors so far, and uses of the memory,
// in bytes.
type use struct {
	cpu    time.Duration
	memory int64
}

// usesOf looks at what tasks use: in their control groups, which count what has
// ended as well, and where those do not say, at their processes.
func usesOf(tasks []running, dirOf func(core.TaskID) string) map[core.TaskID]use {
	out := make(map[core.TaskID]use, len(tasks))
	var rest map[string]use // by task directory
	for _, t := range tasks {
		cpu, counted := t.group.cpu()
		memory, told := t.group.memory()
		if !counted || !told {
			if rest == nil {
				rest = usedByTask()
			}
			u := rest[dirOf(t.ID)]
			if !counted {
				cpu = u.cpu
			}
			if !told {
				memory = u.memory
			}
		}
		out[t.ID] = use{cpu, memory}
	}
	return out
}

// cpu is the processor time of everything that was ever in the v2 group; false:
// there is none.
func (t taskGroup) cpu() (time.Duration, bool) {
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

// memory is what the groups hold and cannot give back at once: without the file
// pages that nobody has used lately, as kubelets count.
func (t taskGroup) memory() (int64, bool) {
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

// usedByTask is what all living processes use by the task that their environment
// names, with the processor time of children that they have waited for. Memory
// that processes share is counted once.
func usedByTask() map[string]use {
	all, shared := map[string]use{}, map[string]int64{}
	for _, pr := range allProcesses() {
		if pr.dir == "" {
			continue
		}
		at := filepath.Join("/proc", strconv.Itoa(pr.pid))
		u := all[pr.dir]
		u.cpu += processorTime(at)
		own, common := residentMemory(at)
		u.memory += own
		shared[pr.dir] = max(shared[pr.dir], common)
		all[pr.dir] = u
	}
	for dir, n := range shared {
		u := all[dir]
		u.memory += n
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

// machine is what the whole machine uses.
func (s *sampler) machine(node core.NodeID, now time.Time) backend.NodeSample {
	out := backend.NodeSample{Node: node, CPU: backend.Unknown, Memory: backend.Unknown}
	if busy, ok := machineBusy("/proc/stat"); ok {
		if !s.node.at.IsZero() {
			out.CPU = max(rate(s.node, usedAt{now, busy}), 0)
		}
		s.node = usedAt{now, busy}
	}
	total, err := machineMemory("/proc/meminfo", "MemTotal")
	if free, ferr := machineMemory("/proc/meminfo", "MemAvailable"); err == nil && ferr == nil {
		out.Memory = float64(total - free)
	}
	return out
}

// machineBusy is how long all cores together have worked since the start.
func machineBusy(file string) (time.Duration, bool) {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	line, _, _ := strings.Cut(string(data), "\n")
	f := strings.Fields(line)
	if len(f) < 9 || f[0] != "cpu" {
		return 0, false
	}
	var sum time.Duration
	for i, text := range f[1:9] { // user nice system idle iowait irq softirq steal
		if i == 3 || i == 4 {
			continue
		}
		ticks, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0, false
		}
		sum += time.Duration(ticks) * clockTick
	}
	return sum, true
}
