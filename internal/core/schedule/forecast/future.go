package forecast

import (
	"cmp"
	"maps"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/core/schedule/displace"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// windowEdges is how many times of one window a forecast knows.
const windowEdges = 16

// future is a simulation in which plans take effect at once.
type future struct {
	st     *state.State
	cfg    schedule.Config
	id     core.WorkloadID
	start  int64
	now    int64
	jobs   map[core.WorkloadID]*schedule.Job
	spans  map[core.WorkloadID]Span
	pick   func(Span) int64
	ends   []Freed // sorted by time; an empty ID: only an instant to look at
	gone   map[core.NodeID][]Freed
	starts map[core.WorkloadID]int64
	freed  []Freed
	places []schedule.Placed         // of the job itself
	length map[core.WorkloadID]int64 // of a run, from its start
	keep   map[core.WorkloadID]int   // for how many tasks of whom others have left
	looks  int
	due    int64 // from when others have to give way to the job itself
	owed   bool  // others have left for it
	until  int64
	// waiting is how many hold nothing at first; who asks of all is done once they
	// have started.
	waiting int
	// relieved are those who start because they have waited for too long.
	relieved []core.WorkloadID
	madeRoom map[core.WorkloadID]bool // for whom others have left
	task     int
	track    *track // who holds what meanwhile; nil: nobody asks
	last     int64  // until when it is looked at most (unix ms); 0: as far as ends are known
}

func newFuture(c *state.Copy, id core.WorkloadID, spans map[core.WorkloadID]Span, pick func(Span) int64) *future {
	f := &future{
		st: c.State(), cfg: c.Config, id: id, start: c.Now, now: c.Now, spans: spans, pick: pick, task: 1 << 30,
		jobs: make(map[core.WorkloadID]*schedule.Job, len(c.Jobs)), gone: map[core.NodeID][]Freed{}, starts: map[core.WorkloadID]int64{},
		length: map[core.WorkloadID]int64{}, keep: map[core.WorkloadID]int{}, madeRoom: map[core.WorkloadID]bool{},
	}
	for _, j := range c.Jobs {
		f.jobs[j.ID] = &j
		if len(j.Held) == 0 {
			f.waiting++
		}
		if at := pick(spans[j.ID]); len(j.Held) == 0 {
			f.length[j.ID] = at
		} else if at > 0 && j.Started > 0 {
			f.length[j.ID] = max(at-j.Started, 1)
		}
		if j.ID == id {
			f.due = j.Due
		}
		at, stays := pick(spans[j.ID]), func(h schedule.Held) bool { return !h.Leaving || h.Stuck }
		switch {
		case slices.ContainsFunc(j.Held, func(h schedule.Held) bool { return !stays(h) }) && (at == 0 || slices.ContainsFunc(j.Held, stays)):
			f.ends = append(f.ends, Freed{j.ID, f.now + LeaveTime})
		case at > 0 && len(j.Held) > 0:
			f.ends = append(f.ends, Freed{j.ID, max(at, f.now)})
		}
		for _, at := range []int64{j.Patient, j.Due, j.Starved} {
			if (j.ID == id || id == "" && len(j.Held) == 0) && at > f.now {
				f.ends = append(f.ends, Freed{At: at})
			}
		}
	}
	f.ends = append(f.ends, f.reliefs()...)
	for i := range c.Windows {
		for _, at := range c.Windows[i].Edges(f.now, windowEdges) {
			f.ends = append(f.ends, Freed{At: at})
		}
	}
	slices.SortFunc(f.ends, sooner)
	return f
}

// reliefs are instants from which those who run may have to leave for the job
// itself, once it has waited for as long as it is to: the first few of them.
func (f *future) reliefs() []Freed {
	j := f.jobs[f.id]
	if j == nil || j.Due == 0 || len(j.Held) > 0 {
		return nil
	}
	var out []Freed
	for _, v := range f.jobs {
		if len(v.Held) == 0 || v.Started == 0 || !v.Preemptible {
			continue
		}
		if at := max(displace.From(f.cfg.Quantum, v, j.Expected), j.Due); at > f.now {
			out = append(out, Freed{At: at})
		}
	}
	slices.SortFunc(out, sooner)
	out = slices.CompactFunc(out, func(a, b Freed) bool { return a.At == b.At })
	return out[:min(len(out), reliefsLooked)]
}

// reliefsLooked is at how many instants somebody may begin to make room.
const reliefsLooked = 16

func sooner(a, b Freed) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID)) }

// run returns when the job starts; 0: not within what is known.
func (f *future) run() int64 {
	for step := range forecastEvents {
		cfg := f.cfg
		if step >= fullSteps && step%fullEvery > 0 {
			cfg.Actions, cfg.Quantum = []schedule.Action{schedule.Allocate}, 0
		}
		f.st.Configure(cfg)
		if f.stabilize(len(cfg.Actions) != 1) {
			return f.now
		}
		if len(f.ends) == 0 || f.last > 0 && f.ends[0].At > f.last {
			return 0
		}
		if f.looks > forecastLooks {
			break
		}
		f.advance()
	}
	f.until = f.now
	return 0
}

// stabilize plans until nothing more happens at this instant, and reports whether
// the job has started. displaces is that somebody
// may be displaced, which costs more.
func (f *future) stabilize(displaces bool) bool {
	for range steadyRounds {
		classes := f.st.Classes()
		f.looks += classes + 1
		if displaces {
			f.looks += wholeLooks * classes
		}
		p := cycle.Run(f.st, f.now)
		if len(p.Placements)+len(p.Evictions) == 0 {
			return false
		}
		for _, pl := range p.Placements {
			f.place(pl)
		}
		if _, ok := f.starts[f.id]; ok || f.id == "" && f.track == nil && len(f.starts) >= f.waiting {
			return true
		}
		for _, e := range p.Evictions {
			f.evict(e)
		}
		f.promise(p)
	}
	return false
}

// place lets tasks run.
func (f *future) place(pl schedule.Placement) {
	j := f.jobs[pl.ID]
	groups, taken := slices.Clone(j.Shape.Groups), make([]int, len(j.Shape.Groups))
	held := slices.Clone(j.Held)
	for _, t := range pl.Tasks {
		if t.Moves {
			if k := slices.IndexFunc(held, func(h schedule.Held) bool { return h.Task == t.Task && h.Group == t.Group }); k >= 0 {
				held[k].Place, held[k].Leaving = t.Place, false
				continue
			}
		}
		r := runAt(groups[t.Group].Runs, taken[t.Group])
		if r == nil {
			continue
		}
		taken[t.Group]++
		f.task++
		held = append(held, schedule.Held{Group: t.Group, Task: f.task, Need: r.Need, Rule: r.Rule, Place: t.Place})
	}
	for g := range groups {
		groups[g].Runs = Without(groups[g].Runs, taken[g])
	}
	switch {
	case len(j.Held) == 0 && len(held) > 0:
		f.begin(j, pl)
	case len(held) > len(j.Held) && j.ID == f.id: // some of it ran already
		f.starts[j.ID], f.places = f.now, pl.Tasks
		f.cause(pl)
	}
	j.Held, j.Shape, j.Promised, j.BelowSince = held, schedule.NewShape(j.Shape.Sets, groups), false, 0
	f.put(j)
}

// put is what a job has become.
func (f *future) put(j *schedule.Job) {
	f.track.follow(j, f.now)
	f.st.PutJob(*j)
}

// begin notes a start.
func (f *future) begin(j *schedule.Job, pl schedule.Placement) {
	j.Started = f.now
	if j.MaxRun > 0 {
		j.EndsBy = f.now + j.MaxRun
	}
	// Of who starts because he has waited for too long only the latest start is
	// known, which is nothing to tell others.
	relieved := j.Due > 0 && f.now >= j.Due && f.madeRoom[j.ID]
	if _, before := f.starts[j.ID]; !before && (f.id == "" || j.ID == f.id || !relieved) {
		f.starts[j.ID] = f.now
		if relieved && j.ID != f.id {
			f.relieved = append(f.relieved, j.ID)
		}
	}
	if j.ID == f.id {
		f.places = pl.Tasks
		f.cause(pl)
		return
	}
	if length := f.length[j.ID]; length > 0 {
		e := Freed{j.ID, f.now + length}
		i, _ := slices.BinarySearchFunc(f.ends, e, sooner)
		f.ends = slices.Insert(f.ends, i, e)
	}
}

// cause finds who has made the room in which the job starts.
func (f *future) cause(pl schedule.Placement) {
	seen := map[core.WorkloadID]bool{}
	for _, t := range pl.Tasks {
		for _, x := range f.gone[t.Place.Node] {
			if !seen[x.ID] {
				seen[x.ID] = true
				f.freed = append(f.freed, x)
			}
		}
	}
	slices.SortFunc(f.freed, sooner)
}

// runAt is the run of the n-th task that is still to be placed, or nil.
func runAt(runs []schedule.Run, n int) *schedule.Run {
	for i := range runs {
		if n < runs[i].Count {
			return &runs[i]
		}
		n -= runs[i].Count
	}
	return nil
}

// Without is runs less the first n tasks.
func Without(runs []schedule.Run, n int) []schedule.Run {
	var out []schedule.Run
	for _, r := range runs {
		k := min(n, r.Count)
		n -= k
		if r.Count -= k; r.Count > 0 {
			out = append(out, r)
		}
	}
	return out
}

// evict takes the places of tasks, which wait for one again.
func (f *future) evict(e schedule.Eviction) {
	f.part(f.jobs[e.ID], func(h *schedule.Held) bool { return slices.Contains(e.Tasks, h.Task) })
}

// part takes away what gone says; all of it waits again.
func (f *future) part(j *schedule.Job, gone func(*schedule.Held) bool) {
	groups := slices.Clone(j.Shape.Groups)
	for g := range groups {
		groups[g].Runs = slices.Clone(groups[g].Runs)
	}
	var held []schedule.Held
	for _, h := range j.Held {
		if !gone(&h) {
			held = append(held, h)
			continue
		}
		runs := &groups[h.Group].Runs
		if k := slices.IndexFunc(*runs, func(r schedule.Run) bool { return r.Need == h.Need && r.Rule == h.Rule }); k >= 0 {
			(*runs)[k].Count++
		} else {
			*runs = append(*runs, schedule.Run{Need: h.Need, Rule: h.Rule, Count: 1})
		}
	}
	j.Held, j.Shape = held, schedule.NewShape(j.Shape.Sets, groups)
	if len(held) == 0 {
		j.Started, j.Since, j.BelowSince, j.EndsBy, j.Likely = 0, f.now, 0, 0, 0
		f.ends = slices.DeleteFunc(f.ends, func(x Freed) bool { return x.ID == j.ID })
	}
	f.put(j)
}

// promise remembers for whom others have left: they go first.
func (f *future) promise(p *schedule.Plan) {
	now := map[core.WorkloadID]int{}
	for _, pl := range p.Promises {
		if slices.ContainsFunc(pl.Tasks, func(t schedule.Placed) bool { return !t.Moves }) {
			now[pl.ID] = len(pl.Tasks)
		}
	}
	f.owed = f.owed || now[f.id] > 0
	for id := range now {
		f.madeRoom[id] = true
	}
	for _, set := range []map[core.WorkloadID]int{f.keep, now} {
		for _, id := range slices.Sorted(maps.Keys(set)) {
			if j := f.jobs[id]; j != nil && (j.Promised != (now[id] > 0) || j.Owed != now[id]) {
				j.Promised, j.Owed = now[id] > 0, now[id]
				f.st.PutJob(*j)
			}
		}
	}
	f.keep = now
}

// closeEnough is of how many parts of the time until then one does not matter.
const closeEnough = 64

// advance goes to the next end. Ends that are close together, measured by how
// far off they are, count as one, which bounds the number of cycles.
func (f *future) advance() {
	last := f.ends[0].At + max(1000, (f.ends[0].At-f.start)/closeEnough)
	n := 0
	for ; n < len(f.ends) && f.ends[n].At <= last; n++ {
		f.now = max(f.now, f.ends[n].At)
	}
	over := slices.Clone(f.ends[:n])
	f.ends = slices.Delete(f.ends, 0, n)
	for _, x := range over {
		j := f.jobs[x.ID]
		if j == nil {
			continue
		}
		for _, h := range j.Held {
			f.gone[h.Place.Node] = append(f.gone[h.Place.Node], x)
		}
		f.st.DropJob(x.ID)
		if !slices.ContainsFunc(j.Held, func(h schedule.Held) bool { return h.Leaving }) {
			f.track.left(x.ID, f.now)
			delete(f.jobs, x.ID)
			continue
		}
		// Only those go who were told to; who stays has his own end.
		j.Held = slices.DeleteFunc(slices.Clone(j.Held), func(h schedule.Held) bool { return h.Leaving && !h.Stuck })
		if at := f.pick(f.spans[x.ID]); at > f.now && len(j.Held) > 0 {
			e := Freed{x.ID, at}
			i, _ := slices.BinarySearchFunc(f.ends, e, sooner)
			f.ends = slices.Insert(f.ends, i, e)
		}
		f.put(j)
	}
}
