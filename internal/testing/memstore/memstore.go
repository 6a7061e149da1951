// Package memstore is a store.Store in memory, for simulation and for tests
// that care about decisions and not about disks. It keeps the whole contract
// but durability: what it holds ends with the process.
//
// Close keeps the records, so that the same Store opened "again" is what a
// restarted server finds.
package memstore

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/store"
)

// Store is a store.Store in memory. Make one with New.
type Store struct {
	mu     sync.RWMutex
	term   store.Term
	holder string
	seq    store.Counters

	installation string

	byAge        []*core.Workload // by Seq
	byID         map[core.WorkloadID]*core.Workload
	byName       map[name]core.WorkloadID        // of those not Deleted
	tasks        map[core.WorkloadID][]core.Task // by attempt, index and run
	steps        []core.Transition               // by Seq
	stepsOf      map[core.WorkloadID][]core.Transition
	projects     map[core.ProjectID]core.Project
	pools        map[string]core.Pool
	reservations map[string]core.Reservation
	licenses     map[string]core.License
	nodes        map[core.NodeID]core.NodeSetting
	secrets      map[core.SecretID]core.Secret
	keys         map[user]store.Key
	promises     []core.Promise

	subscriptions map[core.SubscriptionID]core.Subscription
	deliveries    []core.Delivery // the newest last
	templates     map[core.TemplateID]core.Template
	access        access
}

type name struct {
	project core.ProjectID
	name    string
}

// user is whose idempotency key it is.
type user struct{ name, key string }

// New returns an empty store.
func New() *Store {
	return &Store{
		installation: strings.ToLower(rand.Text()),

		byID:         map[core.WorkloadID]*core.Workload{},
		byName:       map[name]core.WorkloadID{},
		tasks:        map[core.WorkloadID][]core.Task{},
		stepsOf:      map[core.WorkloadID][]core.Transition{},
		projects:     map[core.ProjectID]core.Project{},
		pools:        map[string]core.Pool{},
		reservations: map[string]core.Reservation{},
		licenses:     map[string]core.License{},
		nodes:        map[core.NodeID]core.NodeSetting{},
		secrets:      map[core.SecretID]core.Secret{},
		keys:         map[user]store.Key{},

		subscriptions: map[core.SubscriptionID]core.Subscription{},
		templates:     map[core.TemplateID]core.Template{},
		access:        newAccess(),
	}
}

// Acquire implements store.Store.
func (s *Store) Acquire(ctx context.Context, holder string) (store.Term, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("become the writer: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.term++
	s.holder = holder
	return s.term, nil
}

// Close implements store.Store. The records stay.
func (s *Store) Close() error { return nil }
