package sqlstore

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// status is what of a workload changes and is never searched by. The rest are
// columns, and the document.
type status struct {
	Target         lifecycle.Phase  `json:"target,omitempty"`
	Event          lifecycle.Event  `json:"event,omitempty"`
	Cause          lifecycle.Cause  `json:"cause,omitempty"`
	Reason         lifecycle.Reason `json:"reason,omitempty"`
	Message        string           `json:"message,omitempty"`
	Started        bool             `json:"started,omitempty"`
	Conditions     []core.Condition `json:"conditions,omitempty"`
	Attempts       []core.Attempt   `json:"attempts,omitempty"`
	StartedAt      time.Time        `json:"startedAt,omitzero"`
	PhaseAt        time.Time        `json:"phaseAt,omitzero"`
	WakeAt         time.Time        `json:"wakeAt,omitzero"`
	Counts         core.TaskCounts  `json:"counts,omitzero"`
	EndGrace       time.Duration    `json:"endGrace,omitempty"`
	Failures       int              `json:"failures,omitempty"`
	SystemFailures int              `json:"systemFailures,omitempty"`
	GPUSeconds     float64          `json:"gpuSeconds,omitempty"`
	Course         *core.Course     `json:"course,omitempty"`
}

func encodeStatus(w *core.Workload) (string, error) {
	s := status{
		Target: w.Target, Event: w.Event, Cause: w.Cause, Reason: w.Reason, Message: w.Message, Started: w.Started,
		StartedAt: kept(w.StartedAt), PhaseAt: kept(w.PhaseAt), WakeAt: kept(w.WakeAt),
		Counts: w.Counts, EndGrace: w.EndGrace, Failures: w.Failures, SystemFailures: w.SystemFailures, GPUSeconds: w.GPUSeconds,
		Course: keptCourse(&w.Course),
	}
	if len(w.Conditions) > 0 {
		s.Conditions = make([]core.Condition, len(w.Conditions))
		for i, c := range w.Conditions {
			c.Since = kept(c.Since)
			s.Conditions[i] = c
		}
	}
	if len(w.Attempts) > 0 {
		s.Attempts = make([]core.Attempt, len(w.Attempts))
		for i, a := range w.Attempts {
			a.QueuedAt, a.StartedAt = kept(a.QueuedAt), kept(a.StartedAt)
			a.RunningAt, a.EndedAt = kept(a.RunningAt), kept(a.EndedAt)
			s.Attempts[i] = a
		}
	}
	text, err := json.Marshal(&s)
	return string(text), err
}

// keptCourse is nil for that of most workloads, which have come to nothing
// beside their phase.
func keptCourse(w *core.Course) *core.Course {
	if reflect.ValueOf(w).Elem().IsZero() {
		return nil
	}
	c := *w
	c.IdleSince, c.Warned, c.AskAt = kept(c.IdleSince), kept(c.Warned), kept(c.AskAt)
	c.AtRisk, c.Missed = kept(c.AtRisk), kept(c.Missed)
	if p := w.Progress; p != nil {
		kc := *p
		kc.At = kept(p.At)
		c.Progress = &kc
	}
	if p := w.Checkpoint; p != nil {
		kc := *p
		kc.At = kept(p.At)
		c.Checkpoint = &kc
	}
	if h := w.Hold; h != nil {
		kc := *h
		kc.At = kept(h.At)
		c.Hold = &kc
	}
	c.Checks = slices.Clone(c.Checks)
	for i := range c.Checks {
		k := &c.Checks[i]
		k.Deadline, k.At, k.AskAt, k.Came = kept(k.Deadline), kept(k.At), kept(k.AskAt), kept(k.Came)
	}
	return &c
}

func decodeStatus(text []byte, w *core.Workload) error {
	var s status
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	w.Target, w.Reason, w.Message, w.Started = s.Target, s.Reason, s.Message, s.Started
	if w.Event, w.Cause = s.Event, s.Cause; w.Event == "" {
		w.Event, w.Cause = lifecycle.Written(w.Reason)
	}
	for i := range s.Conditions {
		if c := &s.Conditions[i]; c.Cause == "" {
			c.Cause = lifecycle.ConditionCause(c.Reason)
		}
	}
	for i := range s.Attempts {
		if a := &s.Attempts[i]; a.Event == "" {
			a.Event, a.Cause = lifecycle.Written(a.Reason)
		}
	}
	w.Conditions, w.Attempts = s.Conditions, s.Attempts
	w.StartedAt, w.PhaseAt, w.WakeAt = s.StartedAt, s.PhaseAt, s.WakeAt
	w.Counts, w.EndGrace = s.Counts, s.EndGrace
	w.Failures, w.SystemFailures, w.GPUSeconds = s.Failures, s.SystemFailures, s.GPUSeconds
	if w.Course = (core.Course{}); s.Course != nil {
		w.Course = *s.Course
	}
	return nil
}

func encodeSpec(d *spec.Document) (string, error) {
	text, err := d.MarshalJSON() // not json.Marshal, which would check and copy it once more
	return string(text), err
}

func decodeSpec(text []byte) (*spec.Document, error) {
	d := new(spec.Document)
	return d, d.UnmarshalJSON(text)
}

func encodeTask(t *core.Task) (string, error) {
	c := *t
	c.PlacedAt, c.StartedAt = kept(t.PlacedAt), kept(t.StartedAt)
	c.EndedAt, c.RestartedAt = kept(t.EndedAt), kept(t.RestartedAt)
	c.RestartAt, c.ReleasedAt = kept(t.RestartAt), kept(t.ReleasedAt)
	c.Steps = slices.Clone(t.Steps)
	for i := range c.Steps {
		c.Steps[i].StartedAt, c.Steps[i].EndedAt = kept(c.Steps[i].StartedAt), kept(c.Steps[i].EndedAt)
	}
	text, err := json.Marshal(&c)
	return string(text), err
}

func encodeSecret(k *core.Secret) (string, error) {
	c := *k
	c.User, c.Name, c.CreatedAt = clean(k.User), clean(k.Name), kept(k.CreatedAt)
	text, err := json.Marshal(&c)
	return string(text), err
}

// kept is t as it will be read back.
func kept(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.UnixMicro(t.UnixMicro()).UTC()
}

// micros is t for a column: NULL for the zero time, so that no instant is
// mistaken for it.
func micros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// clean makes text what every engine stores and JSON can carry.
func clean[T ~string](text T) string { return strings.ToValidUTF8(string(text), "\uFFFD") }

// cleanLabel makes text what it is in a stored document too: JSON has one U+FFFD
// for each byte that is no text.
func cleanLabel(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return string([]rune(text))
}

func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// unreadable says which record does not decode. The file is as SQLite left it,
// so this is not corruption that it could see.
func unreadable(what string, err error) error {
	return fmt.Errorf("%s cannot be read: %w; restore a backup, or end the server and let muster server salvage take out what cannot be read", what, err)
}
