package inspect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli/session"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// withStages is a workload's history with what its task waited with while it
// started, each when that came first, as steps that stay in Starting. d is the
// platform whose words are wanted; empty: none.
func withStages(w *api.Workload, d lifecycle.Dialect) []api.Transition {
	all := slices.Clone(w.Transitions)
	for _, a := range w.Attempts {
		t := clearest(w, &a)
		if t == nil {
			continue
		}
		for _, stage := range t.Stages {
			step := api.Transition{
				At: stage.At, From: string(lifecycle.Starting), To: string(lifecycle.Starting), Event: stage.Word,
				Message: stage.Message, Actor: strings.TrimSuffix("backend:"+t.Node, ":"), Attempt: a.Index,
			}
			if stage.Count > 1 {
				step.Message = strings.TrimSpace(fmt.Sprintf("%s (%d times)", stage.Message, stage.Count))
			}
			if d != "" {
				step.Word = lifecycle.Say(d, lifecycle.View{
					Kind: lifecycle.Kind(w.Kind), State: lifecycle.State{Phase: lifecycle.Starting, Attempt: a.Index},
					Tasks: []lifecycle.TaskView{{Role: t.Role, Index: t.Index, State: "starting", Waiting: stage.Word}},
				}).Status
			}
			all = append(all, step)
		}
	}
	slices.SortStableFunc(all, func(a, b api.Transition) int { return session.TimeOf(a.At).Compare(session.TimeOf(b.At)) })
	return all
}

// clearest is the task of an attempt whose start is the workload's: the launcher or
// master of a gang, else the first that has something to tell.
func clearest(w *api.Workload, a *api.Attempt) *api.Task {
	for i := range a.Tasks {
		if t := &a.Tasks[i]; t.Index == 0 && lifecycle.Kind(w.Kind).Ranked() || len(t.Stages) > 0 && !lifecycle.Kind(w.Kind).Ranked() {
			return t
		}
	}
	return nil
}
