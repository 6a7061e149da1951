package launch

import (
	"strconv"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
)

// part is what a task has of each of its devices: what it is promised, and up
// to what it may go while others leave it unused.
type part struct {
	milli, limit        int   // thousandths
	memory, memoryLimit int64 // bytes; 0: unknown
}

// partOf is t's part of its devices; false where it has whole ones or none.
func (s *Server) partOf(t *core.Task, asked spec.GPU) (part, bool) {
	if len(t.Devices) == 0 || t.Devices[0].Milli >= 1000 {
		return part{}, false
	}
	p := part{milli: t.Devices[0].Milli}
	var all int64 // of the first device; those of one node that serve a part are alike
	for _, d := range s.Nodes[t.Node].Devices {
		if d.ID == t.Devices[0].Device {
			all = d.Memory
		}
	}
	p.limit = max(asked.LimitMilli(all), p.milli)
	if asked.Kind() == spec.MemoryGPU {
		p.memory, p.memoryLimit = asked.Memory.Units(), max(asked.Memory, asked.MemoryLimit).Units()
		if all > 0 {
			p.memoryLimit = max(min(p.memoryLimit, all), p.memory)
		}
		return p, true
	}
	p.memory, p.memoryLimit = all/1000*int64(p.milli), all/1000*int64(p.limit)
	if p.limit >= 1000 {
		p.memoryLimit = all
	}
	return p, true
}

// environment tells the task what it has, as it is of each device.
func (p part) environment() []string {
	env := []string{
		"MUSTER_GPU_SHARE=" + spec.Share(p.milli).String(),
		"MUSTER_GPU_SHARE_LIMIT=" + spec.Share(p.limit).String(),
	}
	if p.memory > 0 {
		env = append(env, "MUSTER_GPU_MEMORY="+strconv.FormatInt(p.memory, 10), "MUSTER_GPU_MEMORY_LIMIT="+strconv.FormatInt(p.memoryLimit, 10))
	}
	return env
}
