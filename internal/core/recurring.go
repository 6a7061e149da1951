package core

import (
	"time"

	"github.com/musterhq/muster/internal/core/lifecycle"
)

// TemplateSchedule is the kind of templates of which workloads are submitted again and
// again, by the clock; they have a Schedule. They are no assets: no document names them.
const TemplateSchedule TemplateKind = "schedule"

// Labels and annotations that the runs of a schedule have.
const (
	LabelSchedule   = "muster.dev/schedule"     // its name
	AnnotationDueAt = "muster.dev/scheduled-at" // the time for which it was started, RFC 3339
)

// Concurrency is what becomes of a run that is due while one before it has not ended.
type Concurrency string

// The ways.
const (
	ConcurrencyAllow   Concurrency = "allow"   // it starts beside it
	ConcurrencyForbid  Concurrency = "forbid"  // it waits for its end, or for ever
	ConcurrencyReplace Concurrency = "replace" // the one before is stopped
)

// Schedule is when workloads are made of a template, and what has become of that.
type Schedule struct {
	Cron          string        `json:"cron"`
	TimeZone      string        `json:"timeZone"`
	Concurrency   Concurrency   `json:"concurrency"`
	Suspended     bool          `json:"suspended,omitempty"`
	Within        time.Duration `json:"within,omitempty"` // a run starts at most so long after its time; 0: however late
	KeepCompleted int           `json:"keepCompleted"`    // so many ended runs are kept
	KeepFailed    int           `json:"keepFailed"`
	// ByOwner says that whoever the server belongs to said what it runs: no access rule
	// binds them.
	ByOwner bool `json:"byOwner,omitempty"`
	// As is whoever said what it runs, as the machine knows them, where tasks run as who
	// submitted them; ByMachine that they came by the machine's own socket.
	As        *OSUser `json:"as,omitempty"`
	ByMachine bool    `json:"byMachine,omitempty"`
	// From is the time up to which times have been seen to: the last one that had a run
	// or was given up, or when it was made or last said other times.
	From time.Time `json:"from"`
	// Last is the last time that had a run; zero: none has had one.
	Last   time.Time       `json:"last,omitzero"`
	Runs   []ScheduledRun  `json:"runs,omitempty"`   // those that there are, oldest first
	Events []ScheduleEvent `json:"events,omitempty"` // the last ones, oldest first
}

// ScheduledRun is a workload that a schedule has made.
type ScheduledRun struct {
	ID      WorkloadID      `json:"id"`
	Name    string          `json:"name"`
	At      time.Time       `json:"at,omitzero"` // the time that it was started for; zero: somebody asked for it
	MadeAt  time.Time       `json:"madeAt"`
	Phase   lifecycle.Phase `json:"phase"`            // empty while it has not ended
	EndedAt time.Time       `json:"endedAt,omitzero"` // zero while it has not
}

// Live reports whether a run has not ended.
func (r *ScheduledRun) Live() bool { return r.EndedAt.IsZero() }

// ScheduleEvent is what has become of times that had no run, or not the usual one.
type ScheduleEvent struct {
	What    ScheduleEventKind `json:"what"`
	At      time.Time         `json:"at"`    // when that was seen, the last time
	Due     time.Time         `json:"due"`   // the time of the run that it is about
	Count   int               `json:"count"` // how often in a row
	Message string            `json:"message"`
}

// ScheduleEventKind is what happened, in a word.
type ScheduleEventKind string

// What happens.
const (
	RunRefused  ScheduleEventKind = "Refused"  // the workload was not accepted
	RunTooLate  ScheduleEventKind = "TooLate"  // it would have started too late
	RunHeld     ScheduleEventKind = "Held"     // one before it has not ended
	RunReplaced ScheduleEventKind = "Replaced" // those before it were stopped for it
	TimesMissed ScheduleEventKind = "Missed"   // more than one time has come at once: only the last has a run
)
