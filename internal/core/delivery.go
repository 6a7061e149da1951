package core

import (
	"time"

	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// Subscription asks that a user be told of statuses of the user's workloads, or
// of everyone's in a project.
type Subscription struct {
	User string `json:"user"`
	Name string `json:"name"` // unique among the user's
	spec.Notification
	Project   ProjectID         `json:"project,omitempty"`  // of the workloads; empty: any
	Labels    map[string]string `json:"labels,omitempty"`   // that they must have
	Everyone  bool              `json:"everyone,omitempty"` // of all users; Project is then set, and may be a department
	CreatedAt time.Time         `json:"createdAt"`
}

// SubscriptionID names a subscription.
type SubscriptionID struct{ User, Name string }

// ID names s.
func (s *Subscription) ID() SubscriptionID { return SubscriptionID{s.User, s.Name} }

// Watches reports whether s is about w; below says whether the project of w is
// the named one, or below it.
func (s *Subscription) Watches(w *Workload, below func(ProjectID) bool) bool {
	if s.Everyone && !below(s.Project) || !s.Everyone && (s.User != w.User || s.Project != "" && s.Project != w.Project) {
		return false
	}
	for k, v := range s.Labels {
		if has, ok := w.Spec.Labels[k]; !ok || has != v {
			return false
		}
	}
	return true
}

// DeliveryState is how far a delivery has come.
type DeliveryState string

// The states of a delivery.
const (
	DeliveryWaiting   DeliveryState = "waiting"   // for its next try
	DeliveryDelivered DeliveryState = "delivered" // its receiver has taken it
	DeliveryFailed    DeliveryState = "failed"    // it was given up
)

// DeliveryStates returns every state.
func DeliveryStates() []DeliveryState {
	return []DeliveryState{DeliveryWaiting, DeliveryDelivered, DeliveryFailed}
}

// Delivery is one happening on its way to one receiver. It is written in the
// same commit as what happened, so that neither is there without the other; it
// may reach its receiver more than once, each time with the same ID.
type Delivery struct {
	ID   string            `json:"id"`
	User string            `json:"user"` // whose workload it is, and whose secrets open the receiver
	To   spec.Notification `json:"to"`   // without On
	On   string            `json:"on"`   // the status that was waited for, in the words of who did; test
	What Happening         `json:"what"`

	State  DeliveryState `json:"state"`
	Tries  int           `json:"tries,omitempty"`
	NextAt time.Time     `json:"nextAt,omitzero"` // of the next try, while it waits
	LastAt time.Time     `json:"lastAt,omitzero"` // of the last try
	// Problem is what went wrong with the last try, without secrets.
	Problem string `json:"problem,omitempty"`
}

// Target is the receiver of a delivery, whom one thing is told at a time.
func (d *Delivery) Target() string {
	switch {
	case d.To.Email != "":
		return "mail" // one server takes all of it
	case d.To.SlackSecret() != "":
		return d.To.Slack + " of " + d.User
	}
	return d.To.Webhook + d.To.Slack
}

// Happening is what a delivery tells of a workload, as it was then.
type Happening struct {
	Workload   WorkloadID       `json:"workload,omitempty"` // empty: it is a test
	Name       string           `json:"name,omitempty"`
	Owner      string           `json:"owner,omitempty"` // the workload's user
	Project    ProjectID        `json:"project,omitempty"`
	Kind       lifecycle.Kind   `json:"kind,omitempty"`
	Attempt    int              `json:"attempt"`
	From       lifecycle.Phase  `json:"from,omitempty"`
	Phase      lifecycle.Phase  `json:"phase,omitempty"`
	Reason     lifecycle.Reason `json:"reason,omitempty"`
	Message    string           `json:"message,omitempty"`
	Culprit    *int             `json:"culprit,omitempty"` // index of the first failed task
	At         time.Time        `json:"at"`
	CreatedAt  time.Time        `json:"createdAt,omitzero"`
	StartedAt  time.Time        `json:"startedAt,omitzero"`
	EndedAt    time.Time        `json:"endedAt,omitzero"`
	EndsAt     time.Time        `json:"endsAt,omitzero"` // of DeadlineNear: when its limit will end it
	GPUSeconds float64          `json:"gpuSeconds,omitempty"`
}
