package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/consequence"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/workload"
)

// Observations are what a backend saw. Full ones hold everything that it has: a
// task that is missing from them is not there.
type Observations struct {
	Backend string
	Seen    []backend.Observation
	Full    bool
	// Began is when a full observation was asked for, or earlier: when the
	// oldest action was decided that the backend had not been told yet. It proves
	// the absence only of what was begun before.
	Began time.Time
}

// Observe takes observations over: what a backend reports twice, late or out of
// order changes a task at most once.
func Observe(o Observations) draft.Command[draft.Nothing] {
	return func(tx *draft.Tx) (draft.Nothing, error) {
		byWorkload := map[core.WorkloadID][]backend.Observation{}
		for _, ob := range o.Seen {
			byWorkload[ob.ID.Workload] = append(byWorkload[ob.ID.Workload], ob)
		}
		if o.Full {
			if err := reached(tx, o.Backend, true, ""); err != nil {
				return nil, err
			}
			// A server before may have found the backend silent.
			if err := unreachable(tx, func(t *core.Task) bool { return t.Backend == o.Backend }, false, lifecycle.BackendSilent, ""); err != nil {
				return nil, err
			}
			missing(tx, o, byWorkload)
		}
		for _, id := range slices.Sorted(maps.Keys(byWorkload)) {
			observed(tx, o, id, byWorkload[id])
		}
		return nil, nil
	}
}

// observed applies what was seen of one workload and draws the conclusion.
func observed(tx *draft.Tx, o Observations, id core.WorkloadID, seen []backend.Observation) {
	w, tasks, live := tx.View(id)
	var news []backend.Observation
	for _, ob := range seen {
		t := tasks.At(ob.ID.Index)
		if !live || t == nil || ob.ID != t.ID || t.State.Ended() || t.Claim != ob.Claim {
			stray(tx, o.Backend, ob)
			continue
		}
		if o.Full && t.RestartedAt.Before(o.Began) && before(t, ob) && ob.State.Ended() {
			// The run before is still there: what was to replace it never arrived.
			tx.Forget(o.Backend, ob.ID)
			if t.State == core.TaskStarting {
				tx.Start(w, t)
			}
			continue
		}
		if en := tx.State.Live[id]; en != nil {
			en.Seen[ob.ID.Index] = tx.Now
		}
		if differs(t, ob) {
			news = append(news, ob)
		}
	}
	if len(news) == 0 {
		return
	}
	d, _ := tx.Open(id)
	err := tx.Change(d, func() error {
		for _, ob := range news {
			if t := d.Tasks.At(ob.ID.Index); differs(t, ob) {
				next := after(*t, ob, tx.Now)
				if t.State == core.TaskStopping && succeeds(d.W) {
					next = dismissed(next)
				}
				d.SetTask(next)
				if t = d.Tasks.At(ob.ID.Index); ob.State.Ended() {
					consequence.Spared(tx, d, t)
					tx.Forget(o.Backend, ob.ID)
					tx.State.Dirty = true // of an array its place is free now, whatever the others do
				}
			}
		}
		return consequence.Conclude(tx, d)
	})
	if err != nil {
		tx.State.D.Log.Error("observation does not fit the state", "workload", id, "phase", d.W.Phase, "err", err)
	}
}

// stray deals with a task that nobody wants any more: it is ended, then forgotten.
func stray(tx *draft.Tx, backendName string, ob backend.Observation) {
	if ob.State.Ended() {
		delete(tx.State.Strays, ob.ID)
		tx.Forget(backendName, ob.ID)
		return
	}
	if ob.Claim != "" { // it is another's, and goes on
		tx.Actions = append(tx.Actions, draft.Action{Kind: draft.ActDisown, Backend: backendName, Task: ob.ID})
		return
	}
	if earlier, ok := tx.State.Strays[ob.ID]; ok && !earlier.At.After(tx.Now) && tx.Now.Sub(earlier.At) < strayGrace {
		return // each stop is looked after at once; asking again then would never rest
	}
	tx.State.Strays[ob.ID] = draft.Stray{Backend: backendName, At: tx.Now}
	tx.Actions = append(tx.Actions, draft.Action{Kind: draft.ActStop, Backend: backendName, Task: ob.ID, Grace: strayGrace})
}

// strayGrace is what a task gets to end that no workload claims.
const strayGrace = 10 * time.Second

// missing looks for tasks of the backend that a full observation does not hold.
func missing(tx *draft.Tx, o Observations, byWorkload map[core.WorkloadID][]backend.Observation) {
	present := map[core.TaskID]bool{}
	for _, ob := range o.Seen {
		present[ob.ID] = true
	}
	maps.DeleteFunc(tx.State.Strays, func(id core.TaskID, s draft.Stray) bool { return s.Backend == o.Backend && !present[id] })
	for _, id := range slices.Sorted(maps.Keys(tx.State.Held)) {
		w, tasks, ok := tx.View(id)
		if !ok {
			continue
		}
		for _, t := range workload.SortedTasks(tasks) {
			if !t.State.Held() || present[t.ID] || tx.BackendOf(t) != o.Backend || !t.PlacedAt.Before(o.Began) || !t.RestartedAt.Before(o.Began) {
				continue
			}
			if en := tx.State.Live[id]; en != nil && !en.Seen[t.ID.Index].Before(o.Began) {
				continue // it was reported after this observation began
			}
			switch t.State {
			case core.TaskStarting:
				if w.Phase != lifecycle.Restarting {
					tx.Start(w, t) // never arrived there; starting twice is harmless
				}
			case core.TaskStopping:
				byWorkload[id] = append(byWorkload[id], backend.Observation{
					ID: t.ID, State: core.TaskLost, // no time: the backend has said nothing
					Reason: string(lifecycle.ReasonKilled), Message: "it was told to end and is gone",
				})
			default:
				byWorkload[id] = append(byWorkload[id], backend.Observation{
					ID: t.ID, State: core.TaskLost, // no time: the backend has said nothing
					Reason: string(lifecycle.ReasonOutcomeUnknown), Message: "the backend does not know it any more, and nobody saw how it ended",
				})
			}
		}
	}
}

// before reports whether an observation is of the run before t was restarted
// in place, by the backend's clock alone: it may not be ours.
func before(t *core.Task, ob backend.Observation) bool {
	return !t.RestartedAt.IsZero() && !ob.At.IsZero() && !ob.At.Truncate(time.Microsecond).After(t.FormerAt)
}

// differs reports whether an observation is news about a task.
func differs(t *core.Task, ob backend.Observation) bool {
	if t.State.Ended() || before(t, ob) {
		return false
	}
	switch ob.State {
	case core.TaskStarting:
		return t.State == core.TaskStarting && (ob.Waiting != t.Waiting || ob.Message != t.Message)
	case core.TaskRunning:
		return t.State == core.TaskStarting || t.State == core.TaskStopping && ob.Message != t.Message
	default:
		return ob.State.Ended()
	}
}

// after is a task after an observation that differs from it.
func after(t core.Task, ob backend.Observation, now time.Time) core.Task {
	at := ob.At
	if at.IsZero() || at.After(now) {
		at = now
	}
	at = at.Truncate(time.Microsecond)
	if !ob.At.IsZero() {
		t.SeenAt = ob.At.UTC().Truncate(time.Microsecond)
	}
	t.Pull = ob.Pull
	if ob.Image != "" {
		t.Image = ob.Image
	}
	switch ob.State {
	case core.TaskStarting:
		if ob.Waiting != t.Waiting {
			t.Stages = workload.WithStage(t.Stages, ob.Waiting, ob.Message, at.UTC())
		}
		t.Waiting, t.Message = ob.Waiting, ob.Message
	case core.TaskRunning:
		if t.Message = ob.Message; t.State == core.TaskStopping {
			break // why it has not ended yet
		}
		t.State, t.Waiting, t.Message, t.StartedAt = core.TaskRunning, "", ob.Message, at
	default:
		stopping := t.State == core.TaskStopping
		t.State, t.Waiting, t.EndedAt, t.Ready = ob.State, "", at, false
		if at.Before(t.PlacedAt) {
			t.EndedAt = t.PlacedAt
		}
		t.ExitCode, t.Signal, t.Reason, t.Message = ob.ExitCode, ob.Signal, ob.Reason, ob.Message
		t.Class = lifecycle.Classify(lifecycle.Reason(ob.Reason))
		if stopping && workload.TakenAway(&t) { // its backend may not know any more by whom it was told
			t.Class, t.Reason = lifecycle.FailureKilled, string(lifecycle.ReasonKilled)
		}
	}
	return t
}

// succeeds reports whether a workload is being ended because its work is done.
func succeeds(w *core.Workload) bool {
	return w.Phase == lifecycle.Terminating && (w.Target == lifecycle.Completed || w.Target == lifecycle.Publishing)
}

// dismissed is a task that was told to end because the launcher or master had
// succeeded: it has done its part, however its process took that.
func dismissed(t core.Task) core.Task {
	if t.State == core.TaskFailed {
		t.State, t.Class, t.Reason, t.Message = core.TaskSucceeded, lifecycle.NoFailure, "", "ended, as the work was done"
		t.ExitCode, t.Signal = nil, 0
	}
	return t
}
