package sim

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/workload"
	"github.com/musterhq/muster/internal/store"
)

// deviceMemory is what every device of package fake has, in bytes.
const deviceMemory = 80 << 30

// hold is the time for which one task has its place, and what it takes there:
// what its document said when it was placed.
type hold struct {
	from, to time.Time // to: zero while it lasts
	node     core.NodeID
	cpu      int64
	memory   int64
	adapters int64
	devices  []core.Share
}

// seconds is how long it has lasted by now; a clock that was set back takes
// nothing back.
func (h *hold) seconds(now time.Time) float64 {
	if !h.to.IsZero() {
		now = h.to
	}
	return max(now.Sub(h.from), 0).Seconds()
}

// account (I1, I6) keeps the timeline of every device, and compares with what
// the workload is charged.
func (o *watch) account(c draft.Change) error {
	w, now := c.Workload, o.w.clock()
	all, err := o.w.memory.Tasks(context.Background(), w.ID, -1)
	if err != nil {
		return err
	}
	for i := range all {
		t := &all[i]
		h := o.holds[t.ID]
		if h == nil {
			needs := w.Spec.Needs(t.ID.Index)
			h = &hold{from: now, node: t.Node, cpu: needs.CPU.Milli(), memory: needs.Memory.Units(), adapters: int64(needs.Extended[adapter]), devices: t.Devices}
			if !t.PlacedAt.Equal(now) {
				return fmt.Errorf("I6: task %s says that it was placed at %v, at %v", t.ID, t.PlacedAt, now)
			}
			if err := o.given(t, needs.GPU); err != nil {
				return err
			}
			o.holds[t.ID] = h
			o.take(h, 1)
		}
		if !h.to.IsZero() {
			continue
		}
		if err := o.released(w, t, h, now); err != nil {
			return err
		}
	}
	return o.charged(w, all, now)
}

// given (I1): a task has as much of as many devices as it asked for.
func (o *watch) given(t *core.Task, asked spec.GPU) error {
	if len(t.Devices) != asked.Devices() {
		return fmt.Errorf("I1: task %s got %d devices and needs %d", t.ID, len(t.Devices), asked.Devices())
	}
	for _, s := range t.Devices {
		want := asked.Milli()
		if asked.Kind() == spec.MemoryGPU { // rounded down, so that n equal parts fit n times
			want = int(asked.Memory.Units() * 1000 / deviceMemory)
		}
		if s.Milli != want {
			return fmt.Errorf("I1: task %s got %d/1000 of device %s and asked for %d", t.ID, s.Milli, s.Device, want)
		}
	}
	return nil
}

// released notes when a task gives its place back: with its workload, but an
// independent task, and a replica that is not wanted any more, by itself.
func (o *watch) released(w *core.Workload, t *core.Task, h *hold, now time.Time) error {
	early := w.Spec.Array != nil || t.Leaving
	switch was := o.before[t.ID]; {
	case early && t.State.Ended() && was.State.Ended():
		h.to = now // it had ended, and kept its place to be restarted there
	case early && t.State.Ended():
		if t.EndedAt.Before(h.from) || t.EndedAt.After(now) && !t.EndedAt.Equal(h.from) {
			return fmt.Errorf("I6: task %s ended at %v, outside %v to %v", t.ID, t.EndedAt, h.from, now)
		}
		h.to = t.EndedAt
		if t.ReleasedAt.Equal(now) { // it was to be restarted, and in the same commit was not wanted any more
			h.to = now
		}
	case t.ID.Attempt == w.Attempt && w.Phase.Held():
		return nil
	default:
		h.to = now
	}
	if h.to.Before(h.from) {
		h.to = h.from
	}
	o.take(h, -1)
	return nil
}

func (o *watch) take(h *hold, sign int) {
	for _, s := range h.devices {
		o.use[s.Device] += sign * s.Milli
	}
}

// charged (I6): the GPU time of a workload is what its devices' timelines say.
func (o *watch) charged(w *core.Workload, tasks []core.Task, now time.Time) error {
	want := o.timeline(tasks, now)
	if have := workload.GPUSeconds(w, tasks, now); math.Abs(have-want) > tolerance(tasks) {
		return fmt.Errorf("I6: it is charged %.6f GPU seconds in %s, its devices were held for %.6f", have, w.Phase, want)
	}
	return nil
}

// tolerance is what rounding may make of seconds.
func tolerance(tasks []core.Task) float64 { return 0.001 * float64(len(tasks)+1) }

func (o *watch) timeline(tasks []core.Task, now time.Time) float64 {
	var sum float64
	for i := range tasks {
		h := o.holds[tasks[i].ID]
		for _, s := range h.devices {
			sum += h.seconds(now) * float64(s.Milli) / 1000
		}
	}
	return sum
}

// reported (I6): what a report of use adds up to is the same.
func (o *watch) reported() error {
	now := o.w.clock()
	sums := map[core.WorkloadID]float64{}
	err := o.w.memory.Uses(context.Background(), store.UseQuery{Now: now}, func(u core.Use) bool {
		sums[u.Workload] += u.GPUSeconds
		return true
	})
	if err != nil {
		return err
	}
	for id := range o.states {
		tasks, err := o.w.memory.Tasks(context.Background(), id, -1)
		if err != nil {
			return err
		}
		if want := o.timeline(tasks, now); math.Abs(sums[id]-want) > tolerance(tasks) {
			return fmt.Errorf("I6: the report says %.6f GPU seconds of workload %s, its devices were held for %.6f", sums[id], id, want)
		}
	}
	return nil
}

// capacity (I1): no node gives more than it has.
func (o *watch) capacity() error {
	type sum struct{ cpu, memory, adapters int64 }
	used := map[core.NodeID]sum{}
	for _, h := range o.holds {
		if h.to.IsZero() {
			u := used[h.node]
			used[h.node] = sum{u.cpu + h.cpu, u.memory + h.memory, u.adapters + h.adapters}
		}
	}
	for _, l := range o.w.links {
		nodes, err := l.backend.Inventory(context.Background())
		if err != nil {
			return err
		}
		for _, n := range nodes {
			if u := used[n.ID]; u.cpu > n.CPU || u.memory > n.Memory || u.adapters > int64(n.Extra[adapter]) {
				return fmt.Errorf("I1: node %s gives %d/%d mCPU, %d/%d bytes and %d/%d adapters", n.ID, u.cpu, n.CPU, u.memory, n.Memory, u.adapters, n.Extra[adapter])
			}
			for _, d := range n.Devices {
				if o.use[d.ID] > 1000 {
					return fmt.Errorf("I1: device %s gives %d/1000", d.ID, o.use[d.ID])
				}
			}
		}
	}
	return nil
}
