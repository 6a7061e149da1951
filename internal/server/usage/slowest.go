package usage

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/timeseries"
)

// A rank counts as behind when its GPUs do so much less than the median's: ranks
// that wait for another spin at full use, the one that they wait for does not.
const (
	behindGPU = 0.10
	behindCPU = 0.5 // of the median, where there are no GPUs
)

// slowest is the task that does least of those that run; nil: there are not two
// of which that is known.
func (s *routes) slowest(tasks []core.Task) *api.Slowest {
	type row struct {
		t     *core.Task
		value float64
	}
	metric, now := control.CPUCores, s.Clock()
	if slices.ContainsFunc(tasks, func(t core.Task) bool { return len(t.Devices) > 0 && t.State == core.TaskRunning }) {
		metric = control.GPUBusy
	}
	var rows []row
	for i := range tasks {
		t := &tasks[i]
		if t.State != core.TaskRunning || t.Leaving || metric == control.GPUBusy && len(t.Devices) == 0 {
			continue
		}
		if v := s.lately(t, metric, now); !math.IsNaN(v) {
			rows = append(rows, row{t, v})
		}
	}
	if len(rows) < 2 {
		return nil
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		if a.value != b.value {
			return int(math.Copysign(1, a.value-b.value))
		}
		return a.t.ID.Index - b.t.ID.Index
	})
	least, median := rows[0], rows[len(rows)/2].value
	out := &api.Slowest{Task: least.t.ID.Index, Role: least.t.Role, Node: string(least.t.Node), Metric: metric, Value: least.value, Median: median}
	if metric == control.GPUBusy {
		out.Behind = median-least.value > behindGPU
		out.Message = fmt.Sprintf("the GPUs of %s %d on %s are at %.0f %%, the median at %.0f %%", out.Role, out.Task, out.Node, 100*out.Value, 100*median)
	} else {
		out.Behind = median > 0.1 && least.value < behindCPU*median
		out.Message = fmt.Sprintf("%s %d on %s uses %.1f cores, the median %.1f", out.Role, out.Task, out.Node, out.Value, median)
	}
	return out
}

// lately is the mean of a metric of a task over the last minutes, over all its
// devices where it is about these.
func (s *routes) lately(t *core.Task, metric string, now time.Time) float64 {
	store := s.Control.Series()
	from := now.Add(-slowOver)
	if t.StartedAt.After(from) {
		from = t.StartedAt
	}
	r := store.Range(from, now, time.Second, now)
	keys := []timeseries.Key{{Of: control.SeriesOfTask(t.ID), Metric: metric}}
	if metric == control.GPUBusy {
		keys = keys[:0]
		for _, d := range t.Devices {
			keys = append(keys, timeseries.Key{Of: control.SeriesOfDevice(t.Node, d.Device), Metric: metric})
		}
	}
	sum, n := 0.0, 0
	for _, k := range keys {
		for _, v := range store.Query(k, r) {
			if !math.IsNaN(v) {
				sum, n = sum+v, n+1
			}
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return math.Round(sum/float64(n)*1e6) / 1e6
}
