//go:build linux

package local

import (
	"context"
	"os"
	"runtime"
	"strings"

	"github.com/musterhq/muster/internal/backend/local/cgroup"
	"github.com/musterhq/muster/internal/backend/local/gpu"
	"github.com/musterhq/muster/internal/backend/local/proc"
	"github.com/musterhq/muster/internal/core"
)

// reservedAtMax is kept of the machine's memory for everything but tasks.
const reservedAtMax = 1 << 30

// memoryOfFakeCPU is the memory that comes with each CPU that is pretended, in bytes.
const memoryOfFakeCPU = 8 << 30

// Inventory implements backend.Backend: this machine is the one node. A GPU tool
// that fails makes the node unready rather than make its GPUs vanish.
func (p *Backend) Inventory(ctx context.Context) ([]core.Node, error) {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "localhost"
	}
	memory, err := proc.Memory("/proc/meminfo", "MemTotal")
	if err != nil {
		return nil, err
	}
	n := core.Node{
		ID: p.node(), Backend: BackendName, Pool: p.opts.Pool, Ready: true,
		Labels: map[string]string{"os": runtime.GOOS, "arch": runtime.GOARCH, "hostname": host},
		CPU:    int64(float64(runtime.NumCPU()) * 1000),
		Memory: memory - min(memory/10, reservedAtMax),
	}
	if quota, ok := cgroup.CPUQuota(); ok {
		n.CPU = min(n.CPU, quota)
	}
	if fake := int64(p.opts.FakeCPUs); fake > 0 {
		n.CPU, n.Memory = fake*1000, fake*memoryOfFakeCPU
	}
	if p.opts.FakeGPUs > 0 {
		n.Devices = gpu.Fake(p.opts.FakeGPUs)
		return []core.Node{n}, nil
	}
	n.Devices, err = gpu.List(ctx)
	if err != nil {
		n.Ready, n.Message = false, err.Error()
	}
	n.Links = gpu.Links(ctx, n.Devices)
	return []core.Node{n}, nil
}

// nodeName keeps what a node's name may have: letters, digits, '.' and '-'.
func nodeName(host string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '.':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, host)
	if name = strings.Trim(name, "-."); name == "" {
		return "localhost"
	}
	return name
}
