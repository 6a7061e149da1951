package schedule

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule/fragmentation"
)

// Fault is a fault of the scheduler itself: planning panicked, or came to no
// end. The state in which that happened is of no use any more.
type Fault struct {
	Job    core.WorkloadID `json:"workload,omitempty"` // whose turn it was; empty: nobody's
	What   string          `json:"what"`
	Stack  string          `json:"stack"`
	Record Record          `json:"record"` // what it planned, so that it can be planned again
}

// Record is everything that a cycle goes by. As JSON it can be kept, and loaded
// elsewhere.
type Record struct {
	Snapshot
	Config Config
	Work   []fragmentation.Shape // the usual work, where the state knew it
}

// Safely runs do, which plans with st, or asks it, and reports what went wrong,
// or nil. After a fault st must be made anew.
func (st *State) Safely(do func()) *Fault {
	st.at, st.most = nil, 0
	f := &Fault{}
	if f.What, f.Stack = rescue(do); f.What == "" {
		return nil
	}
	if st.at != nil {
		f.Job = st.at.ID
	}
	c := st.Copy(st.now, nil)
	if st.fill != nil {
		c.work = st.fill.told
	}
	f.Record = c.Record()
	return f
}

// Safely runs do, which asks states made of c on behalf of job id, and reports
// what went wrong, or nil.
func (c *Copy) Safely(id core.WorkloadID, do func()) *Fault {
	f := &Fault{Job: id}
	if f.What, f.Stack = rescue(do); f.What == "" {
		return nil
	}
	f.Record = c.Record()
	return f
}

func rescue(do func()) (what, stack string) {
	defer func() {
		if r := recover(); r != nil {
			what, stack = fmt.Sprint(r), string(debug.Stack())
		}
	}()
	do()
	return "", ""
}

// Record is c as it can be kept.
func (c *Copy) Record() Record {
	r := Record{Snapshot: c.Snapshot, Config: c.cfg, Work: c.work}
	r.Nodes, r.Jobs, r.Pools = slices.Clone(c.Nodes), slices.Clone(c.Jobs), slices.Clone(c.Pools)
	slices.SortFunc(r.Nodes, func(a, b Node) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(r.Jobs, func(a, b Job) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(r.Pools, func(a, b Pool) int { return cmp.Compare(a.Name, b.Name) })
	return r
}

// Again plans what was recorded, and asks why the fault's job waits where that
// goes well. It returns the plan, or what has gone wrong again.
func (f *Fault) Again() (*Plan, *Fault) {
	r := &f.Record
	for i := range r.Jobs {
		if sh := r.Jobs[i].Shape; sh != nil && sh.Key == "" { // it comes from a file
			r.Jobs[i].Shape = NewShape(sh.Sets, sh.Groups)
		}
	}
	var plan *Plan
	st := NewState(r.Config)
	again := st.Safely(func() {
		st.load(&r.Snapshot)
		if r.Work != nil {
			st.SetWork(r.Work)
		}
		plan = st.Cycle(r.Now)
		st.Explain(r.Now, f.Job)
	})
	return plan, again
}

// Trap is called before each look at a job; what it does is as if the scheduler
// did it. It is for tests of what becomes of a fault.
type Trap struct {
	Look func(a Action, id core.WorkloadID)
}

// Trapped sets a trap.
func Trapped(t *Trap) Option { return func(p *Policy) { p.Trap = t } }

// The most steps of one look at one job: turnSteps, and turnEach for every task
// that is known. The dearest look, which sends every task of a pool away and
// settles them again and again, takes a tenth of that.
const turnSteps, turnEach = 1_000_000, 1000

// turn begins a look at j: should it fail or not end, that is known of whom.
func (st *State) turn(a Action, j *job) {
	wants := 0
	for g := range j.Shape.Groups {
		wants += j.Shape.Groups[g].wants()
	}
	st.at, st.steps, st.most = j, 0, turnSteps+turnEach*(st.seats+wants)
	if st.cfg.Trap != nil {
		st.cfg.Trap.Look(a, j.ID)
	}
}

// tick counts one step of the present look.
func (st *State) tick() {
	if st.steps++; st.steps > st.most && st.most > 0 {
		panic(fmt.Sprintf("the look at %s has not ended after %d steps", st.at.ID, st.most))
	}
}

// failed says that the scheduler has failed over a job, and what becomes of it.
func (r Reason) failed() string {
	if r.Until == 0 {
		return "the scheduler failed while it worked this out"
	}
	return "the scheduler failed while it looked at this workload, and plans without it until " + time.UnixMilli(r.Until).UTC().Format(time.RFC3339)
}
