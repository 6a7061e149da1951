package server

import (
	"context"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine"
)

// parts is a workload with the records that belong to it.
type parts struct {
	w           *core.Workload
	tasks       []core.Task // of any attempts
	transitions []core.Transition
	pending     *engine.Pending
	cut         *cut // not all tasks are there
}

// view is how much of each workload an answer holds.
type view string

// What each leaves out is not read either: of a thousand workloads that is most
// of the work.
const (
	viewFull    view = "full"
	viewTable   view = "table"   // without history and former attempts' tasks
	viewSummary view = "summary" // without history, tasks and document
	viewBare    view = "bare"    // as summary, without why what waits waits
)

func (v view) document() bool { return v == viewFull || v == viewTable }

// gather reads what belongs to each workload, tasks and history where a status
// word needs them in any case; at most so many tasks of each attempt, negative:
// all.
func (s *Server) gather(ctx context.Context, ws []*core.Workload, v view, most int) ([]parts, error) {
	out := make([]parts, len(ws))
	var waiting []core.WorkloadID
	for i, w := range ws {
		out[i].w = w
		var err error
		attempt, some := tasksFor(w, v)
		switch {
		case !some:
		case !v.document():
			out[i].tasks, err = s.someTasks(ctx, w)
		case many(w, most):
			out[i].tasks, out[i].cut, err = s.gatherSome(ctx, w, attempt, most)
		default:
			out[i].tasks, err = s.store.Tasks(ctx, w.ID, attempt)
		}
		if err != nil {
			return nil, err
		}
		if v == viewFull || leaves(w) {
			if out[i].transitions, err = s.store.Transitions(ctx, w.ID, 0, 0); err != nil {
				return nil, err
			}
		}
		switch w.Phase {
		case lifecycle.Reviewing, lifecycle.Queued, lifecycle.Inadmissible, lifecycle.Backoff:
			waiting = append(waiting, w.ID)
		}
	}
	if len(waiting) == 0 || v == viewBare {
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

// leaves reports whether what some platforms say of w follows from what it was
// before.
func leaves(w *core.Workload) bool {
	return w.Phase == lifecycle.Deleting || w.Phase == lifecycle.Deleted
}

// tasksFor is of which attempt a view of w needs the tasks, -1 for all; false:
// of none, or there can be none as none has been placed.
func tasksFor(w *core.Workload, v view) (attempt int, some bool) {
	last := &w.Attempts[len(w.Attempts)-1]
	switch {
	case v == viewFull:
		return -1, len(w.Attempts) > 1 || !last.StartedAt.IsZero()
	case v == viewTable:
		return w.Attempt, !last.StartedAt.IsZero()
	}
	return w.Attempt, w.Phase == lifecycle.Starting || w.Phase == lifecycle.Restarting
}

// workload is the API's form of p.
func (s *Server) workload(p parts, v view) api.Workload {
	w, now := p.w, s.clock()
	out := api.Workload{
		ID: string(w.ID), Name: w.Name, Project: string(w.Project), Kind: string(w.Kind), User: w.User,
		Priority: int(w.Spec.Priority), Preemptible: *w.Spec.Preemptible,
		Phase: string(w.Phase), Reason: string(w.Reason), Message: w.Message, Target: string(w.Target), Since: api.Time(w.PhaseAt),
		Conditions: []api.Condition{}, Attempt: w.Attempt, Attempts: []api.Attempt{}, Transitions: []api.Transition{},
		Statuses: statuses(p), Tasks: taskCounts(w), GPUs: float64(w.AskedMilli()) / 1000, GPUsHeld: held(w), GPUSeconds: s.gpuSeconds(p, now),
		CreatedAt: api.Time(w.CreatedAt), StartedAt: at(w.StartedAt), EndedAt: at(w.EndedAt),
		AllowedActions: allowed(w), Number: w.Seq, Version: w.Version, Revision: int64(w.Rev),
	}
	for _, c := range w.Conditions {
		out.Conditions = append(out.Conditions, api.Condition{Type: string(c.Type), Reason: c.Reason, Message: c.Message, Since: api.Time(c.Since)})
	}
	saved := int64(0)
	for _, a := range w.Attempts {
		one := attempt(a, p.tasks)
		if v == viewFull || v == viewTable && a.Index == w.Attempt { // else its tasks are not at hand
			one.Lost = lost(&a, p.tasks, saved)
		}
		if p.cut != nil {
			if one.TasksLeft = p.cut.left[a.Index]; one.Lost != nil {
				one.Lost.GPUSeconds = math.Round(p.cut.lost[a.Index]*1e3) / 1e3
			}
		}
		out.Attempts = append(out.Attempts, one)
		saved = max(saved, a.SavedStep)
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
	if v.document() {
		// The document was read from the store or checked on the way in.
		// json.Marshal would check and copy it once more.
		out.Spec, _ = shown(w.Spec).MarshalJSON()
	}
	return out
}

// shown is a document without what nobody reads: the variables that came along with
// a batch script may be keys.
func shown(doc *spec.Document) *spec.Document {
	if doc.Slurm == nil || doc.Slurm.Environment == "" {
		return doc
	}
	doc = doc.Clone()
	doc.Slurm.Environment = ""
	return doc
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
	out.Canceled, out.Restarts = w.Canceled, w.Again != ""
	if h := w.Hold; h != nil {
		out.Hold = &api.Hold{By: h.By, Message: h.Message, At: api.Time(h.At)}
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
	r := &api.Replicas{Wanted: w.Replicas, Generation: w.Generation}
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
		if t.Generation == w.Generation {
			r.Updated++
		}
	}
	out.Replicas = r
}

// gpuSeconds is what has been charged until now. A summary of a workload that
// holds devices has no tasks at hand; its devices since the attempt's start
// say the same for anything but an array.
func (s *Server) gpuSeconds(p parts, now time.Time) float64 {
	sum := 0.0
	if p.cut != nil {
		sum = p.w.GPUSeconds + p.cut.charged
	} else {
		sum = engine.GPUSeconds(p.w, p.tasks, now)
	}
	if p.cut == nil && p.tasks == nil && p.w.Phase.Held() && len(p.w.Attempts) > 0 {
		a := p.w.Attempts[len(p.w.Attempts)-1]
		sum += now.Sub(a.StartedAt).Seconds() * float64(a.GPUMilli) / 1000
	}
	return math.Round(sum*1e3) / 1e3
}

// attempt is an attempt as the API has it.
func attempt(a core.Attempt, tasks []core.Task) api.Attempt {
	out := api.Attempt{
		Index: a.Index, QueuedAt: at(a.QueuedAt), StartedAt: at(a.StartedAt), RunningAt: at(a.RunningAt), EndedAt: at(a.EndedAt),
		ExitCode: a.ExitCode, Cause: string(a.Cause), Reason: string(a.Reason), Message: a.Message, Culprit: a.Culprit, Tasks: []api.Task{},
	}
	out.Step = a.Step
	if !a.SavedAt.IsZero() {
		out.Saved = &api.Saved{Step: a.SavedStep, At: api.Time(a.SavedAt)}
	}
	for _, c := range a.Revised {
		out.Revised = append(out.Revised, api.FieldChange(c))
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

func task(t *core.Task) api.Task {
	out := api.Task{
		Role: t.Role, Index: t.ID.Index, Run: t.ID.Run, Name: t.Name, Node: string(t.Node), State: string(t.State), Waiting: t.Waiting, ExitCode: t.ExitCode,
		Signal: t.Signal, Reason: t.Reason, Message: t.Message, Restarts: t.Restarts, RestartAt: at(t.RestartAt),
		Ready: t.Ready, Leaving: t.Leaving, Generation: t.Generation, Port: t.Port,
		PlacedAt: at(t.PlacedAt), StartedAt: at(t.StartedAt), EndedAt: at(t.EndedAt),
	}
	if p := t.Pull; p != nil && t.State == core.TaskStarting {
		out.Pull = &api.Pull{Layers: p.Layers, LayersDone: p.Done, Bytes: p.Bytes, Total: p.Total}
	}
	for _, s := range t.Stages {
		out.Stages = append(out.Stages, api.Stage{Word: s.Word, Message: s.Message, At: api.Time(s.At), Last: api.Time(s.Last), Count: s.Count})
	}
	out.Image = t.Image
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
		Cause: string(t.Cause), For: string(t.For), Reason: string(t.Reason), Message: t.Message, Actor: t.Actor, Attempt: t.Attempt,
	}
}

func taskCounts(w *core.Workload) api.TaskCounts {
	c := w.Counts
	n := api.TaskCounts{
		Total: size(w), Starting: c.Starting, Running: c.Running, Stopping: c.Stopping, Succeeded: c.Succeeded, Failed: c.Failed,
	}
	if todo := w.Attempts[len(w.Attempts)-1].Todo; todo != nil {
		n.Succeeded += n.Total - len(w.Canceled) - len(todo) // in attempts before
	}
	n.Canceled = len(w.Canceled)
	n.Pending = max(0, n.Total-n.Canceled-n.Starting-n.Running-n.Stopping-n.Succeeded-n.Failed)
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
}{{"stop", lifecycle.Stop}, {"restart", lifecycle.Restart}, {"delete", lifecycle.Delete}, {"preempt", lifecycle.Preempt}, {"move", lifecycle.Move}, {"scale", lifecycle.Scale}, {"revise", lifecycle.Restart}}

func allowed(w *core.Workload) []string {
	out := []string{}
	fit := lifecycle.Allowed(w.State)
	for _, a := range actions {
		switch {
		case a.event == lifecycle.Preempt && !*w.Spec.Preemptible, a.event == lifecycle.Scale && w.Kind != lifecycle.Inference, a.name == "revise" && w.Kind == lifecycle.External:
			continue
		case slices.Contains(fit, a.event):
			out = append(out, a.name)
		}
	}
	if w.Phase == lifecycle.Terminating { // of what comes after, or not
		switch {
		case w.Again != "" && !slices.Contains(out, "stop"):
			out = append(out, "stop")
		case w.Again == "" && engine.Restartable(w):
			out = append(out, "restart")
		}
	}
	if engine.Amendable(w) {
		out = append(out, "change")
		if w.Kind == lifecycle.Inference {
			out = append(out, "update")
		}
	}
	if slices.ContainsFunc(w.Checks, func(c core.CheckState) bool {
		return c.Type == "approval" && c.Verdict != core.CheckApproved && (w.Phase == lifecycle.Reviewing && c.When == "queue" || w.Phase == lifecycle.Reserved && c.When == "reservation")
	}) {
		out = append(out, "approve", "reject")
	}
	switch {
	case w.Hold != nil:
		out = append(out, "release")
	case w.Phase.Unstarted():
		out = append(out, "hold")
	}
	return out
}

func statuses(p parts) map[string]api.Status {
	v := engine.View(p.w, p.tasks, p.transitions)
	out := make(map[string]api.Status, len(lifecycle.Dialects()))
	for _, d := range lifecycle.Dialects() {
		word := lifecycle.Say(d, v)
		out[string(d)] = api.Status{Status: word.Status, End: word.End, Color: word.Color, Code: word.Code, Reason: word.Reason}
	}
	return out
}

func pending(p *engine.Pending, now time.Time) *api.Pending {
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
