package server

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// parts is a workload with the records that belong to it.
type parts struct {
	w           *core.Workload
	tasks       []core.Task // of any attempts
	transitions []core.Transition
	pending     *control.Pending
}

// gather reads what belongs to each workload. A summary leaves out the history
// and the tasks, except where a status word needs them.
func (s *Server) gather(ctx context.Context, ws []*core.Workload, whole bool) ([]parts, error) {
	out := make([]parts, len(ws))
	var waiting []core.WorkloadID
	for i, w := range ws {
		out[i].w = w
		var err error
		if whole || w.Phase == lifecycle.Starting || w.Phase == lifecycle.Restarting {
			attempt := -1
			if !whole {
				attempt = w.Attempt
			}
			if out[i].tasks, err = s.store.Tasks(ctx, w.ID, attempt); err != nil {
				return nil, err
			}
		}
		if whole || w.Phase == lifecycle.Deleting || w.Phase == lifecycle.Deleted {
			if out[i].transitions, err = s.store.Transitions(ctx, w.ID, 0, 0); err != nil {
				return nil, err
			}
		}
		if w.Phase == lifecycle.Queued || w.Phase == lifecycle.Inadmissible || w.Phase == lifecycle.Backoff {
			waiting = append(waiting, w.ID)
		}
	}
	if len(waiting) == 0 {
		return out, nil
	}
	why, err := s.control.Explain(ctx, waiting)
	if err != nil {
		return nil, err
	}
	for i := range out {
		if p, ok := why[out[i].w.ID]; ok && p.Phase == out[i].w.Phase {
			out[i].pending = &p
		}
	}
	return out, nil
}

// workload is the API's form of p.
func (s *Server) workload(p parts, whole bool) api.Workload {
	w, now := p.w, s.clock()
	out := api.Workload{
		ID: string(w.ID), Name: w.Name, Project: string(w.Project), Kind: string(w.Kind), User: w.User,
		Priority: int(w.Spec.Priority), Preemptible: *w.Spec.Preemptible,
		Phase: string(w.Phase), Reason: string(w.Reason), Message: w.Message, Target: string(w.Target), Since: api.Time(w.PhaseAt),
		Conditions: []api.Condition{}, Attempt: w.Attempt, Attempts: []api.Attempt{}, Transitions: []api.Transition{},
		Statuses: statuses(p), Tasks: taskCounts(w), GPUs: w.Spec.TotalGPUs(), GPUSeconds: s.gpuSeconds(p, now),
		CreatedAt: api.Time(w.CreatedAt), StartedAt: at(w.StartedAt), EndedAt: at(w.EndedAt),
		AllowedActions: allowed(w), Number: w.Seq, Version: w.Version, Revision: int64(w.Rev),
	}
	for _, c := range w.Conditions {
		out.Conditions = append(out.Conditions, api.Condition{Type: string(c.Type), Reason: c.Reason, Message: c.Message, Since: api.Time(c.Since)})
	}
	for _, a := range w.Attempts {
		out.Attempts = append(out.Attempts, attempt(a, p.tasks))
	}
	course(&out, w, p.tasks)
	if p.pending != nil {
		out.Pending = pending(p.pending, now)
		if w.Phase == lifecycle.Queued && len(out.Pending.Reasons) > 0 {
			// A fact of the moment, like the explanation that it comes from: it
			// is computed when asked and never stored.
			first := out.Pending.Reasons[0]
			out.Conditions = append(out.Conditions, api.Condition{
				Type: string(lifecycle.Unschedulable), Reason: first.Token, Message: first.Message, Since: api.Time(w.PhaseAt),
			})
		}
	}
	for _, t := range p.transitions {
		out.Transitions = append(out.Transitions, transition(t))
	}
	if whole {
		// The document was read from the store or checked on the way in.
		out.Spec, _ = json.Marshal(w.Spec)
	}
	return out
}

// course adds what w has come to beside its phase.
func course(out *api.Workload, w *core.Workload, tasks []core.Task) {
	out.Image = w.Image
	for _, c := range w.Checks {
		out.Checks = append(out.Checks, api.Check{
			Name: c.Name, Type: c.Type, When: c.When, Verdict: string(c.Verdict), Message: c.Message, By: c.By, At: at(c.At),
			Users: c.Users, Tries: c.Tries, AskAt: at(c.AskAt), Deadline: at(c.Deadline),
		})
	}
	out.Metadata = w.Metadata
	if p := w.Progress; p != nil {
		out.Progress = &api.Progress{
			Report:  api.Report{Step: p.Step, Total: p.Total, Metrics: p.Metrics, Message: p.Message, Task: p.Task},
			Attempt: p.Attempt, At: api.Time(p.At),
		}
	}
	if c := w.Checkpoint; c != nil {
		out.Checkpoint = &api.Checkpoint{NewCheckpoint: api.NewCheckpoint{Path: c.Path, Step: c.Step}, Attempt: c.Attempt, At: api.Time(c.At)}
	}
	if p := w.Published; p != nil {
		out.Published = &api.Published{Ref: p.Ref, Digest: p.Digest, Size: p.Size, Files: p.Files, Service: p.Service}
	}
	if w.Kind != lifecycle.Inference {
		return
	}
	r := &api.Replicas{Wanted: w.Replicas, Edition: w.Edition}
	if w.ServicePort > 0 {
		r.URL = "http://127.0.0.1:" + strconv.Itoa(w.ServicePort)
	}
	for _, t := range tasks {
		if t.ID.Attempt != w.Attempt || t.Leaving || t.State != core.TaskRunning {
			continue
		}
		r.Running++
		if t.Ready {
			r.Ready++
		}
		if t.Edition == w.Edition {
			r.Updated++
		}
	}
	out.Replicas = r
}

// gpuSeconds is what has been charged until now. A summary of a workload that
// holds devices has no tasks at hand; its devices since the attempt's start
// say the same for anything but an array.
func (s *Server) gpuSeconds(p parts, now time.Time) float64 {
	sum := control.GPUSeconds(p.w, p.tasks, now)
	if p.tasks == nil && p.w.Phase.Held() && len(p.w.Attempts) > 0 {
		a := p.w.Attempts[len(p.w.Attempts)-1]
		sum += now.Sub(a.StartedAt).Seconds() * float64(a.GPUMilli) / 1000
	}
	return math.Round(sum*1e3) / 1e3
}

func attempt(a core.Attempt, tasks []core.Task) api.Attempt {
	out := api.Attempt{
		Index: a.Index, QueuedAt: at(a.QueuedAt), StartedAt: at(a.StartedAt), RunningAt: at(a.RunningAt), EndedAt: at(a.EndedAt),
		ExitCode: a.ExitCode, Reason: string(a.Reason), Message: a.Message, Culprit: a.Culprit, Tasks: []api.Task{},
	}
	now, former := runs(tasks, a.Index)
	for i := range now {
		out.Tasks = append(out.Tasks, task(&now[i]))
	}
	for i := range former {
		out.Former = append(out.Former, task(&former[i]))
	}
	return out
}

func task(t *core.Task) api.Task {
	out := api.Task{
		Role: t.Role, Index: t.ID.Index, Run: t.ID.Run, Name: t.Name, Node: string(t.Node), State: string(t.State), Waiting: t.Waiting, ExitCode: t.ExitCode,
		Signal: t.Signal, Reason: t.Reason, Message: t.Message, Restarts: t.Restarts, RestartAt: at(t.RestartAt),
		Ready: t.Ready, Leaving: t.Leaving, Edition: t.Edition, Port: t.Port,
		PlacedAt: at(t.PlacedAt), StartedAt: at(t.StartedAt), EndedAt: at(t.EndedAt),
	}
	for _, d := range t.Devices {
		out.Devices = append(out.Devices, d.Device)
		out.Share = float64(d.Milli) / 1000 // a task has the same part of each
	}
	return out
}

// runs parts the tasks of an attempt into those that it is at, each by its last
// run or waiting for the next, and earlier runs and what others have replaced.
func runs(tasks []core.Task, attempt int) (now, former []core.Task) {
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

func at(t time.Time) *api.Time {
	if t.IsZero() {
		return nil
	}
	v := api.Time(t)
	return &v
}

func transition(t core.Transition) api.Transition {
	return api.Transition{
		Seq: t.Seq, At: api.Time(t.At), From: string(t.From), Event: string(t.Event), To: string(t.To), Target: string(t.Target),
		Reason: string(t.Reason), Message: t.Message, Actor: t.Actor, Attempt: t.Attempt,
	}
}

func taskCounts(w *core.Workload) api.TaskCounts {
	c := w.Counts
	n := api.TaskCounts{
		Total: size(w), Starting: c.Starting, Running: c.Running, Stopping: c.Stopping, Succeeded: c.Succeeded, Failed: c.Failed,
	}
	if todo := w.Attempts[len(w.Attempts)-1].Todo; todo != nil {
		n.Succeeded += n.Total - len(todo) // in attempts before
	}
	n.Pending = max(0, n.Total-n.Starting-n.Running-n.Stopping-n.Succeeded-n.Failed)
	return n
}

func size(w *core.Workload) int {
	if w.Kind == lifecycle.Inference {
		return w.Replicas
	}
	return w.Spec.Size()
}

// actions are what a user may ask of a workload, by the event it becomes.
var actions = []struct {
	name  string
	event lifecycle.Event
}{{"stop", lifecycle.Stop}, {"restart", lifecycle.Restart}, {"delete", lifecycle.Delete}, {"preempt", lifecycle.Preempt}, {"scale", lifecycle.Scale}}

func allowed(w *core.Workload) []string {
	out := []string{}
	fit := lifecycle.Allowed(w.State)
	for _, a := range actions {
		switch {
		case a.event == lifecycle.Preempt && !*w.Spec.Preemptible, a.event == lifecycle.Scale && w.Kind != lifecycle.Inference:
			continue
		case slices.Contains(fit, a.event):
			out = append(out, a.name)
		}
	}
	if slices.ContainsFunc(w.Checks, func(c core.CheckState) bool {
		return c.Type == "approval" && c.Verdict != core.CheckApproved && (w.Phase == lifecycle.Reviewing && c.When == "queue" || w.Phase == lifecycle.Reserved && c.When == "reservation")
	}) {
		out = append(out, "approve", "reject")
	}
	return out
}

func statuses(p parts) map[string]api.Status {
	v := control.View(p.w, p.tasks, p.transitions)
	out := make(map[string]api.Status, len(lifecycle.Dialects()))
	for _, d := range lifecycle.Dialects() {
		word := lifecycle.Say(d, v)
		out[string(d)] = api.Status{Status: word.Status, End: word.End, Color: word.Color, Code: word.Code, Reason: word.Reason}
	}
	return out
}

func pending(p *control.Pending, now time.Time) *api.Pending {
	out := &api.Pending{Reasons: []api.PendingReason{}, Position: p.Position, Waiting: p.Waiting, Ahead: p.AheadNames, EvaluatedAt: api.Time(now)}
	if out.Ahead == nil {
		out.Ahead = []string{}
	}
	if p.EarliestStart > 0 {
		out.EstimatedStart = at(time.UnixMilli(p.EarliestStart))
	}
	for _, r := range p.Reasons {
		out.Reasons = append(out.Reasons, reason(r))
	}
	return out
}
