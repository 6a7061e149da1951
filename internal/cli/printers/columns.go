// Package printers says how workloads and nodes look to a person: the columns of
// their tables, the words and colours of their phases, and single facts as lines.
package printers

import (
	"fmt"
	"strconv"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/amount"
	"github.com/musterhq/muster/internal/core/spec"
)

// WorkloadColumns are the columns of `muster get`.
func WorkloadColumns(m session.Moments, dialect string) []session.Column[api.Workload] {
	return []session.Column[api.Workload]{
		{Title: "NAME", Cell: func(w api.Workload) string { return w.Name }},
		{Title: "STATUS", Cell: func(w api.Workload) string { return StatusIn(&w, dialect) }, Tone: func(w api.Workload) session.Tone { return ToneOf(w.Phase) }},
		{Title: "GPUS", Cell: func(w api.Workload) string { return Gpus(&w) }},
		{Title: "WHERE", Cell: func(w api.Workload) string { return where(&w) }},
		{Title: "AGE", Cell: func(w api.Workload) string { return m.Ago(time.Time(w.CreatedAt)) }},
		{Title: "TIME/ETA", Cell: func(w api.Workload) string { return TimeOrETA(&w, m) }},
		{Title: "PROJECT", Wide: true, Cell: func(w api.Workload) string { return w.Project }},
		{Title: "USER", Wide: true, Cell: func(w api.Workload) string { return w.User }},
		{Title: "KIND", Wide: true, Cell: func(w api.Workload) string { return w.Kind }},
		{Title: "PRIORITY", Wide: true, Cell: func(w api.Workload) string { return spec.Priority(w.Priority).String() }},
		{Title: "TRY", Wide: true, Cell: func(w api.Workload) string { return strconv.Itoa(w.Attempt) }},
		{Title: "TASKS", Wide: true, Cell: func(w api.Workload) string { return TaskSum(w.Tasks) }},
		{Title: "IMAGE", Wide: true, Cell: func(w api.Workload) string { return OrDash(DocOf(&w).Image) }},
		{Title: "GPU-H", Wide: true, Cell: func(w api.Workload) string { return strconv.FormatFloat(w.GPUSeconds/3600, 'f', 2, 64) }},
		{Title: "ID", Wide: true, Cell: func(w api.Workload) string { return w.ID }},
		{Title: "REASON", Cell: func(w api.Workload) string { return OrDash(whyOrStart(&w)) }},
	}
}

// whyOrStart is why it is where it is, or how far its start is.
func whyOrStart(w *api.Workload) string {
	if st, ok := StartOf(w); ok && w.Reason == "" && st.Part >= 0 {
		return fmt.Sprintf("%d%% %s", int(min(st.Part, 1)*100), st.words) // without a bar: columns are also for pipes
	}
	return Why(w)
}

// DocOf is the document of a workload, or an empty one in a summary.
func DocOf(w *api.Workload) *spec.Document {
	d := new(spec.Document)
	if len(w.Spec) > 0 {
		if err := d.UnmarshalJSON(w.Spec); err != nil {
			return new(spec.Document) // of a newer server; the columns say so with dashes
		}
	}
	return d
}

// OrDash is s, or a dash for an empty text.
func OrDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// StatusIn is the phase, in the words of a dialect when one is named.
func StatusIn(w *api.Workload, dialect string) string {
	if dialect == "" || dialect == session.NativeDialect {
		return PhaseWord(w)
	}
	st := w.Statuses[dialect]
	word := st.Status
	if st.Code != nil {
		word = fmt.Sprintf("%d %s", *st.Code, st.Status)
	}
	if st.Reason != "" {
		word += "(" + st.Reason + ")"
	}
	return OrDash(word)
}

// Gpus is what it asks for, and what it holds of that while it holds less.
func Gpus(w *api.Workload) string {
	switch {
	case w.GPUs == 0:
		return "-"
	case w.GPUsHeld > 0 && w.GPUsHeld < w.GPUs:
		return amount.GPUs(w.GPUsHeld) + "/" + amount.GPUs(w.GPUs)
	default:
		return amount.GPUs(w.GPUs)
	}
}

// GpuCount is a number of GPUs with its noun.
func GpuCount(gpus float64) string {
	if gpus == 1 {
		return "1 GPU"
	}
	return amount.GPUs(gpus) + " GPUs"
}

// TimeOrETA is how long it has run, or when it may start.
func TimeOrETA(w *api.Workload, m session.Moments) string {
	if w.Pending != nil {
		if w.Pending.EstimatedStart != nil {
			return "~" + m.ClockTime(session.At(w.Pending.EstimatedStart))
		}
		return "-"
	}
	if d, ok := ran(LastAttempt(w), m.Now); ok {
		return session.Length(d)
	}
	return "-"
}

// TaskSum is how many tasks run or have succeeded, of how many, and how many failed.
func TaskSum(n api.TaskCounts) string {
	if n.Total <= 1 {
		return "1"
	}
	out := fmt.Sprintf("%d/%d", n.Running+n.Succeeded, n.Total)
	if n.Failed > 0 {
		out += fmt.Sprintf(" (%d failed)", n.Failed)
	}
	return out
}

// NodeColumns are the columns of a table of nodes.
func NodeColumns() []session.Column[api.Node] {
	return []session.Column[api.Node]{
		{Title: "NAME", Cell: func(n api.Node) string { return n.Name }},
		{Title: "STATUS", Cell: func(n api.Node) string { return NodeStatus(n) }, Tone: NodeTone},
		{Title: "POOL", Cell: func(n api.Node) string { return n.Pool }},
		{Title: "GPUS", Cell: func(n api.Node) string { return Devices(n.Devices) }},
		{Title: "FREE", Cell: func(n api.Node) string { return amount.Thousandths(n.GPU.Total - n.GPU.Used) }},
		{Title: "CPU", Cell: func(n api.Node) string { return amount.Thousandths(n.CPU.Used) + "/" + amount.Thousandths(n.CPU.Total) }},
		{Title: "MEMORY", Cell: func(n api.Node) string { return Size(n.Memory.Used) + "/" + Size(n.Memory.Total) }},
		{Title: "TASKS", Cell: func(n api.Node) string { return strconv.Itoa(n.Tasks) }},
		{Title: "PLANE", Wide: true, Cell: func(n api.Node) string { return n.Backend }},
		{Title: "MESSAGE", Wide: true, Cell: func(n api.Node) string { return OrDash(n.Message) }},
	}
}

// NodeStatus is the state of a node in a word or two.
func NodeStatus(n api.Node) string {
	switch {
	case n.CutOff:
		return "CutOff"
	case !n.Ready:
		return "NotReady"
	case n.Draining && n.Tasks > 0:
		return "Draining"
	case n.Draining:
		return "Drained"
	case n.Cordoned:
		return "Cordoned"
	default:
		return "Ready"
	}
}

// NodeTone is the colour of that state.
func NodeTone(n api.Node) session.Tone {
	switch {
	case !n.Ready, n.CutOff:
		return session.ToneBad
	case n.Cordoned:
		return session.ToneWait
	default:
		return session.ToneGood
	}
}

// Devices is a node's GPUs by product; those that are not real say so.
func Devices(ds []api.Device) string {
	if len(ds) == 0 {
		return "-"
	}
	name := func(d api.Device) string {
		if d.Fake {
			return d.Product + " (fake)"
		}
		return d.Product
	}
	out, n := "", 0
	for i, d := range ds {
		n++
		if i+1 == len(ds) || name(ds[i+1]) != name(d) {
			if out != "" {
				out += " + "
			}
			out += fmt.Sprintf("%d×%s", n, name(d))
			n = 0
		}
	}
	return out
}

// Size writes bytes in the unit that fits.
func Size(n int64) string {
	const units = "KMGTP"
	f, i := float64(n), -1
	for f >= 1024 && i < len(units)-1 {
		f /= 1024
		i++
	}
	if i < 0 {
		return strconv.FormatInt(n, 10) + "B"
	}
	if f < 10 {
		return strconv.FormatFloat(f, 'f', 1, 64) + units[i:i+1] + "i"
	}
	return strconv.FormatFloat(f, 'f', 0, 64) + units[i:i+1] + "i"
}
