package memstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/store"
)

// notify writes subscriptions and deliveries.
func (s *Store) notify(b *store.Batch) {
	for _, id := range b.DropSubscriptions {
		delete(s.subscriptions, id)
	}
	for _, x := range b.Subscriptions {
		s.subscriptions[x.ID()] = keptSubscription(x)
	}
	if at := kept(b.ForgetDeliveriesBefore); !at.IsZero() {
		s.deliveries = slices.DeleteFunc(s.deliveries, func(d core.Delivery) bool {
			return d.NextAt.IsZero() && d.What.At.Before(at)
		})
	}
	for _, d := range b.Deliveries {
		d = keptDelivery(d)
		if i := slices.IndexFunc(s.deliveries, func(x core.Delivery) bool { return x.ID == d.ID }); i >= 0 {
			s.deliveries[i] = d
		} else {
			s.deliveries = append(s.deliveries, d)
		}
	}
}

// Subscriptions implements store.Store.
func (s *Store) Subscriptions(ctx context.Context) ([]core.Subscription, error) {
	return listed(ctx, s, "reading the subscriptions", s.subscriptions, func(a, b core.SubscriptionID) int {
		return cmp.Or(cmp.Compare(a.User, b.User), cmp.Compare(a.Name, b.Name))
	}, keptSubscription)
}

// Deliveries implements store.Store.
func (s *Store) Deliveries(ctx context.Context, q store.DeliveryQuery) ([]core.Delivery, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	done, err := s.reading(ctx, "reading deliveries")
	if err != nil {
		return nil, err
	}
	defer done()
	if !q.DueBy.IsZero() {
		return s.due(&q), nil
	}
	var all []core.Delivery
	for _, d := range slices.Backward(s.deliveries) {
		if q.ID != "" && d.ID != q.ID || q.User != "" && d.User != q.User || q.State != "" && d.State != q.State {
			continue
		}
		all = append(all, keptDelivery(d))
	}
	return all[:min(len(all), q.Most())], nil
}

// due is what a query with DueBy selects.
func (s *Store) due(q *store.DeliveryQuery) (all []core.Delivery) {
	by := kept(q.DueBy)
	waiting := slices.Clone(s.deliveries)
	slices.SortStableFunc(waiting, func(a, b core.Delivery) int { return a.NextAt.Compare(b.NextAt) })
	met := map[string]bool{}
	for _, target := range q.Without {
		met[target] = true
	}
	for _, d := range waiting {
		if target := d.Target(); !d.NextAt.IsZero() && !d.NextAt.After(by) && !met[target] {
			met[target] = true
			all = append(all, keptDelivery(d))
		}
	}
	return all[:min(len(all), q.Most())]
}

// NextDelivery implements store.Store.
func (s *Store) NextDelivery(ctx context.Context, after time.Time) (time.Time, error) {
	done, err := s.reading(ctx, "looking for the next delivery")
	if err != nil {
		return time.Time{}, err
	}
	defer done()
	next := time.Time{}
	for _, d := range s.deliveries {
		if at := d.NextAt; !at.IsZero() && at.After(kept(after)) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next, nil
}

func keptSubscription(x core.Subscription) core.Subscription {
	x.CreatedAt, x.On, x.Labels = kept(x.CreatedAt), keptList(x.On), keptMap(x.Labels)
	return x
}

func keptDelivery(d core.Delivery) core.Delivery {
	d.To.On, d.NextAt, d.LastAt = keptList(d.To.On), kept(d.NextAt), kept(d.LastAt)
	h := &d.What
	h.At, h.CreatedAt, h.StartedAt, h.EndedAt, h.EndsAt = kept(h.At), kept(h.CreatedAt), kept(h.StartedAt), kept(h.EndedAt), kept(h.EndsAt)
	h.Culprit = keptPointer(h.Culprit)
	return d
}
