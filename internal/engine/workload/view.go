package workload

import (
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// View is what dialects look at of w: tasks may be of any attempts, and steps
// its whole history, which only what is being deleted needs.
func View(w *core.Workload, tasks []core.Task, steps []core.Transition) lifecycle.View {
	v := lifecycle.View{Kind: w.Kind, State: w.State, Prior: prior(w, steps), Culprit: w.Attempts[len(w.Attempts)-1].Culprit}
	for _, c := range w.Conditions {
		v.Conditions = append(v.Conditions, c.Type)
		v.BackendUnreachable = v.BackendUnreachable || c.Type == lifecycle.Unreachable && c.Cause == lifecycle.BackendSilent
	}
	now := latest(tasks, w.Attempt)
	for i := range tasks {
		if t := &tasks[i]; now[t.ID.Index] == t && !t.Again {
			v.Tasks = append(v.Tasks, lifecycle.TaskView{
				Role: t.Role, Index: t.ID.Index, State: string(t.State), Waiting: t.Waiting, ExitCode: t.ExitCode, Reason: t.Reason, Restarts: t.Restarts,
			})
		}
	}
	return v
}

// prior is the last state before a deletion began.
func prior(w *core.Workload, steps []core.Transition) lifecycle.State {
	last := w.State
	for i := range steps {
		t := &steps[i]
		st := lifecycle.State{Phase: t.To, Target: t.Target, Reason: t.Reason, Message: t.Message, Attempt: t.Attempt, Started: w.Started}
		if !st.Leaving() {
			last = st
		}
	}
	return last
}
