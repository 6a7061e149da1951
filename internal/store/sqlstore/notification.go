package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/store"
)

func (r *rows) notifications(b *store.Batch) (err error) {
	if err := store.CheckNotifications(b); err != nil {
		return err
	}
	r.subscriptions = make([]string, len(b.Subscriptions))
	for i, s := range b.Subscriptions {
		s.CreatedAt = kept(s.CreatedAt)
		if r.subscriptions[i], err = encodeNamed("subscription", i, s.Name, s); err != nil {
			return err
		}
	}
	r.deliveries = make([]string, len(b.Deliveries))
	for i, d := range b.Deliveries {
		d.NextAt, d.LastAt = kept(d.NextAt), kept(d.LastAt)
		h := &d.What
		h.At, h.CreatedAt, h.StartedAt, h.EndedAt, h.EndsAt = kept(h.At), kept(h.CreatedAt), kept(h.StartedAt), kept(h.EndedAt), kept(h.EndsAt)
		text, err := json.Marshal(&d)
		if err != nil {
			return fmt.Errorf("delivery %s: %w", d.ID, err)
		}
		r.deliveries[i] = string(text)
	}
	return nil
}

func (c *commit) notifications(b *store.Batch) error {
	for _, id := range b.DropSubscriptions {
		if err := c.row(c.w.dropSubscription, clean(id.User), clean(id.Name)); err != nil {
			return err
		}
	}
	for i := range b.Subscriptions {
		s := &b.Subscriptions[i]
		if err := c.row(c.w.putSubscription, clean(s.User), clean(s.Name), c.rows.subscriptions[i]); err != nil {
			return err
		}
	}
	if at := b.ForgetDeliveriesBefore; !at.IsZero() {
		if err := c.row(c.w.forgetDeliveries, at.UnixMicro()); err != nil {
			return err
		}
	}
	for i := range b.Deliveries {
		d := &b.Deliveries[i]
		if err := c.row(c.w.putDelivery, clean(d.ID), clean(d.User), string(d.State), d.What.At.UnixMicro(), micros(d.NextAt), c.rows.deliveries[i], clean(d.Target())); err != nil {
			return err
		}
	}
	return nil
}

// Subscriptions implements store.Store.
func (s *Store) Subscriptions(ctx context.Context) ([]core.Subscription, error) {
	return namedRecords[core.Subscription](ctx, s, s.r.subscriptions, "subscription")
}

// Deliveries implements store.Store.
func (s *Store) Deliveries(ctx context.Context, q store.DeliveryQuery) ([]core.Delivery, error) {
	const doing = "reading deliveries"
	if err := q.Check(); err != nil {
		return nil, s.fail(doing, err)
	}
	if !q.DueBy.IsZero() {
		all, err := s.due(ctx, q)
		return all, s.fail(doing, err)
	}
	from := s.r.deliveriesOf
	if q.ID != "" {
		from = s.r.delivery
	}
	rows, err := from.QueryContext(ctx, clean(q.ID), clean(q.User), string(q.State), q.Most())
	all, err := collect(rows, err, func(rows *sql.Rows) (d core.Delivery, err error) {
		var id string
		var body []byte
		if err := rows.Scan(&id, &body); err != nil {
			return d, err
		}
		return d, readDelivery(id, body, &d)
	})
	return all, s.fail(doing, err)
}

// due is what a query with DueBy selects.
func (s *Store) due(ctx context.Context, q store.DeliveryQuery) (all []core.Delivery, err error) {
	without := map[string]bool{}
	for _, target := range q.Without {
		without[clean(target)] = true
	}
	rows, err := s.r.deliveriesDue.QueryContext(ctx, q.DueBy.UnixMicro())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for len(all) < q.Most() && rows.Next() {
		var target, id string
		var body sql.RawBytes
		if err := rows.Scan(&target, &id, &body); err != nil {
			return nil, err
		}
		if without[target] {
			continue
		}
		var d core.Delivery
		if err := readDelivery(id, body, &d); err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, rows.Err()
}

func readDelivery(id string, body []byte, d *core.Delivery) error {
	if err := json.Unmarshal(body, d); err != nil {
		return unreadable("delivery "+id, err)
	}
	return nil
}

// NextDelivery implements store.Store.
func (s *Store) NextDelivery(ctx context.Context, after time.Time) (time.Time, error) {
	var us sql.NullInt64
	err := s.r.nextDelivery.QueryRowContext(ctx, after.UnixMicro()).Scan(&us)
	if err != nil || !us.Valid {
		return time.Time{}, s.fail("looking for the next delivery", err)
	}
	return time.UnixMicro(us.Int64).UTC(), nil
}
