package core

import "time"

// Reservation keeps nodes for some work, or for nobody, for a time that is told
// in advance.
type Reservation struct {
	Name     string        `json:"name"`
	Start    time.Time     `json:"start"`
	Duration time.Duration `json:"duration"`
	Repeat   Repeat        `json:"repeat,omitempty"` // empty: only once

	// Which nodes it keeps: those of these names, or all that have the label, or
	// some or all of a pool.
	Nodes    []NodeID `json:"nodes,omitempty"`
	Selector Label    `json:"selector,omitzero"`
	Pool     string   `json:"pool,omitempty"`
	// NodeCount and GPUs are how many of the pool's nodes are kept: so many, or
	// as many whole nodes as have so many GPUs. Neither: all of them. Which they
	// are is chosen once, and is in Chosen.
	NodeCount int      `json:"nodeCount,omitempty"`
	GPUs      int      `json:"gpus,omitempty"`
	Chosen    []NodeID `json:"chosen,omitempty"`

	Maintenance bool        `json:"maintenance,omitempty"` // for nobody
	Projects    []ProjectID `json:"projects,omitempty"`    // for work of these projects and departments; empty: of all
	Users       []string    `json:"users,omitempty"`       // and of these users; empty: of all
	Magnetic    bool        `json:"magnetic,omitempty"`    // such work goes there without naming it
	IgnoreJobs  bool        `json:"ignoreJobs,omitempty"`  // what runs when it begins is left to its end
	Note        string      `json:"note,omitempty"`
	CreatedAt   time.Time   `json:"createdAt"`
}

// Repeat is how often a reservation comes again.
type Repeat string

// The ways in which a reservation comes again.
const (
	Once   Repeat = ""
	Daily  Repeat = "daily"
	Weekly Repeat = "weekly"
)

// Every is the time from one beginning to the next; 0: there is only one.
func (r Repeat) Every() time.Duration {
	switch r {
	case Daily:
		return 24 * time.Hour
	case Weekly:
		return 7 * 24 * time.Hour
	default:
		return 0
	}
}

// At is the time of r that has not ended at now: the present one or the next. It
// is false when the last is over.
func (r *Reservation) At(now time.Time) (start, end time.Time, ok bool) {
	start = r.Start
	if every := r.Repeat.Every(); every > 0 && !now.Before(start.Add(r.Duration)) {
		start = start.Add(now.Sub(start.Add(r.Duration))/every*every + every)
	}
	end = start.Add(r.Duration)
	return start, end, now.Before(end)
}
