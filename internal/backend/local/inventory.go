//go:build linux

package local

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/backend/local/cgroup"
	"github.com/musterhq/muster/internal/backend/local/proc"
	"github.com/musterhq/muster/internal/core"
)

const (
	fakePrefix    = "fake-"
	fakeMemory    = 80 << 30
	reservedAtMax = 1 << 30 // of the machine's memory, for everything but tasks
	gpuTimeout    = 20 * time.Second
)

// Inventory implements backend.Plane: this machine is the one node. A GPU tool
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
	if p.opts.FakeGPUs > 0 {
		n.Devices = fakeDevices(p.opts.FakeGPUs)
		return []core.Node{n}, nil
	}
	n.Devices, err = realDevices(ctx)
	if err != nil {
		n.Ready, n.Message = false, err.Error()
	}
	n.Links = deviceLinks(ctx, n.Devices)
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

func fakeDevices(n int) []core.Device {
	all := make([]core.Device, n)
	for i := range all {
		all[i] = core.Device{
			ID: fakePrefix + strconv.Itoa(i), Index: i, Product: "Fake GPU", Memory: fakeMemory, Fake: true, Healthy: true,
		}
	}
	return all
}

// realDevices asks the driver's own tool; a machine without it has no GPUs.
func realDevices(ctx context.Context) ([]core.Device, error) {
	out, err := queryGPUs(ctx, "index,uuid,name,memory.total")
	if err != nil {
		return nil, fmt.Errorf("the GPUs cannot be listed: %w", err)
	}
	if out == "" {
		return nil, nil
	}
	return parseDevices(out)
}

// queryGPUs is what the driver's own tool says of fields of each GPU, in lines
// of CSV; empty: this machine does not have it.
func queryGPUs(ctx context.Context, fields string) (string, error) {
	return smi(ctx, "--query-gpu="+fields, "--format=csv,noheader,nounits")
}

// smi is what the driver's own tool says; empty: this machine does not have it.
func smi(ctx context.Context, args ...string) (string, error) {
	tool, err := exec.LookPath("nvidia-smi")
	if err != nil {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, gpuTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, tool, args...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		said := strings.TrimSpace(string(out))
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			said = strings.TrimSpace(said + " " + string(exit.Stderr))
		}
		return "", fmt.Errorf("%s: %w: %.300s", tool, err, said)
	}
	return string(out), nil
}

func parseDevices(text string) ([]core.Device, error) {
	r := csv.NewReader(strings.NewReader(text))
	r.TrimLeadingSpace = true
	r.FieldsPerRecord = 4
	rows, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("nvidia-smi: lines are not index, uuid, name, memory: %w", err)
	}
	all := make([]core.Device, 0, len(rows))
	for _, row := range rows {
		index, err := strconv.Atoi(strings.TrimSpace(row[0]))
		if err != nil {
			return nil, fmt.Errorf("nvidia-smi: GPU index %q is not a number", row[0])
		}
		mib, err := strconv.ParseInt(strings.TrimSpace(row[3]), 10, 64)
		if err != nil {
			mib = 0 // machines with one memory for CPU and GPU say [N/A]
		}
		all = append(all, core.Device{
			ID: strings.TrimSpace(row[1]), Index: index, Product: strings.TrimSpace(row[2]), Memory: mib << 20, Healthy: true,
		})
	}
	return all, nil
}
