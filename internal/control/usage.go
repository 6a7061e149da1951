package control

import (
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
)

// usage is what is held of one node.
type usage struct {
	cpu, memory int64
	milli       map[string]int // by device ID, thousandths
	tasks       int
}

// holds reports whether t keeps its place: by phase, and for independent tasks
// only until each has ended, since the next may use its place.
func holds(w *core.Workload, t *core.Task) bool {
	return w.Phase.Held() && t.Node != "" && (t.State.Held() || w.Spec.Array == nil)
}

// charge adds (sign 1) or removes (sign -1) what a held task takes of its node.
func (e *Engine) charge(w *core.Workload, t *core.Task, sign int) {
	u := e.usage[t.Node]
	if u == nil {
		u = &usage{milli: map[string]int{}}
		e.usage[t.Node] = u
	}
	n := need(w)
	u.cpu += int64(sign) * n.CPU
	u.memory += int64(sign) * n.Memory
	u.tasks += sign
	for _, s := range t.Devices {
		u.milli[s.Device] += sign * s.Milli
		if u.milli[s.Device] == 0 {
			delete(u.milli, s.Device)
		}
	}
}

// need is what one task of w needs.
func need(w *core.Workload) schedule.Need {
	r := w.Spec.Resources
	n := schedule.Need{Devices: r.GPU.Count, Type: r.GPU.Type, CPU: r.CPU.Milli(), Memory: r.Memory.Units()}
	if n.Devices > 0 {
		n.Milli = 1000
	}
	return n
}

// heldUntil ends the time for which t is charged, which began with its
// placement: its own end where its place is free at once, else the instant at
// which the attempt gives everything back.
func heldUntil(w *core.Workload, t *core.Task, now time.Time) time.Time {
	if w.Spec.Array != nil && t.State.Ended() {
		return t.EndedAt
	}
	return now
}

// charged is the GPU time of the present attempt until now, in device-seconds.
func charged(w *core.Workload, tasks map[int]*core.Task, now time.Time) float64 {
	var sum float64
	for _, t := range tasks {
		milli := 0
		for _, s := range t.Devices {
			milli += s.Milli
		}
		if milli == 0 || t.PlacedAt.IsZero() {
			continue
		}
		sum += heldUntil(w, t, now).Sub(t.PlacedAt).Seconds() * float64(milli) / 1000
	}
	return sum
}

// GPUSeconds is the GPU time of w until now: of ended attempts and, while it
// holds devices, of the present one. In device-seconds.
func GPUSeconds(w *core.Workload, tasks []core.Task, now time.Time) float64 {
	if !w.Phase.Held() {
		return w.GPUSeconds
	}
	m := make(map[int]*core.Task, len(tasks))
	for i := range tasks {
		if tasks[i].ID.Attempt == w.Attempt {
			m[tasks[i].ID.Index] = &tasks[i]
		}
	}
	return w.GPUSeconds + charged(w, m, now)
}

// devicesHeld is how many thousandths of devices w holds at present.
func devicesHeld(w *core.Workload, tasks map[int]*core.Task) int64 {
	if w.Phase == lifecycle.None {
		return 0
	}
	var sum int64
	for _, t := range tasks {
		if holds(w, t) {
			for _, s := range t.Devices {
				sum += int64(s.Milli)
			}
		}
	}
	return sum
}
