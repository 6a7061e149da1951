package draft

import (
	"strconv"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine/workload"
)

// Usage is what is held of one node.
type Usage struct {
	Cpu, Memory int64
	Milli       map[string]int // by device ID, thousandths
	Counted     map[string]int // by name
	Ports       map[int]int    // how many tasks have been given each
	Tasks       int
}

// charge adds (sign 1) or removes (sign -1) what a held task takes of its node.
func (e *State) charge(w *core.Workload, t *core.Task, sign int) {
	e.Spending.Hold(w, t, sign)
	u := e.Usage[t.Node]
	if u == nil {
		u = &Usage{Milli: map[string]int{}, Counted: map[string]int{}, Ports: map[int]int{}}
		e.Usage[t.Node] = u
	}
	cpu, memory := workload.Taken(w, t)
	u.Cpu += int64(sign) * cpu
	u.Memory += int64(sign) * memory
	u.Tasks += sign
	for _, p := range workload.Ports(w, t) {
		u.Ports[p] += sign
		if u.Ports[p] == 0 {
			delete(u.Ports, p)
		}
	}
	if all := workload.Counted(w, t); all != "" {
		for part := range strings.SplitSeq(all, ",") {
			name, text, _ := strings.Cut(part, "=")
			n, _ := strconv.Atoi(text)
			if u.Counted[name] += sign * n; u.Counted[name] == 0 {
				delete(u.Counted, name)
			}
		}
	}
	for _, s := range t.Devices {
		u.Milli[s.Device] += sign * s.Milli
		if u.Milli[s.Device] == 0 {
			delete(u.Milli, s.Device)
		}
	}
}

// Succeed closes the books of the task of that index, where it had to leave,
// and returns the number of the run that follows.
func (d *Draft) Succeed(index int) int {
	t := d.Tasks.At(index)
	if t == nil {
		return 0
	}
	d.W.GPUSeconds += workload.ChargedTask(t, t.ReleasedAt)
	if _, unwritten := d.Changed[index]; unwritten {
		d.former = append(d.former, t)
	}
	return t.ID.Run + 1
}

// Close makes history of tasks that have ended and whose places others have
// taken: they stay in the store, and nothing is kept of them that would grow with
// the life of a workload which has ever new tasks. It must run inside change.
func (d *Draft) Close(over func(*core.Task) bool) {
	for _, t := range workload.SortedTasks(d.Tasks) {
		if !t.State.Ended() || t.ReleasedAt.IsZero() || !over(t) {
			continue
		}
		c := *t
		c.Closed = true
		d.W.GPUSeconds += workload.ChargedTask(&c, c.ReleasedAt)
		d.former = append(d.former, &c)
		d.Tasks.Delete(c.ID.Index)
		delete(d.Changed, c.ID.Index)
	}
}

// keptBy is what the last tasks of an attempt held: that quota stays with a
// workload that keeps its reservation while it moves; nil: nothing.
func (tx *Tx) keptBy(w *core.Workload, tasks *workload.Tasks) *core.Earmark {
	var m core.Earmark
	for _, t := range workload.SortedTasks(tasks) {
		if t.Node == "" || !t.ReleasedAt.Equal(workload.Later(tx.Now, t.PlacedAt)) {
			continue
		}
		cpu, memory := workload.Taken(w, t)
		m.Pool, m.CPU, m.Memory = t.Pool, m.CPU+cpu, m.Memory+memory
		m.GPU += workload.MilliOf(w, t)
	}
	if m.Pool == "" {
		return nil
	}
	return &m
}
