package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/musterhq/muster/internal/core"
)

// DeliveryQuery selects deliveries. Zero fields do not restrict, but one of ID,
// User and DueBy must be set.
type DeliveryQuery struct {
	ID    string
	User  string
	State core.DeliveryState
	// DueBy selects what waits for a try until then: of each receiver what is due
	// for the longest time, and of these the longest due first. ID, User and State
	// are then not looked at. Without it the newest come first.
	DueBy time.Time
	// Without are the targets of deliveries that DueBy leaves out.
	Without []string
	Limit   int // at most; 0: 100
}

// Check refuses a query for everything.
func (q *DeliveryQuery) Check() error {
	if q.ID == "" && q.User == "" && q.DueBy.IsZero() {
		return errors.New("a query for deliveries names no id, no user and no time")
	}
	return nil
}

// Most is Limit, or what it is by default.
func (q *DeliveryQuery) Most() int {
	if q.Limit > 0 {
		return q.Limit
	}
	return 100
}

// CheckNotifications refuses subscriptions and deliveries without a name.
func CheckNotifications(b *Batch) error {
	for i := range b.Subscriptions {
		if s := &b.Subscriptions[i]; s.Name == "" {
			return fmt.Errorf("subscription %d of the batch: it has no name", i)
		}
	}
	for i := range b.Deliveries {
		d := &b.Deliveries[i]
		if d.ID == "" || d.State == "" || (d.State == core.DeliveryWaiting) == d.NextAt.IsZero() {
			return fmt.Errorf("delivery %d of the batch: id %q, state %q, next try %v; it must have an id and a state, and a next try while it waits", i, d.ID, d.State, d.NextAt)
		}
	}
	return nil
}
