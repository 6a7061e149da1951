// Package wire has the form of the API's values: how what the engine, the store and
// the scheduler say becomes them, and how what was sent becomes records.
package wire

import (
	"math"
	"strconv"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/explanation"
	"github.com/musterhq/muster/internal/engine/workload"
)

// Parts is a workload with the records that belong to it.
type Parts struct {
	Workload    *core.Workload
	Tasks       []core.Task // of any attempts
	Transitions []core.Transition
	Pending     *explanation.Pending
	Cut         *Cut // not all tasks are there
}

// View is how much of each workload an answer holds.
type View string

// What each leaves out is not read either: of a thousand workloads that is most
// of the work.
const (
	ViewFull    View = "full"
	ViewTable   View = "table"   // without history and former attempts' tasks
	ViewSummary View = "summary" // without history, tasks and document
	ViewBare    View = "bare"    // as summary, without why what waits waits
)

// Document reports whether the view has the document.
func (v View) Document() bool { return v == ViewFull || v == ViewTable }

// Leaves reports whether what some platforms say of w follows from what it was
// before.
func Leaves(w *core.Workload) bool {
	return w.Phase == lifecycle.Deleting || w.Phase == lifecycle.Deleted
}

// Workload is the API's form of p.
func Workload(p Parts, v View, now time.Time) api.Workload {
	w := p.Workload
	out := api.Workload{
		ID: string(w.ID), Name: w.Name, Project: string(w.Project), Kind: string(w.Kind), User: w.User,
		Priority: int(w.Spec.Priority), Preemptible: *w.Spec.Preemptible,
		Phase: string(w.Phase), Reason: string(w.Reason), Message: w.Message, Target: string(w.Target), Since: api.Time(w.PhaseAt),
		Conditions: []api.Condition{}, Attempt: w.Attempt, Attempts: []api.Attempt{}, Transitions: []api.Transition{},
		Statuses: statuses(p), Tasks: taskCounts(w), GPUs: float64(w.AskedMilli()) / 1000, GPUsHeld: held(w), GPUSeconds: gpuSeconds(p, now),
		CreatedAt: api.Time(w.CreatedAt), StartedAt: At(w.StartedAt), EndedAt: At(w.EndedAt),
		AllowedActions: workload.Actions(w), Number: w.Seq, Version: w.Version, Revision: int64(w.Rev),
	}
	for _, c := range w.Conditions {
		out.Conditions = append(out.Conditions, api.Condition{Type: string(c.Type), Reason: c.Reason, Message: c.Message, Since: api.Time(c.Since)})
	}
	saved := int64(0)
	for _, a := range w.Attempts {
		one := attempt(a, p.Tasks)
		if v == ViewFull || v == ViewTable && a.Index == w.Attempt { // else its tasks are not at hand
			one.Lost = lost(&a, p.Tasks, saved)
		}
		if p.Cut != nil {
			if one.TasksLeft = p.Cut.Left[a.Index]; one.Lost != nil {
				one.Lost.GPUSeconds = math.Round(p.Cut.Lost[a.Index]*1e3) / 1e3
			}
		}
		out.Attempts = append(out.Attempts, one)
		saved = max(saved, a.SavedStep)
	}
	course(&out, w, p.Tasks)
	if p.Pending != nil {
		out.Pending = pending(p.Pending, now)
		if w.Phase == lifecycle.Queued && len(out.Pending.Reasons) > 0 {
			// A fact of the moment, like the explanation that it comes from: it
			// is computed when asked and never stored.
			first := out.Pending.Reasons[0]
			out.Conditions = append(out.Conditions, api.Condition{
				Type: string(lifecycle.Unschedulable), Reason: first.Token, Message: first.Message, Since: api.Time(w.PhaseAt),
			})
		}
	}
	for _, t := range p.Transitions {
		out.Transitions = append(out.Transitions, Transition(t))
	}
	if v.Document() {
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
		out.Checks = append(out.Checks, Check(&c))
	}
	out.Canceled, out.HeldTasks, out.Restarts = w.Canceled, core.RangesText(w.HeldTasks), w.Again != ""
	if h := w.Hold; h != nil {
		out.Hold = &api.Hold{By: h.By, Message: h.Message, At: api.Time(h.At)}
	}
	if b := w.Bounds; b != nil {
		idle := b.Idle(w.Spec.Preemptible != nil && *w.Spec.Preemptible)
		if b.TimeLimit > 0 || idle > 0 || b.NodeTypes != nil {
			out.Bounds = &api.Bounds{NodeTypes: b.NodeTypes}
		}
		if b.TimeLimit > 0 {
			out.Bounds.TimeLimit = spec.Duration(b.TimeLimit).String()
		}
		if idle > 0 {
			out.Bounds.IdleLimit = spec.Duration(idle).String()
		}
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
	if !w.Kind.Replicated() {
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
func gpuSeconds(p Parts, now time.Time) float64 {
	sum := 0.0
	if p.Cut != nil {
		sum = p.Workload.GPUSeconds + p.Cut.Charged
	} else {
		sum = workload.GPUSeconds(p.Workload, p.Tasks, now)
	}
	if p.Cut == nil && p.Tasks == nil && p.Workload.Phase.Held() && len(p.Workload.Attempts) > 0 {
		a := p.Workload.Attempts[len(p.Workload.Attempts)-1]
		sum += now.Sub(a.StartedAt).Seconds() * float64(a.GPUMilli) / 1000
	}
	return math.Round(sum*1e3) / 1e3
}

func statuses(p Parts) map[string]api.Status {
	v := workload.View(p.Workload, p.Tasks, p.Transitions)
	out := make(map[string]api.Status, len(lifecycle.Dialects()))
	for _, d := range lifecycle.Dialects() {
		word := lifecycle.Say(d, v)
		out[string(d)] = api.Status{Status: word.Status, End: word.End, Color: word.Color, Code: word.Code, Reason: word.Reason}
	}
	return out
}

func pending(p *explanation.Pending, now time.Time) *api.Pending {
	out := &api.Pending{Reasons: []api.PendingReason{}, Position: p.Position, Waiting: p.Waiting, Ahead: p.AheadNames, EvaluatedAt: api.Time(now)}
	if out.Ahead == nil {
		out.Ahead = []string{}
	}
	if p.EarliestStart > 0 {
		out.EstimatedStart = At(time.UnixMilli(p.EarliestStart))
	}
	for _, r := range p.Reasons {
		out.Reasons = append(out.Reasons, reason(r))
	}
	return out
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
	if w.Kind.Replicated() {
		return w.Replicas
	}
	return w.Spec.Size()
}

// Cut is what is known of a workload of which not all tasks were read.
type Cut struct {
	Left    map[int]int     // tasks that were left out, by attempt
	Charged float64         // GPU time of the present attempt, as far as the workload's does not have it
	Lost    map[int]float64 // GPU time that has to be spent again, by attempt
}
