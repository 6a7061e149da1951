package storetest

import (
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/store"
)

func testSubscriptions(t *testing.T, w *world) {
	a := core.Subscription{User: "ana", Name: "mail", Notification: spec.Notification{On: []string{"Failed", "mcli:COMPLETED"}, Email: "ana@example.com"},
		Project: "p", Labels: map[string]string{"team": "a"}, CreatedAt: epoch}
	b := core.Subscription{User: "bob", Name: "mail", Notification: spec.Notification{Webhook: "https://h/a", Secret: "key"}, CreatedAt: epoch}
	w.refused(nil, &store.Batch{Subscriptions: []core.Subscription{{User: "ana"}}})
	w.commit(&store.Batch{Subscriptions: []core.Subscription{b, a}})
	b.Slack, b.Webhook, b.Secret = "slack", "", ""
	w.commit(&store.Batch{Subscriptions: []core.Subscription{b}, DropSubscriptions: []core.SubscriptionID{{User: "ana", Name: "none"}}})
	w.reopen()
	subscribed := func(want ...core.Subscription) {
		t.Helper()
		got, err := w.s.Subscriptions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "Subscriptions", got, want)
	}
	subscribed(a, b)
	w.commit(&store.Batch{DropSubscriptions: []core.SubscriptionID{a.ID()}})
	subscribed(b)
}

func testDeliveries(t *testing.T, w *world) {
	culprit := 3
	at := func(m int) time.Time { return epoch.Add(time.Duration(m) * time.Minute) }
	one := func(id, user string, m, next int) core.Delivery {
		return core.Delivery{ID: id, User: user, To: spec.Notification{Webhook: "https://h/" + id}, On: "Failed", State: core.DeliveryWaiting, NextAt: at(next),
			What: core.Happening{Workload: "w", Name: "n", Project: "p", Kind: lifecycle.Training, Attempt: 1, From: lifecycle.Running, Phase: lifecycle.Failed,
				Reason: "ExitCode", Message: "Zürich ≠ \"x\"", Culprit: &culprit, At: at(m), CreatedAt: at(-9), StartedAt: at(-8), EndedAt: at(m), EndsAt: at(9), GPUSeconds: 1.5}}
	}
	a, b, c := one("a", "ana", 1, 30), one("b", "bob", 2, 10), one("c", "ana", 3, 20)
	unnamed, endless := a, a
	unnamed.ID, endless.NextAt = "", time.Time{}
	for _, d := range []core.Delivery{unnamed, endless} {
		w.refused(nil, &store.Batch{Deliveries: []core.Delivery{d}})
	}
	w.commit(&store.Batch{Deliveries: []core.Delivery{a, b}})
	w.commit(&store.Batch{Deliveries: []core.Delivery{c}})
	w.reopen()
	found := func(q store.DeliveryQuery, want ...core.Delivery) {
		t.Helper()
		got, err := w.s.Deliveries(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "Deliveries", got, want)
	}
	found(store.DeliveryQuery{User: "ana"}, c, a)
	found(store.DeliveryQuery{User: "bob"}, b)
	if got, err := w.s.Deliveries(t.Context(), store.DeliveryQuery{}); err == nil {
		t.Errorf("everybody's deliveries: %v", got)
	}
	found(store.DeliveryQuery{User: "ana", Limit: 1}, c)
	found(store.DeliveryQuery{ID: "b"}, b)
	found(store.DeliveryQuery{ID: "b", User: "ana"})
	found(store.DeliveryQuery{DueBy: at(20)}, b, c)
	found(store.DeliveryQuery{DueBy: at(20), Limit: 1}, b)
	found(store.DeliveryQuery{DueBy: at(30), Without: []string{c.Target(), "https://h/none"}}, b, a)
	found(store.DeliveryQuery{DueBy: at(30), Without: []string{b.Target()}, Limit: 1}, c)
	// Of a receiver with much that waits only what is due for the longest time.
	mail := func(id, user string, m, next int) core.Delivery {
		d := one(id, user, m, next)
		d.To = spec.Notification{Email: user + "@h"}
		return d
	}
	slack := func(id, user string) core.Delivery {
		d := one(id, user, 0, 26)
		d.To = spec.Notification{Slack: "team"}
		return d
	}
	x, y, z := mail("x", "ana", 0, 25), mail("y", "bob", 0, 15), mail("z", "ana", 0, 15)
	s, u := slack("s", "ana"), slack("u", "bob") // secrets of the same name are another user's
	w.commit(&store.Batch{Deliveries: []core.Delivery{x, y, z, s, u}})
	found(store.DeliveryQuery{DueBy: at(30)}, b, y, c, s, u, a)
	found(store.DeliveryQuery{DueBy: at(30), Without: []string{y.Target(), s.Target()}}, b, c, u, a)
	for _, d := range []*core.Delivery{&x, &y, &z, &s, &u} {
		d.State, d.NextAt = core.DeliveryDelivered, time.Time{}
	}
	w.commit(&store.Batch{Deliveries: []core.Delivery{x, y, z, s, u}})
	w.commit(&store.Batch{ForgetDeliveriesBefore: at(1)})
	next := func(after, want time.Time) {
		t.Helper()
		if got, err := w.s.NextDelivery(t.Context(), after); err != nil || !got.Equal(want) {
			t.Errorf("NextDelivery(%v): %v, %v; want %v", after, got, err, want)
		}
	}
	next(at(0), at(10))
	next(at(10), at(20))
	next(at(30), time.Time{})
	b.State, b.NextAt, b.LastAt, b.Tries, b.Problem = core.DeliveryFailed, time.Time{}, at(11), 1, "gone"
	a.Tries, a.NextAt = 2, at(40)
	w.commit(&store.Batch{Deliveries: []core.Delivery{b, a}}) // what is tried again keeps its place
	found(store.DeliveryQuery{User: "ana"}, c, a)
	found(store.DeliveryQuery{User: "bob", State: core.DeliveryFailed}, b)
	found(store.DeliveryQuery{User: "ana", State: core.DeliveryFailed})
	next(at(0), at(20))
	// What waits is not forgotten, whatever its age.
	w.commit(&store.Batch{ForgetDeliveriesBefore: at(2)})
	found(store.DeliveryQuery{ID: "b"}, b)
	w.commit(&store.Batch{ForgetDeliveriesBefore: at(3)})
	found(store.DeliveryQuery{ID: "b"})
	found(store.DeliveryQuery{User: "ana"}, c, a)
}
