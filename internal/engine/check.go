package engine

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/planner"
	"github.com/musterhq/muster/internal/engine/workload"
)

// Check compares what the engine remembers with what it must be: its live
// workloads with a fresh read of the store, its indexes with a rebuild, and
// its last plan with a new one, which must find nothing to place. It is for
// tests and simulation, between two calls of Do, with a clock in UTC; it
// returns everything that differs.
func (e *Engine) Check(ctx context.Context) error {
	errs := []error{e.checkStored(ctx), e.checkPromises(ctx), e.checkIndexes()}
	if !e.Dirty { // else a failed commit has taken the plan back
		plan := cycle.Run(e.Sched, e.Planned.UnixMilli())
		for _, p := range plan.Placements {
			errs = append(errs, fmt.Errorf("workload %s could have been placed and was not: %+v", p.ID, p.Tasks))
		}
		for _, ev := range plan.Evictions {
			errs = append(errs, fmt.Errorf("workload %s should have been told to leave and was not: %+v", ev.ID, ev))
		}
	}
	return errors.Join(errs...)
}

func (e *Engine) checkStored(ctx context.Context) error {
	entries, err := e.D.Store.Live(ctx)
	if err != nil {
		return err
	}
	var errs []error
	if len(entries) != len(e.Live) {
		errs = append(errs, fmt.Errorf("%d live workloads in memory, %d in the store", len(e.Live), len(entries)))
	}
	for _, stored := range entries {
		id := stored.Workload.ID
		en := e.Live[id]
		if en == nil {
			errs = append(errs, fmt.Errorf("workload %s is live in the store and not in memory", id))
			continue
		}
		if have, want := plain(en.W), plain(stored.Workload); !reflect.DeepEqual(have, want) {
			errs = append(errs, fmt.Errorf("workload %s in memory: %+v\nin the store: %+v", id, have, want))
		}
		if c := workload.Counts(en.W, en.Tasks); en.W.Counts != c {
			errs = append(errs, fmt.Errorf("workload %s counts its tasks as %+v; they are %+v", id, en.W.Counts, c))
		}
		if milli := workload.DevicesHeld(en.W, en.Tasks); en.W.Attempts[len(en.W.Attempts)-1].GPUMilli != milli {
			errs = append(errs, fmt.Errorf("workload %s says that it holds %d/1000 devices; it holds %d", id, en.W.Attempts[len(en.W.Attempts)-1].GPUMilli, milli))
		}
		tasks := workload.Latest(stored.Tasks, stored.Workload.Attempt)
		if tasks.Len() != en.Tasks.Len() {
			errs = append(errs, fmt.Errorf("workload %s has %d tasks in memory, %d in the store", id, en.Tasks.Len(), tasks.Len()))
		}
		if have, want := en.Tasks.Sum(en.W), tasks.Sum(en.W); have != want {
			errs = append(errs, fmt.Errorf("workload %s adds up its finished tasks to %+v; they are %+v", id, have, want))
		}
		for index, t := range tasks.All() {
			if have := en.Tasks.At(index); have == nil || !reflect.DeepEqual(have, t) {
				errs = append(errs, fmt.Errorf("task %s in memory: %+v\nin the store: %+v", t.ID, have, t))
			}
		}
	}
	return errors.Join(errs...)
}

func (e *Engine) checkPromises(ctx context.Context) error {
	stored, err := e.D.Store.Promises(ctx)
	if have := draft.InLine(e.Promised); err == nil && !slices.Equal(have, stored) {
		err = fmt.Errorf("promised in memory: %v, in the store: %v", have, stored)
	}
	return err
}

// plain is w without what a store may keep in another form: its document, and
// whether an empty list is nil.
func plain(w *core.Workload) core.Workload {
	c := *w
	c.Spec = nil
	if len(c.Conditions) == 0 {
		c.Conditions = nil
	}
	return c
}

func (e *Engine) checkIndexes() error {
	want := &draft.State{
		D: e.D, Records: e.Records, Fleet: e.Fleet,
		Experience: draft.Experience{Insight: e.Insight, Expected: e.Expected, Work: e.Work, Aside: e.Aside, Simple: e.Simple},
		Writing:    draft.Writing{Now: e.Now},
	}
	want.Reindex()
	want.Spending = e.Spending // what was used is no index: a server that begins learns of it, and then applies it
	for _, en := range e.Live {
		if e.Spending.Over(en.W.Project, en.W.User) == nil {
			continue
		}
		if j, ok := want.Job(en.W, en.Tasks); ok {
			want.Sched.PutJob(j)
		} else {
			want.Sched.DropJob(en.W.ID)
		}
	}
	var errs []error
	differ := func(what string, have, want any) {
		if !reflect.DeepEqual(have, want) {
			errs = append(errs, fmt.Errorf("index of %s: %v, a rebuild gives %v", what, have, want))
		}
	}
	differ("names", e.Names, want.Names)
	differ("those who hold", e.Held, want.Held)
	differ("who waits", e.Waiting, want.Waiting)
	differ("use", inUse(e.Usage), inUse(want.Usage))
	planner.Sync((&draft.Tx{State: want, Now: e.Planned}))
	if have, want := cycle.Run(e.Sched, e.Planned.UnixMilli()), cycle.Run(want.Sched, e.Planned.UnixMilli()); !e.Stale && len(e.Renewed) == 0 && !reflect.DeepEqual(have, want) {
		errs = append(errs, fmt.Errorf("the scheduler plans %+v, and from a rebuild %+v", have, want))
	}
	for id, en := range e.Live {
		if !en.W.WakeAt.IsZero() && !slices.ContainsFunc(e.Timers, func(t draft.Timer) bool { return t.Id == id && !t.At.After(en.W.WakeAt) }) {
			errs = append(errs, fmt.Errorf("workload %s has no timer for %v", id, en.W.WakeAt))
		}
	}
	return errors.Join(errs...)
}

// inUse leaves out nodes that hold nothing: an index may remember them.
func inUse(all map[core.NodeID]*draft.Usage) map[core.NodeID]draft.Usage {
	m := map[core.NodeID]draft.Usage{}
	for id, u := range all {
		if u.Tasks != 0 || u.Cpu != 0 || u.Memory != 0 || len(u.Milli) > 0 {
			m[id] = *u
		}
	}
	return m
}
