package cli

import (
	"fmt"
	"strconv"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core/spec"
)

// workloadColumns are the columns of `muster get`.
func workloadColumns(m moments, dialect string) []column[api.Workload] {
	return []column[api.Workload]{
		{title: "NAME", cell: func(w api.Workload) string { return w.Name }},
		{title: "STATUS", cell: func(w api.Workload) string { return statusIn(&w, dialect) }, tone: func(w api.Workload) tone { return toneOf(w.Phase) }},
		{title: "GPUS", cell: func(w api.Workload) string { return gpus(&w) }},
		{title: "WHERE", cell: func(w api.Workload) string { return where(&w) }},
		{title: "AGE", cell: func(w api.Workload) string { return m.ago(time.Time(w.CreatedAt)) }},
		{title: "TIME/ETA", cell: func(w api.Workload) string { return timeOrETA(&w, m) }},
		{title: "PROJECT", wide: true, cell: func(w api.Workload) string { return w.Project }},
		{title: "USER", wide: true, cell: func(w api.Workload) string { return w.User }},
		{title: "KIND", wide: true, cell: func(w api.Workload) string { return w.Kind }},
		{title: "PRIORITY", wide: true, cell: func(w api.Workload) string { return spec.Priority(w.Priority).String() }},
		{title: "TRY", wide: true, cell: func(w api.Workload) string { return strconv.Itoa(w.Attempt) }},
		{title: "TASKS", wide: true, cell: func(w api.Workload) string { return taskSum(w.Tasks) }},
		{title: "IMAGE", wide: true, cell: func(w api.Workload) string { return orDash(docOf(&w).Image) }},
		{title: "GPU-H", wide: true, cell: func(w api.Workload) string { return strconv.FormatFloat(w.GPUSeconds/3600, 'f', 2, 64) }},
		{title: "ID", wide: true, cell: func(w api.Workload) string { return w.ID }},
		{title: "REASON", cell: func(w api.Workload) string { return orDash(whyOrStart(&w)) }},
	}
}

// whyOrStart is why it is where it is, or how far its start is.
func whyOrStart(w *api.Workload) string {
	if st, ok := startOf(w); ok && w.Reason == "" && st.part >= 0 {
		return fmt.Sprintf("%d%% %s", int(min(st.part, 1)*100), st.words) // without a bar: columns are also for pipes
	}
	return why(w)
}

// docOf is the document of a workload, or an empty one in a summary.
func docOf(w *api.Workload) *spec.Document {
	d := new(spec.Document)
	if len(w.Spec) > 0 {
		if err := d.UnmarshalJSON(w.Spec); err != nil {
			return new(spec.Document) // of a newer server; the columns say so with dashes
		}
	}
	return d
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// statusIn is the phase, in the words of a dialect when one is named.
func statusIn(w *api.Workload, dialect string) string {
	if dialect == "" || dialect == nativeDialect {
		return phaseWord(w)
	}
	st := w.Statuses[dialect]
	word := st.Status
	if st.Code != nil {
		word = fmt.Sprintf("%d %s", *st.Code, st.Status)
	}
	if st.Reason != "" {
		word += "(" + st.Reason + ")"
	}
	return orDash(word)
}

// gpus is what it asks for, and what it holds of that while it holds less.
func gpus(w *api.Workload) string {
	switch {
	case w.GPUs == 0:
		return "-"
	case w.GPUsHeld > 0 && w.GPUsHeld < w.GPUs:
		return parted(w.GPUsHeld) + "/" + parted(w.GPUs)
	default:
		return parted(w.GPUs)
	}
}

// parted is a number of GPUs, of which parts count as such.
func parted(gpus float64) string { return thousandths(int64(gpus*1000 + 0.5)) }

// gpuCount is parted with its noun.
func gpuCount(gpus float64) string {
	if gpus == 1 {
		return "1 GPU"
	}
	return parted(gpus) + " GPUs"
}

// timeOrETA is how long it has run, or when it may start.
func timeOrETA(w *api.Workload, m moments) string {
	if w.Pending != nil {
		if w.Pending.EstimatedStart != nil {
			return "~" + m.clockTime(at(w.Pending.EstimatedStart))
		}
		return "-"
	}
	if d, ok := ran(lastAttempt(w), m.now); ok {
		return length(d)
	}
	return "-"
}

func taskSum(n api.TaskCounts) string {
	if n.Total <= 1 {
		return "1"
	}
	out := fmt.Sprintf("%d/%d", n.Running+n.Succeeded, n.Total)
	if n.Failed > 0 {
		out += fmt.Sprintf(" (%d failed)", n.Failed)
	}
	return out
}

func nodeColumns() []column[api.Node] {
	return []column[api.Node]{
		{title: "NAME", cell: func(n api.Node) string { return n.Name }},
		{title: "STATUS", cell: func(n api.Node) string { return nodeStatus(n) }, tone: nodeTone},
		{title: "POOL", cell: func(n api.Node) string { return n.Pool }},
		{title: "GPUS", cell: func(n api.Node) string { return devices(n.Devices) }},
		{title: "FREE", cell: func(n api.Node) string { return thousandths(n.GPU.Total - n.GPU.Used) }},
		{title: "CPU", cell: func(n api.Node) string { return thousandths(n.CPU.Used) + "/" + thousandths(n.CPU.Total) }},
		{title: "MEMORY", cell: func(n api.Node) string { return size(n.Memory.Used) + "/" + size(n.Memory.Total) }},
		{title: "TASKS", cell: func(n api.Node) string { return strconv.Itoa(n.Tasks) }},
		{title: "PLANE", wide: true, cell: func(n api.Node) string { return n.Backend }},
		{title: "MESSAGE", wide: true, cell: func(n api.Node) string { return orDash(n.Message) }},
	}
}

func nodeStatus(n api.Node) string {
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

func nodeTone(n api.Node) tone {
	switch {
	case !n.Ready, n.CutOff:
		return toneBad
	case n.Cordoned:
		return toneWait
	default:
		return toneGood
	}
}

// devices is a node's GPUs by product; those that are not real say so.
func devices(ds []api.Device) string {
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

// thousandths writes an amount that is counted in thousandths.
func thousandths(n int64) string {
	return strconv.FormatFloat(float64(n)/1000, 'f', -1, 64)
}

// size writes bytes in the unit that fits.
func size(n int64) string {
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
