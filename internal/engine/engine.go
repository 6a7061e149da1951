// Package engine turns the pure core into a program, and is itself one without a
// clock, a goroutine or a lock. The Engine is the one writer: it holds the live
// state in memory, applies commands, timers and the scheduler's plan to a draft,
// commits the draft in one durable batch, and only then shows it to anyone or asks
// a backend to act on it. Control drives it in real time, the simulator in virtual
// time.
package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/consequence"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/planner"
	"github.com/musterhq/muster/internal/engine/recurring"
	"github.com/musterhq/muster/internal/engine/spending"
	"github.com/musterhq/muster/internal/store"
)

// Open loads everything needed to continue from the store and becomes its
// writer.
func Open(ctx context.Context, d draft.Deps, publish func([]draft.Change)) (*Engine, error) {
	s, err := draft.Load(ctx, d, publish)
	if err != nil {
		return nil, err
	}
	return &Engine{s}, nil
}

// Engine is the one writer. Not safe for concurrent use.
type Engine struct {
	*draft.State
}

// Do applies commands, due timers and, where something changed, the
// scheduler's plan; commits all of it at once; publishes it. It returns for each
// command why it was refused. When the commit fails every command fails and
// nothing has changed.
func (e *Engine) Do(ctx context.Context, now time.Time, work []draft.Work) []error {
	tx := &draft.Tx{State: e.State, Ctx: ctx, Now: now.Truncate(time.Microsecond), Drafts: map[core.WorkloadID]*draft.Draft{}}
	e.Tree, e.Now = tx.Tree(), tx.Now
	planner.Look(tx)
	planner.Remember(tx)
	spending.Look(tx)
	depart(tx)
	failed := make([]error, len(work))
	for i, w := range work {
		failed[i] = w.Do(tx)
	}
	spending.Again(tx)
	consequence.ApplyClaims(tx)
	wake(tx)
	recurring.Round(tx)
	if e.Instants.Passed(tx.Now) && len(e.Wanting) > 0 {
		e.Dirty = true
	}
	consequence.CheckDependencies(tx)
	for e.Dirty {
		e.Dirty = false
		began := e.D.Elapsed()
		runScheduler(tx)
		if e.D.Meter != nil {
			e.D.Meter.Planned(e.D.Elapsed() - began)
		}
		if len(tx.Moved) == 0 {
			break
		}
		consequence.CheckDependencies(tx)
	}
	spending.Plan(tx)
	if len(e.Wanting) > 0 {
		e.Instants.Add(e.Sched.NextLook(tx.Now.UnixMilli()))
	}
	if err := tx.Commit(); err != nil {
		e.D.Log.Error("commit failed", "err", err)
		for i := range failed {
			failed[i] = draft.FromStore(err)
		}
		e.RetryAt = tx.Now.Add(commitRetry)
		tx.Org = draft.OrganisationDraft{}
		tx.Survey()
		e.SetPromises(e.StoredPromises)
		e.Reindex() // the draft has touched the indexes; what is committed is the truth
		if errors.Is(err, store.ErrTermLost) {
			e.LostTerm = err
		}
		return failed
	}
	e.RetryAt = time.Time{}
	return failed
}

// commitRetry is the pause before timers and the plan are tried again whose
// commit failed.
const commitRetry = time.Second

// Resume returns the actions that bring the backends to the committed state after
// a restart: every held task that may not have been started is started (a
// no-op where it was), every one being ended is ended.
func (e *Engine) Resume() {
	tx := &draft.Tx{State: e.State, Drafts: map[core.WorkloadID]*draft.Draft{}}
	ids := make([]core.WorkloadID, 0, len(e.Held))
	for id := range e.Held {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		en := e.Live[id]
		for _, t := range en.Sorted() {
			switch {
			case t.State == core.TaskStarting && t.RestartAt.IsZero() && en.W.Phase != lifecycle.Terminating && en.W.Phase != lifecycle.Restarting:
				tx.Start(en.W, t)
			case t.State == core.TaskStopping:
				tx.Stop(t, en.W.Grace())
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(e.Live)) {
		tx.ResumeOperations(e.Live[id].W)
	}
	e.Actions = append(e.Actions, tx.Actions...)
}
