package engine

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/spec"
)

// usage is what is held of one node.
type usage struct {
	cpu, memory int64
	milli       map[string]int // by device ID, thousandths
	counted     map[string]int // by name
	ports       map[int]int    // how many tasks have been given each
	tasks       int
}

// holds reports whether t keeps its place: by phase, and for independent tasks
// only until each has ended, since the next may use its place.
func holds(w *core.Workload, t *core.Task) bool {
	return w.Phase.Held() && t.Node != "" && (t.State.Held() || !freesEarly(w, t))
}

// freesEarly reports whether the place of t is free as soon as it has ended:
// that of an independent task, and of one that is not wanted any more.
func freesEarly(w *core.Workload, t *core.Task) bool {
	return w.Spec.Array != nil || w.Kind == lifecycle.External || t.Leaving
}

// charge adds (sign 1) or removes (sign -1) what a held task takes of its node.
func (e *Engine) charge(w *core.Workload, t *core.Task, sign int) {
	u := e.usage[t.Node]
	if u == nil {
		u = &usage{milli: map[string]int{}, counted: map[string]int{}, ports: map[int]int{}}
		e.usage[t.Node] = u
	}
	cpu, memory := taken(w, t)
	u.cpu += int64(sign) * cpu
	u.memory += int64(sign) * memory
	u.tasks += sign
	for _, p := range ports(w, t) {
		u.ports[p] += sign
		if u.ports[p] == 0 {
			delete(u.ports, p)
		}
	}
	if all := counted(w, t); all != "" {
		for part := range strings.SplitSeq(all, ",") {
			name, text, _ := strings.Cut(part, "=")
			n, _ := strconv.Atoi(text)
			if u.counted[name] += sign * n; u.counted[name] == 0 {
				delete(u.counted, name)
			}
		}
	}
	for _, s := range t.Devices {
		u.milli[s.Device] += sign * s.Milli
		if u.milli[s.Device] == 0 {
			delete(u.milli, s.Device)
		}
	}
}

// ports are those on which t was told to listen: its own, and of the first task
// of a gang the rendezvous.
func ports(w *core.Workload, t *core.Task) []int {
	var all []int
	if t.Port > 0 {
		all = append(all, t.Port)
	}
	if p := w.Attempts[len(w.Attempts)-1].Port; p > 0 && t.ID.Index == 0 {
		all = append(all, p)
	}
	return all
}

// taken is what t holds of its node beside devices. A task outlives the
// document that it was placed for where a service is updated.
func taken(w *core.Workload, t *core.Task) (cpu, memory int64) {
	if t.CPU != 0 || t.Memory != 0 || t.Claim != "" {
		return t.CPU, t.Memory
	}
	n := need(w, t.ID.Index) // nothing, or placed before tasks kept it
	return n.CPU, n.Memory
}

// counted is what t holds by count, partitions too, in the scheduler's words.
// What older documents asked for only the task itself can tell.
func counted(w *core.Workload, t *core.Task) string {
	if t.Counted != "" || t.Generation != w.Generation {
		return t.Counted
	}
	return need(w, t.ID.Index).MIG // nothing, or placed before tasks kept it
}

// milliOf is how many thousandths of devices t has, as quotas count them.
func milliOf(w *core.Workload, t *core.Task) int64 { return core.Milli(t.Devices, counted(w, t)) }

// countedOf is what a task needs by count: partitions, and what else there is.
func countedOf(mig spec.MIG, more map[string]int) string {
	if len(more) == 0 {
		return string(mig)
	}
	var parts []string
	for profile, k := range mig.All() {
		parts = append(parts, profile+"="+strconv.Itoa(k))
	}
	for name, k := range more {
		parts = append(parts, name+"="+strconv.Itoa(k))
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

// need is what the task of that index needs.
func need(w *core.Workload, index int) schedule.Need {
	r := w.Spec.Needs(index)
	g := r.GPU
	n := schedule.Need{Type: g.Type, CPU: r.CPU.Milli(), Memory: r.Memory.Units()}
	n.MIG = countedOf(g.MIG, r.Extended)
	switch g.Kind() {
	case spec.MemoryGPU:
		n.Devices, n.Share = g.Devices(), g.Memory.Units()
	case spec.WholeGPU, spec.ShareGPU:
		n.Devices, n.Milli = g.Devices(), g.Milli()
	}
	return n
}

// charged is the GPU time of tasks of the present attempt until now, each by its
// last run, in device-seconds.
func charged(w *core.Workload, tasks map[int]*core.Task, now time.Time) float64 {
	var sum float64
	for _, t := range tasks {
		sum += chargedTask(t, now)
	}
	return sum
}

// chargedTask is the GPU time of one run of a task until now.
func chargedTask(t *core.Task, now time.Time) float64 {
	milli := t.Milli()
	if milli == 0 || t.PlacedAt.IsZero() {
		return 0
	}
	until := t.ReleasedAt
	if until.IsZero() {
		until = now
	}
	// A clock that was set back never makes time that is paid back.
	return max(until.Sub(t.PlacedAt), 0).Seconds() * float64(milli) / 1000
}

// GPUSeconds is the GPU time of w until now: of ended attempts and, while it
// holds devices, of the present one, of which tasks are at least the last runs.
// In device-seconds.
func GPUSeconds(w *core.Workload, tasks []core.Task, now time.Time) float64 {
	if !w.Phase.Held() {
		return w.GPUSeconds
	}
	return w.GPUSeconds + charged(w, latest(tasks, w.Attempt), now)
}

// devicesHeld is how many thousandths of devices w holds at present.
func devicesHeld(w *core.Workload, tasks map[int]*core.Task) int64 {
	if w.Phase == lifecycle.None {
		return 0
	}
	var sum int64
	for _, t := range tasks {
		if holds(w, t) {
			sum += milliOf(w, t)
		}
	}
	return sum
}
