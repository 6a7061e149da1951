package core

import (
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core/lifecycle"
)

func TestOnlyWhatWasInVainIsLost(t *testing.T) {
	begin := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	after := func(s int) time.Time { return begin.Add(time.Duration(s) * time.Second) }
	one := 1
	failed := Attempt{EndedAt: after(100), ExitCode: &one, Event: lifecycle.TaskFail}
	task := Task{State: TaskFailed, PlacedAt: begin, ReleasedAt: after(60), Devices: []Share{{Milli: 1000}, {Milli: 500}}}
	for name, c := range map[string]struct {
		change func(*Attempt, *Task)
		want   float64
	}{
		"all of it":                     {func(*Attempt, *Task) {}, 90},
		"since the last checkpoint":     {func(a *Attempt, _ *Task) { a.SavedAt = after(40) }, 30},
		"saved after it had gone":       {func(a *Attempt, _ *Task) { a.SavedAt = after(70) }, 0},
		"a checkpoint before its place": {func(a *Attempt, k *Task) { a.SavedAt, k.PlacedAt = begin, after(30) }, 45},
		"had to leave":                  {func(a *Attempt, _ *Task) { a.ExitCode, a.Event = nil, lifecycle.Preempt }, 90},
		"held until the end":            {func(_ *Attempt, k *Task) { k.ReleasedAt = time.Time{} }, 150},
		"this one has succeeded":        {func(_ *Attempt, k *Task) { k.State = TaskSucceeded }, 0},
		"goes on":                       {func(a *Attempt, _ *Task) { a.EndedAt = time.Time{} }, 0},
		"was stopped":                   {func(a *Attempt, _ *Task) { a.Event, a.Cause = lifecycle.Stop, lifecycle.CauseStop }, 0},
		"its time was over":             {func(a *Attempt, _ *Task) { a.Event, a.Cause = lifecycle.Deadline, lifecycle.CauseLimit }, 0},
		"its deadline has passed":       {func(a *Attempt, _ *Task) { a.Event, a.Cause = lifecycle.Deadline, lifecycle.CauseDeadline }, 90},
		"its pods were taken away":      {func(a *Attempt, _ *Task) { a.Event, a.Cause = lifecycle.Stop, lifecycle.CauseMaker }, 90},
		"done":                          {func(a *Attempt, _ *Task) { a.ExitCode, a.Event = nil, lifecycle.Succeed }, 0},
		"never placed":                  {func(_ *Attempt, k *Task) { k.PlacedAt = time.Time{} }, 0},
		"a clock that was set back":     {func(_ *Attempt, k *Task) { k.ReleasedAt = after(-60) }, 0},
	} {
		a, k := failed, task
		if c.change(&a, &k); a.LostGPU(&k) != c.want {
			t.Errorf("%s: %v GPU-seconds are lost, want %v", name, a.LostGPU(&k), c.want)
		}
	}
}
