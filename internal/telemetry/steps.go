// Package telemetry counts what happens for Prometheus and tells it as traces.
// It watches what the control plane has committed and decides nothing.
package telemetry

import (
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/draft"
)

// The steps of an attempt, from its submission to its end.
const (
	StepReview  = "review"  // checks are open
	StepBuild   = "build"   // its image is made
	StepQueue   = "queue"   // it waits for resources
	StepPlace   = "place"   // its place is reserved, and checks of that are open
	StepPrepare = "prepare" // a backend makes ready what is about its tasks
	StepPull    = "pull"    // an image is pulled
	StepSetup   = "setup"   // its own steps before the command
	StepRun     = "run"     // its command runs
	StepEnd     = "end"     // its tasks are being ended
	StepRest    = "rest"    // it waits before it is tried again
)

// Steps returns all steps, in the order of an attempt's life.
func Steps() []string {
	return []string{StepReview, StepBuild, StepQueue, StepPlace, StepPrepare, StepPull, StepSetup, StepRun, StepEnd, StepRest}
}

var stepOf = map[lifecycle.Phase]string{
	lifecycle.Reviewing: StepReview, lifecycle.Building: StepBuild, lifecycle.Queued: StepQueue, lifecycle.Inadmissible: StepQueue,
	lifecycle.Reserved: StepPlace, lifecycle.Starting: StepPrepare, lifecycle.Restarting: StepPrepare, lifecycle.Running: StepRun,
	lifecycle.Publishing: StepRun, lifecycle.Terminating: StepEnd, lifecycle.Backoff: StepRest,
}

// Step is one step that has ended.
type Step struct {
	Name     string
	Attempt  int
	From, To time.Time
	Reason   lifecycle.Reason // why it ended, of the transition that ended it
	Message  string
}

// at is the step that a workload is in.
type at struct {
	name    string
	attempt int
	since   time.Time
}

// liveMost bounds how many workloads are followed at once.
const liveMost = 200_000

// walker follows workloads through their steps.
type walker struct{ live map[core.WorkloadID]at }

func newWalker() *walker { return &walker{live: map[core.WorkloadID]at{}} }

// walk returns the steps that a change has ended. Those that began before the
// walker did are not told: nobody knows when.
func (w *walker) walk(ch *draft.Change) []Step {
	id := ch.Workload.ID
	now, known := w.live[id]
	var out []Step
	move := func(name string, attempt int, when time.Time, reason lifecycle.Reason, message string) {
		if known && now.name == name && now.attempt == attempt {
			return
		}
		if known && now.name != "" && !when.Before(now.since) {
			out = append(out, Step{Name: now.name, Attempt: now.attempt, From: now.since, To: when, Reason: reason, Message: message})
		}
		now, known = at{name, attempt, when}, true
	}
	for i := range ch.Transitions {
		t := &ch.Transitions[i]
		move(stepOf[t.To], t.Attempt, t.At, t.Reason, t.Message)
	}
	if known && ch.Workload.Phase == lifecycle.Starting {
		if name, when, ok := starting(ch.Tasks, now.since); ok {
			move(name, now.attempt, when, lifecycle.ReasonNone, "")
		}
	}
	switch {
	case ch.Workload.Phase.End() || now.name == "" && known && ch.Workload.Phase != lifecycle.Submitted:
		delete(w.live, id)
	case known && (len(w.live) < liveMost || w.has(id)):
		w.live[id] = now
	}
	return out
}

func (w *walker) has(id core.WorkloadID) bool { _, ok := w.live[id]; return ok }

// starting is what the slowest of the tasks that start is at, and since when.
func starting(tasks []*core.Task, not time.Time) (name string, since time.Time, ok bool) {
	rank := map[string]int{StepPrepare: 0, StepSetup: 1, StepPull: 2}
	for _, t := range tasks {
		if t.State != core.TaskStarting {
			continue
		}
		step := StepPrepare
		switch {
		case strings.Contains(t.Waiting, "Pull") || strings.HasPrefix(t.Message, "pulling "):
			step = StepPull
		case strings.HasPrefix(t.Waiting, "Init:"):
			step = StepSetup
		}
		if !ok || rank[step] > rank[name] {
			name, since, ok = step, t.SeenAt, true
		}
	}
	if since.Before(not) { // the backend's clock is not ours
		since = not
	}
	return name, since, ok
}
