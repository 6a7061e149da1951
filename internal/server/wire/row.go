package wire

import (
	"slices"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/workload"
)

// rowNodes is how many nodes a row names.
const rowNodes = 16

// Row is a workload as a line of a list has it.
func Row(p Parts) api.Row {
	w := p.Workload
	words, why := Words(p)
	out := api.Row{
		Words: words, WordReasons: why,
		ID: string(w.ID), Number: w.Seq, Name: w.Name, Project: string(w.Project), Kind: string(w.Kind), Array: w.Spec.Array != nil, User: w.User, Labels: w.Spec.Labels,
		Priority: int(w.Spec.Priority), Preemptible: *w.Spec.Preemptible,
		Phase: string(w.Phase), Reason: string(w.Reason), Message: w.Message, Target: string(w.Target), Since: api.Time(w.PhaseAt),
		Attempt: w.Attempt, Tasks: taskCounts(w), GPUs: float64(w.AskedMilli()) / 1000, GPUsHeld: held(w), GPUType: w.Spec.Resources.GPU.Type,
		CreatedAt: api.Time(w.CreatedAt), StartedAt: At(w.StartedAt), EndedAt: At(w.EndedAt), AllowedActions: workload.Actions(w), Revision: int64(w.Rev),
	}
	for i := range w.Attempts {
		a := &w.Attempts[i]
		switch {
		case a.RunningAt.IsZero():
		case a.EndedAt.IsZero():
			out.RunningAt = At(a.RunningAt)
		default:
			// As a page counts, whose clock has milliseconds: the sum is the same everywhere.
			out.Ran += a.EndedAt.Truncate(time.Millisecond).Sub(a.RunningAt.Truncate(time.Millisecond)).Seconds()
		}
	}
	if len(w.Attempts) > 0 {
		out.ExitCode = w.Attempts[len(w.Attempts)-1].ExitCode
	}
	for _, c := range w.Conditions {
		out.Conditions = append(out.Conditions, string(c.Type))
	}
	if w.Progress != nil {
		out.Step, out.Steps = w.Progress.Step, w.Progress.Total
	}
	out.Nodes, out.NodeCount = Whereabouts(w, p.Tasks)
	return out
}

// held is how many GPUs the tasks of w hold.
func held(w *core.Workload) float64 {
	if len(w.Attempts) == 0 {
		return 0
	}
	return float64(w.Attempts[len(w.Attempts)-1].GPUMilli) / 1000
}

// Whereabouts are the nodes of the tasks that hold a place, those of the first
// tasks first.
func Whereabouts(w *core.Workload, tasks []core.Task) ([]string, int) {
	var names []string
	seen := map[core.NodeID]bool{}
	for i := range tasks {
		t := &tasks[i]
		if t.ID.Attempt != w.Attempt || t.Node == "" || !t.State.Held() || seen[t.Node] {
			continue
		}
		seen[t.Node] = true
		if len(names) < rowNodes {
			names = append(names, string(t.Node))
		}
	}
	return names, len(seen)
}

// Words are what each dialect says, and why where it says that, without codes
// and colours: those belong to the word and are the same for every workload.
func Words(p Parts) (words, why map[string]string) {
	if n := len(p.Workload.Attempts); len(p.Tasks) == 0 && p.Workload.Phase == lifecycle.Failed && n > 0 && p.Workload.Attempts[n-1].ExitCode != nil {
		// The code of whoever failed first stands for tasks that were not read.
		p.Tasks = []core.Task{{State: core.TaskFailed, ExitCode: p.Workload.Attempts[n-1].ExitCode}}
	}
	v := workload.View(p.Workload, p.Tasks, p.Transitions)
	words = make(map[string]string, len(lifecycle.Dialects()))
	for _, d := range lifecycle.Dialects() {
		w := lifecycle.Say(d, v)
		if words[string(d)] = w.Status; w.Reason != "" {
			if why == nil {
				why = map[string]string{}
			}
			why[string(d)] = w.Reason
		}
	}
	return words, why
}

// RowOfChange is a row as a change left it. Where the change carries only some of
// the tasks it does not say where they are.
func RowOfChange(c draft.Change) api.Row {
	p := Parts{Workload: c.Workload, Transitions: c.Transitions}
	for _, t := range slices.Concat(c.Former, c.Tasks) {
		p.Tasks = append(p.Tasks, *t)
	}
	out := Row(p)
	if out.Partial = c.Partial && c.Workload.Phase.Held(); out.Partial {
		out.Nodes, out.NodeCount = nil, 0
	}
	return out
}
