//go:build linux

package local

import (
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/proc"
	"github.com/musterhq/muster/internal/core"
)

// usesOf looks at what tasks use: in their control groups, which count what has
// ended as well, and where those do not say, at their processes.
func usesOf(tasks []running, dirOf func(core.TaskID) string) map[core.TaskID]proc.Use {
	out := make(map[core.TaskID]proc.Use, len(tasks))
	var rest map[string]proc.Use // by task directory
	for _, t := range tasks {
		cpu, counted := t.group.CPUTime()
		memory, known := t.group.MemoryHeld()
		if !counted || !known {
			if rest == nil {
				rest = proc.UsedByTask()
			}
			u := rest[dirOf(t.ID)]
			if !counted {
				cpu = u.CPU
			}
			if !known {
				memory = u.Memory
			}
		}
		out[t.ID] = proc.Use{CPU: cpu, Memory: memory}
	}
	return out
}

// machine is what the whole machine uses.
func (s *sampler) machine(node core.NodeID, now time.Time) backend.NodeSample {
	out := backend.NodeSample{Node: node, CPU: backend.Unknown, Memory: backend.Unknown}
	if busy, ok := proc.Busy("/proc/stat"); ok {
		if !s.node.at.IsZero() {
			out.CPU = max(rate(s.node, usedAt{now, busy}), 0)
		}
		s.node = usedAt{now, busy}
	}
	total, err := proc.Memory("/proc/meminfo", "MemTotal")
	if free, ferr := proc.Memory("/proc/meminfo", "MemAvailable"); err == nil && ferr == nil {
		out.Memory = float64(total - free)
	}
	return out
}
