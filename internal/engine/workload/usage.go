package workload

import (
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/spec"
)

// HoldsAny reports whether any task of w has a place: from its placement until
// it has ended.
func HoldsAny(w *core.Workload, tasks *Tasks) bool {
	if !w.Phase.Held() {
		return false
	}
	for _, t := range tasks.Open() {
		if Holds(w, t) {
			return true
		}
	}
	return false
}

// Holds reports whether t keeps its place: by phase, and for independent tasks
// only until each has ended, since the next may use its place.
func Holds(w *core.Workload, t *core.Task) bool {
	return t.Node != "" && (t.State.Held() || !FreesEarly(w, t)) && w.Phase.Held()
}

// FreesEarly reports whether the place of t is free as soon as it has ended:
// that of an independent task, and of one that is not wanted any more.
func FreesEarly(w *core.Workload, t *core.Task) bool {
	return w.Spec.Array != nil || w.Kind.Foreign() || t.Leaving
}

// Ports are those on which t was told to listen: its own, and of the first task
// of a gang the rendezvous.
func Ports(w *core.Workload, t *core.Task) []int {
	var all []int
	if t.Port > 0 {
		all = append(all, t.Port)
	}
	if p := w.Attempts[len(w.Attempts)-1].Port; p > 0 && t.ID.Index == 0 {
		all = append(all, p)
	}
	return all
}

// Taken is what t holds of its node beside devices. A task outlives the
// document that it was placed for where a service is updated.
func Taken(w *core.Workload, t *core.Task) (cpu, memory int64) {
	if t.CPU != 0 || t.Memory != 0 || t.Claim != "" {
		return t.CPU, t.Memory
	}
	n := Need(w, t.ID.Index) // nothing, or placed before tasks kept it
	return n.CPU, n.Memory
}

// Counted is what t holds by count, partitions too, in the scheduler's words.
// What older documents asked for only the task itself can tell.
func Counted(w *core.Workload, t *core.Task) string {
	if t.Counted != "" || t.Generation != w.Generation {
		return t.Counted
	}
	return Need(w, t.ID.Index).Extended // nothing, or placed before tasks kept it
}

// MilliOf is how many thousandths of devices t has, as quotas count them.
func MilliOf(w *core.Workload, t *core.Task) int64 { return core.Milli(t.Devices, Counted(w, t)) }

// CountedOf is what a task needs by count: partitions, and what else there is.
func CountedOf(mig spec.MIG, more map[string]int) string {
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

// Need is what the task of that index needs.
func Need(w *core.Workload, index int) schedule.Need {
	r := w.Spec.Needs(index)
	g := r.GPU
	n := schedule.Need{Type: g.Type, CPU: r.CPU.Milli(), Memory: r.Memory.Units()}
	n.Extended = CountedOf(g.MIG, r.Extended)
	switch g.Kind() {
	case spec.MemoryGPU:
		n.Devices, n.GPUMemory = g.Devices(), g.Memory.Units()
	case spec.WholeGPU, spec.ShareGPU:
		n.Devices, n.Milli = g.Devices(), g.Milli()
	}
	return n
}

// Charged is the GPU time of tasks of the present attempt until now, each by its
// last run, in device-seconds.
func Charged(tasks *Tasks, now time.Time) float64 { return charges(tasks.All(), now) }

func charges(tasks iter.Seq2[int, *core.Task], now time.Time) float64 {
	// Whole numbers, whose sum is the same in whatever order a map is read.
	var seconds, rest int64 // thousandths of a device for seconds, and for microseconds
	for _, t := range tasks {
		if d := charged(t, now); d > 0 {
			seconds += int64(d/time.Second) * int64(t.Milli())
			rest += int64(d%time.Second) / int64(time.Microsecond) * int64(t.Milli())
		}
	}
	return float64(seconds)/1e3 + float64(rest)/1e9
}

// ChargedTask is the GPU time of one run of a task until now.
func ChargedTask(t *core.Task, now time.Time) float64 {
	return charged(t, now).Seconds() * float64(t.Milli()) / 1000
}

// charged is for how long one run of a task has held its devices until now.
func charged(t *core.Task, now time.Time) time.Duration {
	if t.Milli() == 0 || t.PlacedAt.IsZero() {
		return 0
	}
	until := t.ReleasedAt
	if until.IsZero() {
		until = now
	}
	// A clock that was set back never makes time that is paid back.
	return max(until.Sub(t.PlacedAt), 0)
}

// GPUSeconds is the GPU time of w until now: of ended attempts and, while it
// holds devices, of the present one, of which tasks are at least the last runs.
// In device-seconds.
func GPUSeconds(w *core.Workload, tasks []core.Task, now time.Time) float64 {
	if !w.Phase.Held() {
		return w.GPUSeconds
	}
	return w.GPUSeconds + charges(maps.All(latest(tasks, w.Attempt)), now)
}

// DevicesHeld is how many thousandths of devices w holds at present.
func DevicesHeld(w *core.Workload, tasks *Tasks) int64 {
	if w.Phase == lifecycle.None {
		return 0
	}
	var sum int64
	for _, t := range tasks.Open() {
		if Holds(w, t) {
			sum += MilliOf(w, t)
		}
	}
	return sum
}
