// Package packing measures how well a placement policy uses a cluster's GPUs.
//
// Two experiments run over a list of nodes and a list of tasks. Fill is the
// published one of "Beware of Fragmentation" (USENIX ATC'23): tasks arrive in
// random order, nothing leaves, each is placed or dropped. Churn lets tasks
// leave and wait. Every placement is checked on the harness' own books: a policy
// that overcommits is an error, and one that says no to a task that fits is
// counted.
package packing

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Node is one machine of the list.
type Node struct {
	Name   string
	CPU    int64 // thousandths of cores
	Memory int64 // MiB
	GPUs   int
	Model  string
}

// Task is one task of the list. Times are seconds of the trace's own clock.
type Task struct {
	Name     string
	CPU      int64    // thousandths of cores
	Memory   int64    // MiB
	GPUs     int      // 0: needs none
	Milli    int      // of each GPU, 1..1000
	Models   []string // GPU models that serve it; empty: any
	Duration int64    // seconds from being placed to leaving; 0: the list does not say
	Class    int      // tasks of equal needs share a number, from 0
}

// Load is the milli-GPUs the task takes.
func (t *Task) Load() int64 { return int64(t.GPUs) * int64(t.Milli) }

// Trace is what an experiment runs over. It is not changed by one.
type Trace struct {
	Nodes   []Node
	Tasks   []Task
	Classes int // distinct needs among the tasks
}

// GPUs is how many GPUs all nodes have together.
func (tr *Trace) GPUs() int64 {
	var n int64
	for i := range tr.Nodes {
		n += int64(tr.Nodes[i].GPUs)
	}
	return n
}

// Open reads a node list and a task list from files, plain or gzip.
func Open(nodes, tasks string) (*Trace, error) {
	n, err := os.Open(nodes)
	if err != nil {
		return nil, fmt.Errorf("open the node list: %w", err)
	}
	defer n.Close()
	t, err := os.Open(tasks)
	if err != nil {
		return nil, fmt.Errorf("open the task list: %w", err)
	}
	defer t.Close()
	return Read(n, t)
}

// Read reads a node list and a task list, plain or gzip, as CSV with a header:
// sn,cpu_milli,memory_mib,gpu,model and
// name,cpu_milli,memory_mib,num_gpu,gpu_milli[,gpu_spec,…,creation_time,deletion_time,scheduled_time].
// Columns may stand in any order; others are ignored. Models in gpu_spec are separated by "|".
func Read(nodes, tasks io.Reader) (*Trace, error) {
	tr := &Trace{}
	err := each(nodes, "node list", []string{"sn", "cpu_milli", "memory_mib", "gpu", "model"}, func(r row) error {
		n := Node{Name: r.text("sn"), CPU: r.number("cpu_milli", maxCPU), Memory: r.number("memory_mib", maxMemory), GPUs: int(r.number("gpu", maxGPUs)), Model: r.text("model")}
		tr.Nodes = append(tr.Nodes, n)
		return r.failed()
	})
	if err != nil {
		return nil, err
	}
	err = each(tasks, "task list", []string{"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"}, func(r row) error {
		t := Task{Name: r.text("name"), CPU: r.number("cpu_milli", maxCPU), Memory: r.number("memory_mib", maxMemory), GPUs: int(r.number("num_gpu", maxGPUs)), Milli: int(r.number("gpu_milli", 1000))}
		if spec := r.text("gpu_spec"); spec != "" {
			t.Models = strings.Split(spec, "|")
			slices.Sort(t.Models)
			t.Models = slices.Compact(t.Models)
		}
		t.Duration = r.duration()
		if err := r.failed(); err != nil {
			return err
		}
		switch {
		case t.GPUs == 0:
			t.Milli = 0
		case t.Milli == 0:
			return r.bad("gpu_milli", "a task with GPUs needs 1 to 1000 of each")
		}
		tr.Tasks = append(tr.Tasks, t)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(tr.Nodes) == 0 || len(tr.Tasks) == 0 || tr.GPUs() == 0 {
		return nil, fmt.Errorf("%d nodes with %d GPUs and %d tasks: an experiment needs at least one of each", len(tr.Nodes), tr.GPUs(), len(tr.Tasks))
	}
	tr.classify()
	return tr, nil
}

// What a list may say at most; more is taken for a mistake of units.
const (
	maxCPU    = 1 << 30
	maxMemory = 1 << 40
	maxGPUs   = 64
	maxTime   = 1 << 40
)

// classify numbers the distinct needs in the order of first appearance.
func (tr *Trace) classify() {
	seen := map[string]int{}
	for i := range tr.Tasks {
		t := &tr.Tasks[i]
		key := fmt.Sprint(t.CPU, t.Memory, t.GPUs, t.Milli, strings.Join(t.Models, "|"))
		c, ok := seen[key]
		if !ok {
			c = len(seen)
			seen[key] = c
		}
		t.Class = c
	}
	tr.Classes = len(seen)
}

// row is one line of a list; the first error stays.
type row struct {
	list   string
	line   int
	column map[string]int
	cells  []string
	err    *error
}

func (r row) text(name string) string {
	if i, ok := r.column[name]; ok {
		return strings.TrimSpace(r.cells[i])
	}
	return ""
}

func (r row) number(name string, most int64) int64 {
	v, err := strconv.ParseInt(r.text(name), 10, 64)
	if err != nil || v < 0 || v > most {
		*r.err = cmp.Or(*r.err, r.bad(name, fmt.Sprintf("want a whole number from 0 to %d", most)))
		return 0
	}
	return v
}

// duration is from being placed to leaving, 0 where the list does not say.
func (r row) duration() int64 {
	if r.text("scheduled_time") == "" || r.text("deletion_time") == "" {
		return 0
	}
	return max(r.number("deletion_time", maxTime)-r.number("scheduled_time", maxTime), 0)
}

func (r row) bad(name, want string) error {
	return fmt.Errorf("%s, line %d: %s %q: %s", r.list, r.line, name, r.text(name), want)
}

func (r row) failed() error { return *r.err }

// each calls fn for every line of a CSV list.
func each(in io.Reader, list string, want []string, fn func(row) error) error {
	plain := bufio.NewReader(in)
	if magic, err := plain.Peek(2); err == nil && bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(plain)
		if err != nil {
			return fmt.Errorf("%s: %w", list, err)
		}
		defer z.Close()
		plain = bufio.NewReader(z)
	}
	lines := csv.NewReader(plain)
	lines.ReuseRecord = true
	head, err := lines.Read()
	if err != nil {
		return fmt.Errorf("%s: no header: %w", list, err)
	}
	column := map[string]int{}
	for i, name := range head {
		column[strings.TrimSpace(strings.TrimPrefix(name, "\ufeff"))] = i
	}
	for _, name := range want {
		if _, ok := column[name]; !ok {
			return fmt.Errorf("%s: no column %q: want a header with %s", list, name, strings.Join(want, ", "))
		}
	}
	for {
		cells, err := lines.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", list, err)
		}
		line, _ := lines.FieldPos(0)
		var broken error
		if err := fn(row{list: list, line: line, column: column, cells: cells, err: &broken}); err != nil {
			return err
		}
	}
}
