package sqlstore

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// status is what of a workload changes and is never searched by. The rest are
// columns, and the document.
type status struct {
	Target         lifecycle.Phase  `json:"target,omitempty"`
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
}

func encodeStatus(w *core.Workload) (string, error) {
	s := status{
		Target: w.Target, Reason: w.Reason, Message: w.Message, Started: w.Started,
		StartedAt: kept(w.StartedAt), PhaseAt: kept(w.PhaseAt), WakeAt: kept(w.WakeAt),
		Counts: w.Counts, EndGrace: w.EndGrace, Failures: w.Failures, SystemFailures: w.SystemFailures, GPUSeconds: w.GPUSeconds,
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

func decodeStatus(text []byte, w *core.Workload) error {
	var s status
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	w.Target, w.Reason, w.Message, w.Started = s.Target, s.Reason, s.Message, s.Started
	w.Conditions, w.Attempts = s.Conditions, s.Attempts
	w.StartedAt, w.PhaseAt, w.WakeAt = s.StartedAt, s.PhaseAt, s.WakeAt
	w.Counts, w.EndGrace = s.Counts, s.EndGrace
	w.Failures, w.SystemFailures, w.GPUSeconds = s.Failures, s.SystemFailures, s.GPUSeconds
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
	text, err := json.Marshal(&c)
	return string(text), err
}

func encodeProject(p *core.Project) (string, error) {
	c := *p
	c.CreatedAt = kept(p.CreatedAt)
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

func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// unreadable says which record does not decode. The file is as SQLite left it,
// so this is not corruption that it could see.
func unreadable(what string, err error) error { return fmt.Errorf("%s cannot be read: %w", what, err) }
