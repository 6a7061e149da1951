package spec

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/musterhq/muster/internal/core/spec/codec"
)

// tasks checks how many there are and in what they differ.
func (v *validator) tasks() {
	d := v.doc
	if v.kind.Ranked() {
		if d.Workers == 0 {
			v.fail("workers", "", "is missing", "write how many tasks the gang has, such as: workers: 2")
		}
		if d.Slots > 0 && d.Framework != mpi {
			v.fail("slots", strconv.Itoa(d.Slots), "is for framework mpi", "remove it, or write framework: mpi")
		}
		v.elastic()
		if d.Master != nil && d.Master.Image != "" && !v.image() {
			v.fail("master.image", d.Master.Image, "is an image, and the other tasks have none", "write image as well: all of a gang's tasks are containers, or none is")
		}
		if d.Master != nil {
			v.resources("master.resources", d.Master.Resources, v.image())
		}
	}
	if v.kind.Batch() && v.kind.Single() && d.Array != nil {
		v.array(d.Array)
	}
	v.after()
	v.slurm()
	if d.IdleLimit > 0 && d.Resources.GPU.Kind() == NoGPU && d.Needs(0).GPU.Kind() == NoGPU {
		v.fail("idleLimit", d.IdleLimit.String(), "needs GPUs: it is about theirs being idle", "remove it, or write resources: {gpu: 1}")
	}
}

// after checks what only arrays can wait for.
func (v *validator) after() {
	for i, a := range v.doc.After {
		path := fmt.Sprintf("after[%d].", i)
		if _, err := ParseIndexes(a.Tasks); a.Tasks != "" && err != nil {
			v.fail(path+"tasks", a.Tasks, "is not a list of tasks", "write it like 3, 0-15 or 1,3,7")
		}
		switch {
		case !a.PerTask:
		case v.doc.Array == nil:
			v.fail(path+"perTask", "true", "is for an array, each of whose tasks waits for one of another", "remove it, or write array")
		case a.Event() != AfterSucceeded:
			v.fail(path+"when", a.When, "cannot stand beside perTask, which waits for tasks that succeed", "write succeeded, or remove perTask")
		case a.Delay > 0:
			v.fail(path+"delay", a.Delay.String(), "cannot stand beside perTask", "remove one of the two")
		case a.Tasks != "" || a.Any:
			v.fail(path+"perTask", "true", "cannot stand beside tasks or any", "remove it, or those")
		}
	}
}

func (v *validator) array(a *Array) {
	total := a.Completions
	if a.Grid != nil {
		if !v.grid(a) {
			return
		}
		total = a.cells()
		if a.Completions > 0 && a.Completions != total {
			v.fail("array.completions", strconv.Itoa(a.Completions), fmt.Sprintf("%d is not the %d combinations of grid", a.Completions, total), "leave it out; grid says how many there are")
			return
		}
	}
	if total == 0 {
		v.fail("array.completions", "", "is missing", "write how many tasks there are, such as: completions: 20, or a grid")
	}
	if a.Parallelism > total && total > 0 {
		v.fail("array.parallelism", strconv.Itoa(a.Parallelism), fmt.Sprintf("%d is more than the %d completions", a.Parallelism, total), "lower it, or leave it out to run as many as fit")
	}
}

// grid reports whether its cells can be counted.
func (v *validator) grid(a *Array) bool {
	before := len(v.errs)
	if len(a.Grid) == 0 {
		v.fail("array.grid", "", "is empty", "write lists of values, such as: grid: {lr: [0.1, 0.01]}")
	}
	variables := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(a.Grid)) {
		path := codec.Join("array.grid", codec.Shorten(name))
		v.values(path, a.Grid[name])
		key := Variable(name)
		if !variable(key) {
			v.fail(path, name, fmt.Sprintf("its variable would be %q, which is no variable's name", codec.Shorten(key)), "begin it with a letter or '_'")
		}
		if earlier, twice := variables[key]; twice {
			v.fail(path, name, fmt.Sprintf("has the same variable as %s, %s", codec.Shorten(earlier), key), "rename one of the two")
		}
		variables[key] = name
	}
	if len(v.errs) > before {
		return false
	}
	if n := a.cells(); n > maxTasks {
		count := strconv.Itoa(n)
		if n == tooManyCells {
			count = "far too many"
		}
		v.fail("array.grid", count, fmt.Sprintf("has %s combinations, more than %d", count, maxTasks), "leave out values, or submit it in parts")
		return false
	}
	return true
}

func (v *validator) values(path string, list any) {
	n, ok := codec.NodeOf(list)
	switch {
	case !ok: // said already
	case n.Kind != codec.NodeList:
		v.fail(path, n.Text, n.Found()+", expected a list of values", "write it as a list, such as: [0.1, 0.01]")
	case len(n.Items) == 0:
		v.fail(path, "", "has no values", "write at least one, or remove it")
	}
	for i := range n.Items {
		if n.Kind == codec.NodeList && n.Items[i].Kind == codec.NodeList {
			v.fail(fmt.Sprintf("%s[%d]", path, i), "", "is a list", "write a text, number, true, false or a map; lists of values do not lie in each other")
		}
	}
}

// slurm checks what a batch script is told.
func (v *validator) slurm() {
	d := v.doc
	s := d.Slurm
	if s == nil {
		return
	}
	if d.Framework != "" && d.Framework != "env" {
		v.fail("slurm", "", "cannot stand beside framework "+codec.Shorten(d.Framework), "remove one of the two; srun starts the ranks")
	}
	if d.Elastic() {
		v.fail("slurm", "", "is not for a gang whose size changes", "remove minWorkers, or slurm")
	}
	if s.Indexes != "" {
		switch all, err := ParseIndexes(s.Indexes); {
		case err != nil:
			e := err.(codec.FieldError)
			v.fail("slurm.indexes", s.Indexes, e.Problem, e.Hint)
		case d.Array == nil && s.ArrayTask == nil:
			v.fail("slurm.indexes", s.Indexes, "are for arrays", "remove them, or write array")
		case s.ArrayTask != nil && *s.ArrayTask >= len(all):
			v.fail("slurm.arrayTask", strconv.Itoa(*s.ArrayTask), fmt.Sprintf("is not one of the %d jobs of indexes", len(all)), fmt.Sprintf("write 0 to %d", len(all)-1))
		case s.ArrayTask == nil && len(all) != d.Size():
			v.fail("slurm.indexes", s.Indexes, fmt.Sprintf("are %d, but the array has %d tasks", len(all), d.Size()), "write as many as completions says")
		}
	}
	switch {
	case s.ArrayTask != nil && d.Array != nil:
		v.fail("slurm.arrayTask", strconv.Itoa(*s.ArrayTask), "is for a job of an array whose jobs have a workload each, and this one has tasks for them", "remove it, or array")
	case s.ArrayTask != nil && s.Indexes == "":
		v.fail("slurm.indexes", "", "is missing: it says which jobs the array has", "write them like 0-9, or remove slurm.arrayTask")
	case s.ArrayTask == nil && s.AtOnce > 0:
		v.fail("slurm.atOnce", strconv.Itoa(s.AtOnce), "is for jobs of an array that have a workload each", "write array.parallelism")
	}
	if _, err := UnpackEnvironment(s.Environment); err != nil {
		v.fail("slurm.environment", "", err.Error(), "leave it out: submitting the document fills it in")
	}
	if s.Signal != "" {
		if _, _, _, err := ParseSignal(s.Signal); err != nil {
			e := err.(codec.FieldError)
			v.fail("slurm.signal", s.Signal, e.Problem, e.Hint)
		}
	}
	if s.Tasks > 0 && d.Gang() && s.Tasks < d.Workers {
		v.fail("slurm.tasks", strconv.Itoa(s.Tasks), fmt.Sprintf("%d are fewer than the %d nodes", s.Tasks, d.Workers), "write at least one for each")
	}
}
