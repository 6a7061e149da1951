package spec

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core/spec/codec"
)

const (
	mpi        = "mpi"
	resizeLive = "live"
)

// Size is the number of tasks of one attempt: at least 1, but for an inference
// workload of no replicas.
func (d *Document) Size() int {
	switch {
	case d.launcher():
		return max(1, d.Workers) + 1
	case d.Kind.Ranked(), d.Kind.Foreign():
		return max(1, d.Workers)
	case d.Kind.Replicated():
		if d.Replicas == nil {
			return 1
		}
		return max(0, *d.Replicas)
	case d.Array != nil && d.Array.Grid != nil:
		return max(1, d.Array.cells())
	case d.Array != nil:
		return max(1, d.Array.Completions)
	default:
		return 1
	}
}

// MinSize is the fewest tasks that start together or not at all: those of a
// gang, with minWorkers instead of workers where it is elastic. Tasks that are
// independent of each other start one by one; it is then 1, or 0 where there
// are none.
func (d *Document) MinSize() int {
	switch {
	case !d.Gang():
		return min(1, d.Size())
	case d.Elastic():
		return d.Size() - d.Workers + d.MinWorkers
	default:
		return d.Size()
	}
}

// Elastic reports whether the number of a gang's workers may change while it
// runs.
func (d *Document) Elastic() bool {
	return d.Gang() && d.MinWorkers > 0 && d.MinWorkers < d.Workers
}

// Live reports whether the other tasks live on when the number of workers of
// an elastic gang changes; else they are restarted.
func (d *Document) Live() bool { return d.Resize == resizeLive }

// launcher reports whether the first task runs beside the workers and not as
// one of them.
func (d *Document) launcher() bool {
	return d.Kind.Ranked() && d.Framework == mpi
}

// Role is the part that the task of that index plays: task, master, launcher,
// worker or replica.
func (d *Document) Role(index int) string {
	switch {
	case d.Kind.Replicated():
		return "replica"
	case !d.Kind.Ranked():
		return "task"
	case index > 0:
		return "worker"
	case d.Framework == mpi:
		return "launcher"
	default:
		return "master"
	}
}

// Gang reports whether the tasks run all together or not at all.
func (d *Document) Gang() bool { return d.Kind.Ranked() }

// master is what differs for the task of that index; nil when nothing does.
func (d *Document) master(index int) *Master {
	if index == 0 && d.Kind.Ranked() {
		return d.Master
	}
	return nil
}

// ImageOf is the image of the task of that index, where all have the given one.
func (d *Document) ImageOf(index int, image string) string {
	if m := d.master(index); m != nil && m.Image != "" {
		return m.Image
	}
	return image
}

// Needs is what the task of that index needs.
func (d *Document) Needs(index int) Resources {
	if m := d.master(index); m != nil && m.Resources != nil {
		return *m.Resources
	}
	if index == 0 && d.launcher() { // it starts the workers' processes and waits
		return Resources{CPU: min(1000, d.Resources.CPU)}
	}
	return d.Resources
}

// TotalGPUs is the GPUs of all tasks together. One of which a task has a part,
// and a partition, counts as one.
func (d *Document) TotalGPUs() int {
	n := d.Size()
	if n == 0 {
		return 0
	}
	return d.Needs(0).GPU.Devices() + (n-1)*d.Resources.GPU.Devices() // only the first ever differs
}

// TotalMilli is GPU.TotalMilli of all tasks together.
func (d *Document) TotalMilli() int64 {
	n := d.Size()
	if n == 0 {
		return 0
	}
	return d.Needs(0).GPU.TotalMilli() + int64(n-1)*d.Resources.GPU.TotalMilli()
}

// SlotsOf is how many processes each worker takes: one for each of its GPUs
// where the document does not say, at least one.
func (d *Document) SlotsOf() int {
	if d.Slots > 0 {
		return d.Slots
	}
	return max(1, d.Resources.GPU.Devices())
}

// CommandOf is the argument vector of the task of that index. It is nil for a
// worker of mpi, where the platform runs its own, and may be nil where there
// is an image, which has a command of its own; Args without a command are then
// arguments of that. The result is not to be changed.
func (d *Document) CommandOf(index int) (argv []string) {
	command, args := d.Command.Argv, d.Args
	if index > 0 && d.launcher() {
		return nil
	}
	if m := d.master(index); m != nil {
		switch {
		case len(m.Command.Argv) > 0: // the workload's arguments are for its own command
			command, args = m.Command.Argv, m.Args
		case len(m.Args) > 0:
			args = m.Args
		}
	}
	switch {
	case len(args) == 0:
		return slices.Clip(command)
	case len(command) == 0:
		return slices.Clip(args)
	}
	return append(append(make([]string, 0, len(command)+len(args)), command...), args...)
}

// EnvOf is the variables that the document gives to the task of that index,
// without those of a grid's cell. The result is not to be changed.
func (d *Document) EnvOf(index int) map[string]string {
	m := d.master(index)
	if m == nil || len(m.Env) == 0 {
		return d.Env
	}
	env := make(map[string]string, len(d.Env)+len(m.Env))
	maps.Copy(env, d.Env)
	maps.Copy(env, m.Env)
	return env
}

// Mentions is whether a command, an argument or a variable of the document
// speaks of the variable name.
func (d *Document) Mentions(name string) bool {
	in := func(words []string) bool {
		return slices.ContainsFunc(words, func(s string) bool { return strings.Contains(s, name) })
	}
	for index := range 2 { // the first task may have its own
		if in(d.CommandOf(index)) || in(slices.Collect(maps.Values(d.EnvOf(index)))) {
			return true
		}
	}
	return slices.ContainsFunc(d.Init, func(s Init) bool { return in(s.Command.Argv) })
}

// ParametersOf is the parameters of the task of that index: the document's,
// with the values of a grid's cell on top. The result is not to be changed.
func (d *Document) ParametersOf(index int) Parameters {
	cell := d.Array.Cell(index)
	if len(cell) == 0 {
		return d.Parameters
	}
	all := make(Parameters, len(d.Parameters)+len(cell))
	maps.Copy(all, d.Parameters)
	maps.Copy(all, cell)
	return all
}

// tooManyCells stands for every size of a grid that is larger than anybody
// could count.
const tooManyCells = codec.MaxInt64 >> 1

// cells is the number of combinations of a's grid: 0 where one of its lists is
// empty or none at all.
func (a *Array) cells() int {
	if len(a.Grid) == 0 {
		return 0
	}
	total, many := 1, false
	for _, values := range a.Grid {
		n := length(values)
		if n == 0 {
			return 0
		}
		if many = many || total > tooManyCells/n; !many {
			total *= n
		}
	}
	if many {
		return tooManyCells
	}
	return total
}

// Cell returns the values of one combination of the grid by their names. The
// last name, in alphabetical order, changes fastest. It is nil where there is
// no grid or no such combination; a may be nil.
func (a *Array) Cell(index int) map[string]any {
	if a == nil || index < 0 || index >= a.cells() {
		return nil
	}
	names := slices.Sorted(maps.Keys(a.Grid))
	cell := make(map[string]any, len(names))
	for _, name := range slices.Backward(names) {
		values := a.Grid[name]
		n := length(values)
		cell[name] = element(values, index%n)
		index /= n
	}
	return cell
}

// length is that of a list, 0 of everything else. Importers written in Go may
// have put typed lists there.
func length(list any) int {
	if l, ok := list.([]any); ok {
		return len(l)
	}
	if v := reflect.ValueOf(list); v.IsValid() && v.Kind() == reflect.Slice {
		return v.Len()
	}
	return 0
}

func element(list any, i int) any {
	if l, ok := list.([]any); ok {
		return l[i]
	}
	return reflect.ValueOf(list).Index(i).Interface()
}

// Variable is the name under which a parameter of a grid stands in the
// environment: in upper case, with '_' for everything but letters and digits.
func Variable(parameter string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 0x80 || !codec.Alnum(byte(r)):
			return '_'
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		}
		return r
	}, parameter)
}

// Variables are the values of one combination of the grid as variables of the
// environment: texts as they are, the rest as JSON. It is nil where Cell is.
func (a *Array) Variables(index int) map[string]string {
	cell := a.Cell(index)
	if cell == nil {
		return nil
	}
	env := make(map[string]string, len(cell))
	for name, value := range cell {
		n, _ := codec.NodeOf(value)
		if n.Kind != codec.NodeText {
			n.Text = string(codec.AppendJSON(nil, &n))
		}
		env[Variable(name)] = n.Text
	}
	return env
}

// maxTasks is the number of tasks of the largest workload.
const maxTasks = 100_000
