package terms

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/core/amount"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// NotLaunched is the signal of a job that nothing ran of, in Slurm's exit codes: its
// directory was not there, or its output or input could not be opened.
const NotLaunched = 53

// Demand is what a job asks for or holds: a job, a task of an array, some tasks
// of one, or a step of one of these.
type Demand struct {
	Call     *compat.Call // whose flags say how sizes are written
	Workload *api.Workload
	Document *spec.Document
	Step     string // "": the job itself
	Task     int    // of an array, from 0; negative: it is not one of them
	Count    int    // tasks that it stands for
	// StepCPUs and StepNodes are of a step that srun has started; 0: it is none.
	StepCPUs, StepNodes int64
}

// Memory is what a job asks for, in bytes.
func (d *Demand) Memory() int64 {
	count := d.NodeCount()
	return d.Document.Resources.Memory.Units() * count
}

// TRES are the resources that a job holds or asks for.
func (d *Demand) TRES() string {
	parts := []string{fmt.Sprintf("cpu=%d", d.CPUs())}
	if gpus := d.GPUs(); gpus != "0" {
		parts = append(parts, "gres/gpu="+gpus)
	}
	if m := d.Memory(); m > 0 {
		parts = append(parts, "mem="+d.Size(m))
	}
	return strings.Join(append(parts, fmt.Sprintf("node=%d", d.NodeCount())), ",")
}

// GPUs are those of a job, or of one task of an array.
func (d *Demand) GPUs() string {
	total := d.Workload.GPUs
	if d.Document.Array != nil {
		total /= float64(max(compat.Count(d.Workload), 1))
	}
	if d.Step != "" && d.NodeCount() < int64(d.Count) && d.Task < 0 && d.Document.Array == nil {
		total *= float64(d.NodeCount()) / float64(d.Count)
	}
	return amount.GPUs(total)
}

// Size is a number of bytes as sacct writes it: in the largest unit in which it
// is a whole number, or in that of --units.
func (d *Demand) Size(bytes int64) string {
	const letters = "KMGTP"
	if bytes <= 0 {
		return "0"
	}
	n := (bytes + 1023) / 1024
	if unit := strings.ToUpper(d.Call.Text("units")); unit != "" {
		at := strings.Index(letters, unit)
		f := float64(n)
		for range max(at, 0) {
			f /= 1024
		}
		return fmt.Sprintf("%.2f%c", f, letters[max(at, 0)])
	}
	at := 0
	for n%1024 == 0 && at < len(letters)-1 && !(d.Call.Bool("noconvert") && at == 1) {
		n, at = n/1024, at+1
	}
	return fmt.Sprintf("%d%c", n, letters[at])
}

// NodeCount is how many nodes it has; of a script one.
func (d *Demand) NodeCount() int64 {
	if d.StepNodes > 0 {
		return d.StepNodes
	}
	if d.Step != "" {
		return 1
	}
	if lifecycle.Kind(d.Workload.Kind).Ranked() && d.Task < 0 {
		return int64(d.Count)
	}
	return 1
}

// CPUs are those of all its tasks; of a script those of one.
func (d *Demand) CPUs() int64 {
	if d.StepCPUs > 0 {
		return d.StepCPUs
	}
	count := int64(1)
	if d.Task < 0 && d.Document.Array == nil && d.Step == "" {
		count = int64(d.Count)
	}
	first := int64(0) // what the first of a gang has more, or less
	if count == int64(d.Count) && d.Document.Array == nil && d.Document.Gang() {
		first = d.Document.Needs(0).CPU.Milli() - d.Document.Resources.CPU.Milli()
	}
	return max((d.Document.Resources.CPU.Milli()*count+first)/1000, 1)
}

// Licenses are licenses as Slurm writes them.
func Licenses(all map[string]int) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, fmt.Sprintf("%s:%d", name, all[name]))
	}
	return strings.Join(out, ",")
}
