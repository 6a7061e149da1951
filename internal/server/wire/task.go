package wire

import (
	"cmp"
	"math"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// attempt is an attempt as the API has it.
func attempt(a core.Attempt, tasks []core.Task) api.Attempt {
	out := api.Attempt{
		Index: a.Index, QueuedAt: At(a.QueuedAt), StartedAt: At(a.StartedAt), RunningAt: At(a.RunningAt), EndedAt: At(a.EndedAt),
		ExitCode: a.ExitCode, Cause: string(a.Cause), Reason: string(a.Reason), Message: a.Message, Culprit: a.Culprit, Tasks: []api.Task{},
	}
	out.Step = a.Step
	if a.Todo != nil {
		out.Todo = cmp.Or(core.RangesText(core.Ranged(a.Todo)), "none")
	}
	if !a.SavedAt.IsZero() {
		out.Saved = &api.Saved{Step: a.SavedStep, At: api.Time(a.SavedAt)}
	}
	for _, c := range a.Revised {
		out.Revised = append(out.Revised, api.FieldChange(c))
	}
	now, former := Runs(tasks, a.Index)
	for i := range now {
		out.Tasks = append(out.Tasks, Task(&now[i]))
	}
	for i := range former {
		out.Former = append(out.Former, Task(&former[i]))
	}
	return out
}

// lost is the work of an attempt that nothing remains of; saved is the step from
// which it could have gone on. nil: it goes on, has ended as it should, or never
// ran.
func lost(a *core.Attempt, tasks []core.Task, saved int64) *api.Lost {
	if a.RunningAt.IsZero() || !a.Vain() {
		return nil
	}
	gpu := 0.0
	for i := range tasks {
		if tasks[i].ID.Attempt == a.Index {
			gpu += a.LostGPU(&tasks[i])
		}
	}
	ran := a.Lost(false, a.RunningAt, a.EndedAt).Seconds()
	return &api.Lost{Seconds: math.Round(ran*1e3) / 1e3, GPUSeconds: math.Round(gpu*1e3) / 1e3, Steps: max(a.Step-max(saved, a.SavedStep), 0)}
}

// Task is the API's form of a task.
func Task(t *core.Task) api.Task {
	out := api.Task{
		Role: t.Role, Index: t.ID.Index, Run: t.ID.Run, Name: t.Name, Node: string(t.Node), State: string(t.State), Waiting: t.Waiting, ExitCode: t.ExitCode,
		Signal: t.Signal, Reason: t.Reason, Message: t.Message, Restarts: t.Restarts, RestartAt: At(t.RestartAt),
		Ready: t.Ready, Leaving: t.Leaving, Generation: t.Generation, Port: t.Port,
		PlacedAt: At(t.PlacedAt), StartedAt: At(t.StartedAt), EndedAt: At(t.EndedAt),
	}
	if p := t.Pull; p != nil && t.State == core.TaskStarting {
		out.Pull = &api.Pull{Layers: p.Layers, LayersDone: p.Done, Bytes: p.Bytes, Total: p.Total}
	}
	for _, s := range t.Stages {
		out.Stages = append(out.Stages, api.Stage{Word: s.Word, Message: s.Message, At: api.Time(s.At), Last: api.Time(s.Last), Count: s.Count})
	}
	for _, s := range t.Steps {
		out.Steps = append(out.Steps, api.JobStep{
			NewJobStep: api.NewJobStep{ID: s.ID, Task: t.ID.Index, Name: s.Name, Tasks: s.Tasks, CPUs: s.CPUs, On: s.On},
			StartedAt:  api.Time(s.StartedAt), EndedAt: At(s.EndedAt), ExitCode: s.ExitCode,
		})
	}
	out.Image = t.Image
	for _, d := range t.Devices {
		out.Devices = append(out.Devices, d.Device)
		out.Share = float64(d.Milli) / 1000 // a task has the same part of each
	}
	return out
}

// Runs parts the tasks of an attempt into those that it is at, each by its last
// run or waiting for the next, and earlier runs and what others have replaced.
func Runs(tasks []core.Task, attempt int) (now, former []core.Task) {
	last := map[int]int{}
	for i := range tasks {
		if id := tasks[i].ID; id.Attempt == attempt && id.Run > 0 {
			last[id.Index] = max(last[id.Index], id.Run)
		}
	}
	for i := range tasks {
		t := &tasks[i]
		switch {
		case t.ID.Attempt != attempt:
		case t.ID.Run < last[t.ID.Index], t.Closed:
			former = append(former, *t)
		case t.Again:
			former = append(former, *t)
			next := core.Task{ID: t.ID, Role: t.Role, State: core.TaskPending, Message: "it had to leave, and runs again when there is room"}
			next.ID.Run++
			now = append(now, next)
		default:
			now = append(now, *t)
		}
	}
	return now, former
}

// At is the API's form of an instant; nil: there is none.
func At(t time.Time) *api.Time {
	if t.IsZero() {
		return nil
	}
	v := api.Time(t)
	return &v
}

// Transition is the API's form of a step.
func Transition(t core.Transition) api.Transition {
	return api.Transition{
		Seq: t.Seq, At: api.Time(t.At), From: string(t.From), Event: string(t.Event), To: string(t.To), Target: string(t.Target),
		Cause: string(t.Cause), For: string(t.For), Reason: string(t.Reason), Message: t.Message, Actor: t.Actor, Attempt: t.Attempt,
	}
}

// StateOf is the state that a transition led to.
func StateOf(t core.Transition) lifecycle.State {
	return lifecycle.State{Phase: t.To, Target: t.Target, Event: t.Event, Cause: t.Cause, Reason: t.Reason, Message: t.Message, Attempt: t.Attempt}
}
