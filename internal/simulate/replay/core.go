package replay

import (
	"fmt"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lengths"
	amounts "github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/state"
	"github.com/musterhq/muster/internal/simulate/trace"
)

// CoreOptions say how the program's own scheduler is run. Times are seconds.
type CoreOptions struct {
	// Quota is the GPUs of each project, and its weight beyond them; a project
	// that is not named has none, and the weight of one GPU.
	Quota map[string]int
	// Checkpoint is how much work a job that has to leave loses at most;
	// negative: all that it has done since its start.
	Checkpoint int64
	// Policy is in what the scheduler differs from that of a server that is told
	// nothing else.
	Policy []schedule.Option
	// Placement is the strategy of the one pool.
	Placement schedule.Strategy
}

// CoreDefaults are what a server does that is told nothing else, for work that
// writes a checkpoint every minute.
func CoreDefaults() CoreOptions {
	return CoreOptions{Checkpoint: checkpointSeconds, Placement: schedule.Fill}
}

// byCore is the program's own scheduler as a policy. Of how long jobs will run it
// knows what it has seen of others.
type byCore struct {
	o        CoreOptions
	policy   schedule.Policy
	state    *state.State
	shapes   map[int]*shapes
	nodes    map[core.NodeID]int
	jobs     []coreJob
	promised map[int]int // places in line, from 1
	waiting  int
	overdue  int  // of those waiting
	news     bool // since the last pass
	lengths  lengths.Book
	learnt   int // jobs that had arrived when it was last looked at what is usual
}

// shapes are a size's: of jobs that wait, and of those that run.
type shapes struct{ waits, runs *schedule.Shape }

// coreJob is what the scheduler is told of one job.
type coreJob struct {
	name    core.WorkloadID
	course  schedule.Course
	overdue bool // it waits, and its patience is over
	moved   bool // it left its place for another's sake, and is to have another
	held    []schedule.Held
}

// NewCore makes a policy of the program's own scheduler, for one run.
func NewCore(o CoreOptions) Policy {
	return &byCore{o: o, shapes: map[int]*shapes{}, nodes: map[core.NodeID]int{}, promised: map[int]int{}}
}

// instant is a time of the trace in the scheduler's clock, in which 0 is no time.
func instant(at int64) int64 { return (at + 1) * 1000 }

// second is the first second of the trace that is no earlier than an instant.
func second(at int64) int64 { return (at+999)/1000 - 1 }

const corePool = "default"

func (p *byCore) Begin(e *Engine) {
	p.policy = schedule.NewPolicy(p.o.Policy...)
	p.state = state.NewState(p.policy.Config)
	p.state.SetPools([]schedule.Pool{p.policy.Pool(corePool, p.o.Placement, p.o.Placement, 0)})
	p.state.SetQueues(p.queues(e.Jobs))
	devices := make([]core.Device, e.Cluster.GPUsPerNode)
	for d := range devices {
		devices[d] = core.Device{ID: fmt.Sprint(d), Index: d, Healthy: true}
	}
	for n := range e.Cluster.Nodes {
		id := core.NodeID(fmt.Sprintf("node-%06d", n))
		p.nodes[id] = n
		p.state.PutNode(schedule.Node{Node: core.Node{ID: id, Pool: corePool, Ready: true, Devices: devices}})
	}
	p.jobs = make([]coreJob, len(e.Jobs))
	for i := range e.Jobs {
		p.jobs[i].name = core.WorkloadID(fmt.Sprintf("%08d", i))
	}
}

// queues are the projects, the first to ask first.
func (p *byCore) queues(jobs []trace.Job) []schedule.Queue {
	var out []schedule.Queue
	known := map[string]bool{}
	for _, j := range jobs {
		if known[j.Project] {
			continue
		}
		known[j.Project] = true
		q := schedule.Queue{ID: queueOf(j.Project), Age: int64(len(out)), Default: schedule.Unlimited(), PreemptMin: -1, ReclaimMin: -1}
		q.Default.Quota[amounts.GPU] = int64(p.o.Quota[j.Project]) * 1000
		q.Default.Weight[amounts.GPU] = max(q.Default.Quota[amounts.GPU], 1000)
		out = append(out, q)
	}
	return out
}

// queueOf is a project's queue; a trace may leave the project out, an ID may not.
func queueOf(project string) core.ProjectID { return core.ProjectID("p:" + project) }

func (p *byCore) shapesOf(gpus, perNode int) *shapes {
	if s := p.shapes[gpus]; s != nil {
		return s
	}
	var waits, runs []schedule.Group
	add := func(name string, count, devices int) {
		if count > 0 && devices > 0 {
			g := schedule.Group{Name: name, Min: count}
			runs = append(runs, g)
			g.Runs = []schedule.Run{{Need: schedule.Need{Devices: devices, Milli: 1000}, Count: count}}
			waits = append(waits, g)
		}
	}
	add("whole", gpus/perNode, perNode)
	add("rest", 1, gpus%perNode)
	s := &shapes{schedule.Flat(waits...), schedule.Flat(runs...)}
	p.shapes[gpus] = s
	return s
}

func (p *byCore) Arrive(e *Engine, id int) {
	p.jobs[id].course = schedule.Course{Submitted: instant(e.Now()), Unsaved: p.o.Checkpoint < 0}
	p.news = true
	p.wait(e, id)
	if p.o.Placement == schedule.Fill && (p.learnt == 0 || id+1 >= p.learnt+max(learnEvery, min(p.learnt/2, learnAtMost))) {
		p.learnt = id + 1
		p.state.SetWork(p.state.Work())
	}
}

// It is looked at anew what work is usual after half as many arrivals again, as
// in control, but no sooner than after learnEvery and no later than after
// learnAtMost.
const learnEvery, learnAtMost = 32, 512

// wait puts a job into its queue, and has it looked at when its patience ends.
func (p *byCore) wait(e *Engine, id int) {
	j := &p.jobs[id]
	j.held = nil
	j.course.Queued = instant(e.Now())
	j.course.Expected = p.lengths.Left(classesOf(&e.Jobs[id]), j.course.Attained)
	p.waiting++
	if due := p.put(e, id).Due; due > 0 {
		e.SetAlarm(id, second(due))
	}
}

// Alarm comes when the patience of a waiting job ends, and when a running one
// may be displaced from then on.
func (p *byCore) Alarm(_ *Engine, id int) {
	switch {
	case p.jobs[id].held == nil:
		p.jobs[id].overdue = true
		p.overdue++
		p.news = true
	case p.waiting > 0:
		p.news = true
	}
}

// classesOf are those that a server would learn a job's length by: a trace tells
// no user and no name.
func classesOf(j *trace.Job) []lengths.Class {
	return []lengths.Class{{Key: fmt.Sprintf("%s|%d", j.Project, j.GPUs), Least: 5}, {Key: j.Project, Least: 10}}
}

func (p *byCore) End(e *Engine, id int) {
	p.lengths.Note(classesOf(&e.Jobs[id]), lengths.Length{Ms: e.Jobs[id].Duration * 1000})
	p.news = true
	p.state.DropJob(p.jobs[id].name)
	p.jobs[id].held = nil
}

// put tells the scheduler of a job as it is now, and returns what it was told.
func (p *byCore) put(e *Engine, id int) schedule.Job {
	j, in := &p.jobs[id], &e.Jobs[id]
	s := p.shapesOf(in.GPUs, e.Cluster.GPUsPerNode)
	out := schedule.Job{ID: j.name, Queue: queueOf(in.Project), Preemptible: true, Order: int64(id), Shape: s.waits, Promised: p.promised[id] > 0, Rank: p.promised[id], Moved: j.moved}
	if j.held != nil {
		out.Shape, out.Held, out.Started = s.runs, j.held, instant(e.Now()-e.Elapsed(id))
	}
	p.policy.Take(&out, j.course)
	p.state.PutJob(out)
	return out
}

// maxRounds bounds how often a plan is followed by another at one instant, as
// in control; it never comes to that.
const maxRounds = 1000

// Pass makes and carries out plans until one changes nothing. In a replay who
// is told to leave is gone at once.
func (p *byCore) Pass(e *Engine) {
	for round := 0; p.news && round < maxRounds; round++ {
		plan := cycle.Run(p.state, instant(e.Now()))
		changed := p.promise(e, plan)
		for _, ev := range plan.Evictions {
			p.evict(e, ev)
		}
		for _, pl := range plan.Placements {
			p.start(e, pl)
		}
		p.news = changed || len(plan.Evictions)+len(plan.Placements) > 0
	}
}

// promise remembers for whom room is about to be free, as control does.
func (p *byCore) promise(e *Engine, plan *schedule.Plan) (changed bool) {
	now := make(map[int]int, len(plan.Promises))
	for i, x := range plan.Promises {
		now[numberOf(x.ID)] = i + 1
	}
	before := p.promised
	p.promised = now
	for _, m := range []map[int]int{before, now} {
		for id := range m {
			if before[id] != now[id] {
				changed = true
				// Who was to move and has lost its new place waits like anyone: it
				// may be those next for whom others move.
				p.jobs[id].moved = p.jobs[id].moved && now[id] > 0
				p.put(e, id)
			}
		}
	}
	return changed
}

// numberOf is the job of a name that Begin made.
func numberOf(id core.WorkloadID) int {
	n := 0
	for _, c := range id {
		n = 10*n + int(c-'0')
	}
	return n
}

func (p *byCore) evict(e *Engine, ev schedule.Eviction) {
	id := numberOf(ev.ID)
	j := &p.jobs[id]
	had := e.Elapsed(id)
	lost := had
	if p.o.Checkpoint >= 0 {
		lost = min(had, p.o.Checkpoint)
	}
	j.course.Attained += had * 1000
	j.course.Displaced = true
	j.course.Times++
	e.Preempt(id, lost)
	j.moved = ev.Moves
	p.wait(e, id)
}

func (p *byCore) start(e *Engine, pl schedule.Placement) {
	id := numberOf(pl.ID)
	j := &p.jobs[id]
	parts := make([]Part, len(pl.Tasks))
	j.held = make([]schedule.Held, len(pl.Tasks))
	for i, t := range pl.Tasks {
		parts[i] = Part{p.nodes[t.Place.Node], len(t.Place.Devices)}
		j.held[i] = schedule.Held{Group: t.Group, Task: i, Need: schedule.Need{Devices: len(t.Place.Devices), Milli: 1000}, Place: t.Place}
	}
	p.waiting--
	if j.overdue {
		j.overdue = false
		p.overdue--
	}
	e.StartOn(id, parts)
	for _, safe := range []int64{p.policy.MinRuntime.Milliseconds(), p.policy.Quantum, p.policy.MoveRest} {
		if safe > 0 {
			e.SetAlarm(id, e.Now()+safe/1000)
		}
	}
	j.moved = false
	delete(p.promised, id)
	put := p.put(e, id)
	long, short := state.Shield(&put)
	for _, until := range []int64{long, short} {
		if until > 0 {
			e.SetAlarm(id, second(until))
		}
	}
}
