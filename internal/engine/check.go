package engine

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule/cycle"
)

// Check compares what the engine remembers with what it must be: its live
// workloads with a fresh read of the store, its indexes with a rebuild, and
// its last plan with a new one, which must find nothing to place. It is for
// tests and simulation, between two calls of Do, with a clock in UTC; it
// returns everything that differs.
func (e *Engine) Check(ctx context.Context) error {
	errs := []error{e.checkStored(ctx), e.checkPromises(ctx), e.checkIndexes()}
	if !e.dirty { // else a failed commit has taken the plan back
		plan := cycle.Run(e.sched, e.Planned.UnixMilli())
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
	if len(entries) != len(e.live) {
		errs = append(errs, fmt.Errorf("%d live workloads in memory, %d in the store", len(e.live), len(entries)))
	}
	for _, stored := range entries {
		id := stored.Workload.ID
		en := e.live[id]
		if en == nil {
			errs = append(errs, fmt.Errorf("workload %s is live in the store and not in memory", id))
			continue
		}
		if have, want := plain(en.w), plain(stored.Workload); !reflect.DeepEqual(have, want) {
			errs = append(errs, fmt.Errorf("workload %s in memory: %+v\nin the store: %+v", id, have, want))
		}
		if c := counts(en.w, en.tasks); en.w.Counts != c {
			errs = append(errs, fmt.Errorf("workload %s counts its tasks as %+v; they are %+v", id, en.w.Counts, c))
		}
		if milli := devicesHeld(en.w, en.tasks); en.w.Attempts[len(en.w.Attempts)-1].GPUMilli != milli {
			errs = append(errs, fmt.Errorf("workload %s says that it holds %d/1000 devices; it holds %d", id, en.w.Attempts[len(en.w.Attempts)-1].GPUMilli, milli))
		}
		tasks := latest(stored.Tasks, stored.Workload.Attempt)
		if len(tasks) != len(en.tasks) {
			errs = append(errs, fmt.Errorf("workload %s has %d tasks in memory, %d in the store", id, len(en.tasks), len(tasks)))
		}
		for index, t := range tasks {
			if have := en.tasks[index]; have == nil || !reflect.DeepEqual(have, t) {
				errs = append(errs, fmt.Errorf("task %s in memory: %+v\nin the store: %+v", t.ID, have, t))
			}
		}
	}
	return errors.Join(errs...)
}

func (e *Engine) checkPromises(ctx context.Context) error {
	stored, err := e.D.Store.Promises(ctx)
	if have := inLine(e.promised); err == nil && !slices.Equal(have, stored) {
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
	want := &Engine{D: e.D, live: e.live, nodes: e.nodes, projects: e.projects, pools: e.pools, settings: e.settings, reserved: e.reserved, promised: e.promised, Claims: e.Claims, expected: e.expected, work: e.work, aside: e.aside, simple: e.simple, now: e.now}
	want.reindex()
	var errs []error
	differ := func(what string, have, want any) {
		if !reflect.DeepEqual(have, want) {
			errs = append(errs, fmt.Errorf("index of %s: %v, a rebuild gives %v", what, have, want))
		}
	}
	differ("names", e.names, want.names)
	differ("those who hold", e.held, want.held)
	differ("use", inUse(e.usage), inUse(want.usage))
	(&tx{e: want, now: e.Planned}).sync()
	if have, want := cycle.Run(e.sched, e.Planned.UnixMilli()), cycle.Run(want.sched, e.Planned.UnixMilli()); !e.stale && len(e.renewed) == 0 && !reflect.DeepEqual(have, want) {
		errs = append(errs, fmt.Errorf("the scheduler plans %+v, and from a rebuild %+v", have, want))
	}
	for id, en := range e.live {
		if !en.w.WakeAt.IsZero() && !slices.ContainsFunc(e.timers, func(t timer) bool { return t.id == id && !t.at.After(en.w.WakeAt) }) {
			errs = append(errs, fmt.Errorf("workload %s has no timer for %v", id, en.w.WakeAt))
		}
	}
	return errors.Join(errs...)
}

// inUse leaves out nodes that hold nothing: an index may remember them.
func inUse(all map[core.NodeID]*usage) map[core.NodeID]usage {
	m := map[core.NodeID]usage{}
	for id, u := range all {
		if u.tasks != 0 || u.cpu != 0 || u.memory != 0 || len(u.milli) > 0 {
			m[id] = *u
		}
	}
	return m
}
