package memstore

import (
	"maps"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
)

// kept is t as a store gives it back: UTC, whole microseconds.
func kept(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.UnixMicro(t.UnixMicro()).UTC()
}

func keptPointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

// keptList copies a list; an empty one becomes nil, as after a database.
func keptList[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return slices.Clone(list)
}

// keptMap copies a map; an empty one becomes nil.
func keptMap[K comparable, V any](m map[K]V) map[K]V {
	if len(m) == 0 {
		return nil
	}
	return maps.Clone(m)
}

// keptWorkload copies w but for its document, which is never changed.
func keptWorkload(w *core.Workload) *core.Workload {
	c := *w
	c.CreatedAt, c.StartedAt, c.EndedAt = kept(w.CreatedAt), kept(w.StartedAt), kept(w.EndedAt)
	c.PhaseAt, c.WakeAt = kept(w.PhaseAt), kept(w.WakeAt)
	c.Conditions = keptList(w.Conditions)
	for i := range c.Conditions {
		c.Conditions[i].Since = kept(c.Conditions[i].Since)
	}
	c.Attempts = keptList(w.Attempts)
	for i := range c.Attempts {
		a := &c.Attempts[i]
		a.QueuedAt, a.StartedAt = kept(a.QueuedAt), kept(a.StartedAt)
		a.RunningAt, a.EndedAt = kept(a.RunningAt), kept(a.EndedAt)
		a.ExitCode, a.Culprit = keptPointer(a.ExitCode), keptPointer(a.Culprit)
		a.Todo = slices.Clone(a.Todo) // none is not the same as all
		a.SavedAt, a.Revised = kept(a.SavedAt), keptList(a.Revised)
	}
	c.Course = keptCourse(w.Course)
	return &c
}

func keptCourse(c core.Course) core.Course {
	c.IdleSince, c.Warned, c.AskAt = kept(c.IdleSince), kept(c.Warned), kept(c.AskAt)
	c.AtRisk, c.Missed = kept(c.AtRisk), kept(c.Missed)
	c.RuleUses, c.Published, c.Checks = keptList(c.RuleUses), keptPointer(c.Published), keptList(c.Checks)
	c.Canceled, c.HeldTasks = keptList(c.Canceled), keptList(c.HeldTasks)
	for i := range c.Checks {
		k := &c.Checks[i]
		k.Deadline, k.At, k.AskAt, k.Came = kept(k.Deadline), kept(k.At), kept(k.AskAt), kept(k.Came)
		k.Users, k.Left = keptList(k.Users), keptList(k.Left)
	}
	return c
}

func keptSecret(k core.Secret) core.Secret {
	k.CreatedAt = kept(k.CreatedAt)
	k.Fields, k.Sealed = keptMap(k.Fields), keptList(k.Sealed)
	return k
}

func keptTask(t *core.Task) core.Task {
	c := *t
	c.PlacedAt, c.StartedAt = kept(t.PlacedAt), kept(t.StartedAt)
	c.EndedAt, c.RestartedAt = kept(t.EndedAt), kept(t.RestartedAt)
	c.RestartAt, c.ReleasedAt = kept(t.RestartAt), kept(t.ReleasedAt)
	c.ExitCode, c.Devices = keptPointer(t.ExitCode), keptList(t.Devices)
	return c
}

// shown is a copy that a reader may keep and change at its top level.
func shown(w *core.Workload) *core.Workload {
	c := *w
	c.Conditions, c.Attempts = slices.Clone(w.Conditions), slices.Clone(w.Attempts)
	c.Checks, c.RuleUses = slices.Clone(w.Checks), slices.Clone(w.RuleUses)
	return &c
}
