//go:build linux

// Package gpu knows the GPUs of this machine: which there are, how close they are
// to one another, how busy, and what a process or a container needs to use some.
//
// What it knows it has from the driver's own tool (nvidia-smi), from CDI
// descriptions and from MPS. It is given assignments and starts nothing but that
// tool. Pretended GPUs are its own, too.
package gpu

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
)

// FakePrefix begins the name of every GPU that is pretended.
const FakePrefix = "fake-"

const fakeMemory = 80 << 30

const gpuTimeout = 20 * time.Second

// Fake pretends that there are n GPUs.
func Fake(n int) []core.Device {
	all := make([]core.Device, n)
	for i := range all {
		all[i] = core.Device{
			ID: FakePrefix + strconv.Itoa(i), Index: i, Product: "Fake GPU", Memory: fakeMemory, Fake: true, Healthy: true,
		}
	}
	return all
}

// List asks the driver's own tool; a machine without it has no GPUs.
func List(ctx context.Context) ([]core.Device, error) {
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
		output := strings.TrimSpace(string(out))
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			output = strings.TrimSpace(output + " " + string(exit.Stderr))
		}
		return "", fmt.Errorf("%s: %w: %.300s", tool, err, output)
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

// Visible names real devices by UUID, which stays right whatever order
// the driver counts in, and fake ones by index. None: empty, which hides all.
func Visible(a backend.Assignment) string {
	names := make([]string, len(a.Devices))
	for i, d := range a.Devices {
		names[i] = d.Device
		if d.Device == "" || strings.HasPrefix(d.Device, FakePrefix) {
			names[i] = strconv.Itoa(d.Index)
		}
	}
	return strings.Join(names, ",")
}
