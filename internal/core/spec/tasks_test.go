package spec

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestTasks(t *testing.T) {
	t.Parallel()
	const grid = "array: {completions: 9, grid: {a: [1, 2, 3], b: [x, y]}}\nresources: {gpu: 1}"
	for text, c := range map[string]struct {
		roles string
		gang  bool
		gpus  int
	}{
		"kind: training\nresources: {gpu: 2}":                          {"task", false, 2},
		"array: {completions: 3, parallelism: 2}\nresources: {gpu: 1}": {"task task task", false, 3},
		grid: {"task task task task task task", false, 6},
		"kind: distributed\nworkers: 3\nresources: {gpu: 8}":                                                {"master worker worker", true, 24},
		"kind: distributed\nworkers: 3\nmaster: {resources: {gpu: 1}}\nresources: {gpu: 8}":                 {"master worker worker", true, 17},
		"kind: distributed\nworkers: 2\nframework: mpi\nresources: {gpu: 8}":                                {"launcher worker worker", true, 16},
		"kind: distributed\nworkers: 2\nframework: mpi\nresources: {gpu: 8}\nmaster: {resources: {gpu: 1}}": {"launcher worker worker", true, 17},
		"kind: workspace":                                   {"task", false, 0},
		"kind: inference\nresources: {gpu: 1}":              {"replica", false, 1},
		"kind: inference\nresources: {gpu: 2}\nreplicas: 2": {"replica replica", false, 4},
		"kind: inference\nresources: {gpu: 2}\nreplicas: 0": {"", false, 0},
	} {
		d := mustParse(t, text)
		var roles []string
		gpus := 0
		for i := range d.Size() {
			roles = append(roles, d.Role(i))
			gpus += d.Needs(i).GPU.Count
		}
		if strings.Join(roles, " ") != c.roles || d.Gang() != c.gang || d.TotalGPUs() != c.gpus || gpus != c.gpus {
			t.Errorf("%q: %v %v %d %d", text, roles, d.Gang(), d.TotalGPUs(), gpus)
		}
	}
}

// A launcher asks for what a worker does, but for GPUs and more than one CPU.
func TestWhatALauncherNeeds(t *testing.T) {
	t.Parallel()
	const gang = "kind: distributed\nworkers: 2\nframework: mpi\n"
	for text, want := range map[string]string{
		gang:                                 "1",
		gang + "resources: {cpu: 0.1}":       "0.1",
		gang + "resources: {cpu: 8, gpu: 1}": "1",
		gang + "resources: {cpu: 0.1}\nmaster: {resources: {cpu: 2}}": "2",
	} {
		if r := WithDefaults(mustParse(t, text)).Needs(0); r.CPU.String() != want || r.GPU.Devices() != 0 {
			t.Errorf("%q: %s CPU, %d GPUs; want %s CPU", text, r.CPU, r.GPU.Devices(), want)
		}
	}
}

func TestWhatDiffersForTheFirstTask(t *testing.T) {
	t.Parallel()
	const gang = "kind: distributed\nworkers: 2\nresources: {gpu: 4, cpu: 8, memory: 1Gi}\nenv: {A: a, B: b}\n"
	list, line := "command: [run, x]\nargs: [y]\n", "command: echo hi\n"
	for name, c := range map[string]struct{ text, first, second, env string }{
		"no master":     {gang + list, "run x y", "run x y", "map[A:a B:b]"},
		"a line":        {gang + line, "sh -c echo hi", "sh -c echo hi", "map[A:a B:b]"},
		"command":       {gang + list + "master: {command: [lead]}", "lead", "run x y", "map[A:a B:b]"},
		"both":          {gang + list + "master: {command: [lead], args: [z]}", "lead z", "run x y", "map[A:a B:b]"},
		"args":          {gang + list + "master: {args: [z]}", "run x z", "run x y", "map[A:a B:b]"},
		"env":           {gang + list + "master: {env: {B: c, D: d}}", "run x y", "run x y", "map[A:a B:c D:d]"},
		"mpi":           {gang + list + "framework: mpi", "run x y", "", "map[A:a B:b]"},
		"mpi's own":     {gang + "framework: mpi\nmaster: {command: [mpirun]}", "mpirun", "", "map[A:a B:b]"},
		"only args":     {gang + "image: i\nargs: [y]", "y", "y", "map[A:a B:b]"},
		"nothing":       {gang + "image: i", "", "", "map[A:a B:b]"},
		"no gang":       {"command: ls\nenv: {A: b}", "sh -c ls", "sh -c ls", "map[A:b]"},
		"no gang's own": {"command: ls\nmaster: {command: [lead], env: {A: b}}", "sh -c ls", "sh -c ls", "map[]"},
	} {
		d := mustParse(t, c.text)
		if got := strings.Join(d.CommandOf(0), " "); got != c.first {
			t.Errorf("%s: the first runs %q", name, got)
		}
		if got := strings.Join(d.CommandOf(1), " "); got != c.second {
			t.Errorf("%s: the second runs %q", name, got)
		}
		if got := fmt.Sprint(d.EnvOf(0)); got != c.env {
			t.Errorf("%s: the first sees %s", name, got)
		}
		if got := d.EnvOf(1); !reflect.DeepEqual(got, d.Env) {
			t.Errorf("%s: the second sees %s", name, got)
		}
	}
	d := mustParse(t, gang+list+"framework: mpi")
	if got := d.Needs(0); !got.Equal(Resources{CPU: 1000}) || !d.Needs(1).Equal(d.Resources) || d.SlotsOf() != 4 {
		t.Errorf("%+v %+v %d", got, d.Needs(1), d.SlotsOf())
	}
	d = WithDefaults(mustParse(t, gang+list+"framework: mpi\nslots: 2\nmaster: {resources: {memory: 2Gi}}"))
	if got := d.Needs(0); got.CPU != 1000 || got.Memory.Units() != 2<<30 || got.GPU.Count != 0 || d.SlotsOf() != 2 {
		t.Errorf("%+v %d", got, d.SlotsOf())
	}
	if n := mustParse(t, line).SlotsOf(); n != 1 {
		t.Errorf("%d slots", n)
	}
}

func TestArgumentsAreNotSharedForAppending(t *testing.T) {
	t.Parallel()
	d := &Document{Command: Command{Argv: append(make([]string, 0, 8), "run")}}
	a, b := append(d.CommandOf(0), "a"), append(d.CommandOf(0), "b")
	if a[1] != "a" || b[1] != "b" {
		t.Errorf("%v %v", a, b)
	}
}

func TestCellsOfAGrid(t *testing.T) {
	t.Parallel()
	d := mustParse(t, `
parameters: {lr: 5, keep: 1}
array: {grid: {lr: [0.1, 1e-3], opt: [{name: sgd}, adam], drop-out: [true]}}
`)
	var got []string
	for i := range d.Size() {
		cell, err := json.Marshal(d.Array.Cell(i))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(cell))
	}
	want := []string{
		`{"drop-out":true,"lr":0.1,"opt":{"name":"sgd"}}`, `{"drop-out":true,"lr":0.1,"opt":"adam"}`,
		`{"drop-out":true,"lr":1.0e-3,"opt":{"name":"sgd"}}`, `{"drop-out":true,"lr":1.0e-3,"opt":"adam"}`,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
	if got := string(d.ParametersOf(3).YAML()); got != "drop-out: true\nkeep: 1\nlr: 1.0e-3\nopt: adam\n" {
		t.Errorf("%s", got)
	}
	if got := fmt.Sprint(d.Array.Variables(2)); got != `map[DROP_OUT:true LR:1.0e-3 OPT:{"name":"sgd"}]` {
		t.Errorf("%s", got)
	}
	if d.Array.Cell(-1) != nil || d.Array.Cell(4) != nil || d.Array.Variables(4) != nil || d.Parameters["lr"] != json.Number("5") {
		t.Error("there are more cells than combinations, or the parameters were changed")
	}
}

func TestWithoutAGridThereAreNoCells(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"parameters: {a: 1}\n", "parameters: {a: 1}\narray: {completions: 3}\n"} {
		d := mustParse(t, text)
		if d.Array.Cell(0) != nil || d.Array.Variables(0) != nil || !reflect.DeepEqual(d.ParametersOf(0), d.Parameters) {
			t.Errorf("%s: %v", text, d.ParametersOf(0))
		}
	}
}

func TestGridsWrittenInGo(t *testing.T) {
	t.Parallel()
	d := &Document{Command: ShellCommand("ls"), Array: &Array{Grid: Parameters{"lr": []float64{0.5, 0.25}, "n": []int{1, 2, 3}}}}
	if errs := Validate(d); errs != nil || d.Size() != 6 {
		t.Fatal(errs, d.Size())
	}
	if got := d.Array.Cell(4); got["lr"] != 0.25 || got["n"] != 2 {
		t.Errorf("%v", got)
	}
	for _, bad := range []any{nil, 3, "x", []int{}, map[string]any{"a": 1}, make(chan int)} {
		d.Array.Grid["n"] = bad
		if errs := Validate(d); len(errs) == 0 || d.Size() != 1 || d.Array.Cell(0) != nil {
			t.Errorf("%v: %v %d", bad, errs, d.Size())
		}
	}
}

// TestAskingAboutTasksCostsNothing: these are called for every task of every
// workload in every cycle of the scheduler.
func TestAskingAboutTasksCostsNothing(t *testing.T) {
	total := 0
	for _, text := range []string{
		"command: ls\n", "kind: distributed\nworkers: 1000\nframework: mpi\nmaster: {resources: {gpu: 1}}\nargs: [a]\n",
		"array: {grid: {a: [1, 2, 3], b: [x, y]}}\ncommand: ls\n", "kind: inference\nreplicas: 3\ncommand: [a]\n",
		"kind: distributed\nworkers: 4\nminWorkers: 2\nresources: {gpu: {mig: {1g.10gb: 2, 3g.40gb: 1}}}\ncommand: [a]\n", "resources: {gpu: 0.5}\ncommand: ls\n",
	} {
		d := mustParse(t, text)
		if n := testing.AllocsPerRun(100, func() {
			total += d.Size() + len(d.Role(0)) + d.Needs(1).GPU.Count + d.Needs(1).GPU.Milli() + d.MinSize() + len(d.NodeTerms()) + int(d.TotalMilli()) + d.TotalGPUs() + d.SlotsOf() + len(d.EnvOf(1)) + len(d.CommandOf(1)) + len(d.ParametersOf(-1))
		}); n != 0 {
			t.Errorf("%q: %v allocations", text, n)
		}
	}
}

func BenchmarkTasks(b *testing.B) {
	for name, text := range map[string]string{
		"gang": "kind: distributed\nworkers: 1000\nmaster: {resources: {gpu: 1}}\n",
		"grid": "array: {grid: {a: [1, 2, 3], b: [x, y], c: [1]}}\n",
	} {
		d, err := Parse([]byte(text))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = d.Size() + len(d.Role(1)) + d.Needs(1).GPU.Count
			}
		})
	}
}

func BenchmarkClone(b *testing.B) {
	for name, text := range map[string]string{"small": string(small), "lists": listsText} {
		d, err := Parse([]byte(text))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				d.Clone()
			}
		})
	}
}
