package control

import (
	"context"
	"errors"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine/organisation"
	"github.com/musterhq/muster/internal/store"
)

// Deliveries is the outbox of a control plane: what waits to be sent, and
// where it is written what became of it.
type Deliveries struct{ c *Control }

// Deliveries returns the outbox.
func (c *Control) Deliveries() Deliveries { return Deliveries{c} }

// Due returns what waits for a try until now, one for each receiver, the longest
// due first.
func (o Deliveries) Due(ctx context.Context, now time.Time, without []string, limit int) ([]core.Delivery, error) {
	return o.c.store.Deliveries(ctx, store.DeliveryQuery{DueBy: now, Without: without, Limit: limit})
}

// Next is when the first try after a time is due; zero: none is.
func (o Deliveries) Next(ctx context.Context, after time.Time) (time.Time, error) {
	return o.c.store.NextDelivery(ctx, after)
}

// Tried records what became of tries.
func (o Deliveries) Tried(ctx context.Context, ds []core.Delivery) error {
	return o.c.Apply(ctx, organisation.Tried(ds))
}

// Secret returns a user's secret as it is stored, sealed.
func (o Deliveries) Secret(ctx context.Context, id core.SecretID) (core.Secret, error) {
	all, err := o.c.store.Secrets(ctx)
	if err != nil {
		return core.Secret{}, err
	}
	for _, s := range all {
		if s.User == id.User && s.Name == id.Name {
			return s, nil
		}
	}
	return core.Secret{}, errors.New("the secret " + id.Name + " does not exist any more")
}
