//go:build linux

package gpu

import (
	"context"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
)

// gpuFields are asked of every GPU, in this order.
const gpuFields = "uuid,utilization.gpu,memory.used,memory.total,power.draw,temperature.gpu"

// Usage asks the driver's own tool how each GPU fares; a machine without it
// has none.
func Usage(ctx context.Context, node core.NodeID) (map[string]backend.DeviceSample, error) {
	out, err := queryGPUs(ctx, gpuFields)
	if err != nil || out == "" {
		return nil, err
	}
	return parseGPUs(out, node)
}

// parseGPUs reads the tool's lines. What a GPU does not say, such as [N/A] of
// one whose memory is the machine's, is Unknown.
func parseGPUs(text string, node core.NodeID) (map[string]backend.DeviceSample, error) {
	r := csv.NewReader(strings.NewReader(text))
	r.TrimLeadingSpace = true
	r.FieldsPerRecord = strings.Count(gpuFields, ",") + 1
	rows, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("nvidia-smi: lines are not %s: %w", gpuFields, err)
	}
	all := make(map[string]backend.DeviceSample, len(rows))
	for _, row := range rows {
		id := strings.TrimSpace(row[0])
		all[id] = backend.DeviceSample{
			Node: node, Device: id, Busy: figure(row[1], 0.01), MemoryUsed: figure(row[2], 1<<20), MemoryTotal: figure(row[3], 1<<20),
			Power: figure(row[4], 1), Temperature: figure(row[5], 1),
		}
	}
	return all, nil
}

// figure is a number times unit, or Unknown.
func figure(text string, unit float64) float64 {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(v >= 0) || v > 1e15 {
		return backend.Unknown
	}
	return v * unit
}
