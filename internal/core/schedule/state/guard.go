package state

import (
	"fmt"
	"runtime/debug"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
)

// Safely runs do, which plans with st, or asks it, and reports what went wrong,
// or nil. After a fault st must be made anew.
func (st *State) Safely(do func()) *schedule.Fault {
	st.At, st.Most = nil, 0
	f := &schedule.Fault{}
	if f.What, f.Stack = rescue(do); f.What == "" {
		return nil
	}
	if st.At != nil {
		f.Job = st.At.ID
	}
	c := st.Copy(st.Now, nil)
	if st.Fill != nil {
		c.work = st.Fill.Shapes
	}
	f.Record = c.Record()
	return f
}

// Safely runs do, which asks states made of c on behalf of job id, and reports
// what went wrong, or nil.
func (c *Copy) Safely(id core.WorkloadID, do func()) *schedule.Fault {
	f := &schedule.Fault{Job: id}
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

// The most steps of one look at one job: turnSteps, and turnEach for every task
// that is known. The dearest look, which sends every task of a pool away and
// settles them again and again, takes a tenth of that.
const turnSteps, turnEach = 1_000_000, 1000

// BeginLook begins a look at j: should it fail or not end, that is known of whom.
func (st *State) BeginLook(a schedule.Action, j *ledger.Job) {
	wants := 0
	for g := range j.Shape.Groups {
		wants += j.Shape.Groups[g].Wants()
	}
	st.At, st.steps, st.Most = j, 0, turnSteps+turnEach*(st.seats+wants)
	if st.Cfg.Trap != nil {
		st.Cfg.Trap.Look(a, j.ID)
	}
}

// tick counts one step of the present look.
func (st *State) tick() {
	if st.steps++; st.steps > st.Most && st.Most > 0 {
		panic(fmt.Sprintf("the look at %s has not ended after %d steps", st.At.ID, st.Most))
	}
}
