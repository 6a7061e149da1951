// Package replay runs a trace of jobs through a scheduling policy in virtual
// time, and reports what each policy makes people wait for. The engine owns
// jobs, nodes and clock; a policy only says who starts and who must leave.
// Everything is in whole seconds and the same input gives the same run, to the
// second: a run has a check value that others can compare.
package replay

import (
	"container/heap"
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/simulate/trace"
)

// Cluster is what the jobs run on: equal nodes of equal GPUs.
type Cluster struct {
	Nodes       int `json:"nodes"`
	GPUsPerNode int `json:"gpusPerNode"`
}

// GPUs is how many there are.
func (c Cluster) GPUs() int { return c.Nodes * c.GPUsPerNode }

// Policy decides. All its methods are called by the engine, one at a time.
type Policy interface {
	// Begin is called once, before anything happens.
	Begin(e *Engine)
	// Arrive says that a job is now waiting.
	Arrive(e *Engine, id int)
	// Pass may start and preempt; it is called once for each instant at which
	// something happened, after all that happened.
	Pass(e *Engine)
}

// ender is a policy that wants to know who has completed.
type ender interface{ End(e *Engine, id int) }

// alarmed is a policy that sets alarms.
type alarmed interface{ Alarm(e *Engine, id int) }

// Observer is told what happens, in the order of time. Recorder is one.
type Observer interface {
	// Submitted comes once for each job, at its time of submission.
	Submitted(j trace.Job)
	// Started comes for the first and each later start of a job.
	Started(id int, at int64)
	// Preempted ends a run; lost is how many seconds of work must be done again.
	Preempted(id int, at, lost int64)
	// Finished ends the last run of a job.
	Finished(id int, at int64)
}

// progress is what the engine knows of one job.
type progress struct {
	left    int64 // seconds of work to do, as of start
	start   int64 // of the present run
	run     int   // grows with each start and end, so that old entries of the agenda are known
	running bool
	parts   []Part
}

// Engine is one run. Policies read it and call Start and Preempt.
type Engine struct {
	Jobs    []trace.Job
	Cluster Cluster

	now     int64
	at      []progress
	nodes   nodes
	trial   nodes
	running []int // ids by (start, id)
	ends    agenda
	alarms  agenda
	watch   Observer
}

// Run replays the jobs, which are as trace.Read returns them, and returns when
// the last has completed. It returns an error if a job is larger than the
// cluster, or if the policy leaves jobs waiting for ever.
func Run(jobs []trace.Job, c Cluster, p Policy, watch Observer) error {
	if c.Nodes < 1 || c.GPUsPerNode < 1 {
		return fmt.Errorf("replay: a cluster of %d nodes with %d GPUs: want at least 1 of each", c.Nodes, c.GPUsPerNode)
	}
	e := &Engine{Jobs: jobs, Cluster: c, at: make([]progress, len(jobs)), nodes: newNodes(c.Nodes, c.GPUsPerNode), watch: watch}
	for i, j := range jobs {
		if j.ID != i {
			return fmt.Errorf("replay: job %d is at place %d; want jobs sorted and numbered as trace.Read returns them", j.ID, i)
		}
		if !e.nodes.fits(j.GPUs) {
			return fmt.Errorf("replay: job %d wants %d GPUs, but the cluster has %d nodes of %d; take a larger cluster, or leave the job out",
				i, j.GPUs, c.Nodes, c.GPUsPerNode)
		}
		e.at[i].left = j.Duration
	}
	p.Begin(e)
	return e.loop(p)
}

func (e *Engine) loop(p Policy) error {
	end, _ := p.(ender)
	alarm, _ := p.(alarmed)
	arrived, done := 0, 0
	for done < len(e.Jobs) {
		if !e.advance(arrived) {
			return fmt.Errorf("replay: at second %d nothing runs and nothing is due, but %d jobs wait; the policy starts none of them", e.now, arrived-done)
		}
		for id, ok := e.due(&e.ends); ok; id, ok = e.due(&e.ends) {
			e.finish(id)
			done++
			if end != nil {
				end.End(e, id)
			}
		}
		for id, ok := e.due(&e.alarms); ok; id, ok = e.due(&e.alarms) {
			alarm.Alarm(e, id)
		}
		for ; arrived < len(e.Jobs) && e.Jobs[arrived].Submit == e.now; arrived++ {
			e.watch.Submitted(e.Jobs[arrived])
			p.Arrive(e, arrived)
		}
		p.Pass(e)
	}
	return nil
}

// advance moves the clock to the next instant at which something happens.
func (e *Engine) advance(arrived int) bool {
	found := false
	earlier := func(t int64) {
		if !found || t < e.now {
			e.now, found = t, true
		}
	}
	if arrived < len(e.Jobs) {
		earlier(e.Jobs[arrived].Submit)
	}
	for _, a := range []*agenda{&e.ends, &e.alarms} {
		e.prune(a)
		if len(*a) > 0 {
			earlier((*a)[0].at)
		}
	}
	return found
}

// prune drops what was noted for a run that has ended since.
func (e *Engine) prune(a *agenda) {
	for len(*a) > 0 && (*a)[0].run != e.at[(*a)[0].id].run {
		heap.Pop(a)
	}
}

func (e *Engine) due(a *agenda) (id int, ok bool) {
	e.prune(a)
	if len(*a) == 0 || (*a)[0].at > e.now {
		return 0, false
	}
	return heap.Pop(a).(entry).id, true
}

// Now is the present instant, in seconds since the first submission.
func (e *Engine) Now() int64 { return e.now }

// Fits says whether a job of so many GPUs could start now.
func (e *Engine) Fits(gpus int) bool { return e.nodes.fits(gpus) }

// Running lists the running jobs by start, and those of one second by id. It
// is valid until the next start or end.
func (e *Engine) Running() []int { return e.running }

// Elapsed is how long the present run of a running job has lasted, in seconds.
func (e *Engine) Elapsed(id int) int64 { return e.now - e.at[id].start }

// Left is how much work a job has to do, in seconds.
func (e *Engine) Left(id int) int64 {
	if e.at[id].running {
		return e.at[id].left - e.Elapsed(id)
	}
	return e.at[id].left
}

// Start starts a waiting job if it fits, and says whether it did.
func (e *Engine) Start(id int) bool {
	parts := e.nodes.place(e.Jobs[id].GPUs)
	if parts == nil {
		return false
	}
	e.StartOn(id, parts)
	return true
}

// StartOn starts a waiting job on given nodes, which must have room. No parts
// at all: only the policy counts GPUs.
func (e *Engine) StartOn(id int, parts []Part) {
	a := &e.at[id]
	e.nodes.take(parts)
	a.running, a.start, a.parts = true, e.now, parts
	a.run++
	heap.Push(&e.ends, entry{at: e.now + a.left, id: id, run: a.run})
	i := len(e.running)
	for i > 0 && e.at[e.running[i-1]].start == e.now && e.running[i-1] > id {
		i--
	}
	e.running = slices.Insert(e.running, i, id)
	e.watch.Started(id, e.now)
}

// Preempt ends the run of a running job, which then has lost more seconds of
// work to do. The policy must queue it again.
func (e *Engine) Preempt(id int, lost int64) {
	e.at[id].left = e.Left(id) + lost
	e.leave(id)
	e.watch.Preempted(id, e.now, lost)
}

// SetAlarm has the policy called at an instant not in the past, unless the
// job has started or been preempted until then.
func (e *Engine) SetAlarm(id int, at int64) {
	heap.Push(&e.alarms, entry{at: at, id: id, run: e.at[id].run})
}

// Victims picks who must leave for a job of so many GPUs to fit: candidates in
// their order until it fits; then, last first, each is spared without which it
// fits too. Nil: it would not fit if all of them left.
func (e *Engine) Victims(gpus int, candidates func(yield func(id int) bool)) []int {
	free := &e.trial
	free.copyFrom(&e.nodes)
	var taken []int
	for id := range candidates {
		taken = append(taken, id)
		free.give(e.at[id].parts)
		if free.fits(gpus) {
			break
		}
	}
	if !free.fits(gpus) {
		return nil
	}
	for i := len(taken) - 1; i >= 0; i-- {
		parts := e.at[taken[i]].parts
		free.take(parts)
		if free.fits(gpus) {
			taken = slices.Delete(taken, i, i+1)
		} else {
			free.give(parts)
		}
	}
	return taken
}

func (e *Engine) finish(id int) {
	e.leave(id)
	e.at[id].left = 0
	e.watch.Finished(id, e.now)
}

func (e *Engine) leave(id int) {
	a := &e.at[id]
	e.nodes.give(a.parts)
	a.running, a.parts = false, nil
	a.run++
	i := slices.Index(e.running, id)
	e.running = slices.Delete(e.running, i, i+1)
}

// entry is something due: the run is the one it was noted for.
type entry struct {
	at  int64
	id  int
	run int
}

// agenda is a heap by (time, id).
type agenda []entry

func (a agenda) Len() int      { return len(a) }
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a agenda) Less(i, j int) bool {
	return a[i].at < a[j].at || a[i].at == a[j].at && a[i].id < a[j].id
}
func (a *agenda) Push(x any) { *a = append(*a, x.(entry)) }
func (a *agenda) Pop() any {
	old := *a
	last := old[len(old)-1]
	*a = old[:len(old)-1]
	return last
}
