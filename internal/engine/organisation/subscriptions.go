package organisation

import (
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/store"
)

const (
	// subscriptionsMost bounds what one step of a user's workload can set off.
	subscriptionsMost = 50
)

const (
	// testsMost is how many tests of a user may wait.
	testsMost = 20
)

// AddSubscription has a user told of the own workloads.
func AddSubscription(s core.Subscription) draft.Command[core.Subscription] {
	return func(tx *draft.Tx) (core.Subscription, error) {
		if !spec.Named(s.Name) {
			return core.Subscription{}, &draft.Error{Code: draft.CodeInvalid, Field: "name", Message: fmt.Sprintf("%.60q is not a name", s.Name), Hint: fmt.Sprintf("use lower-case letters, digits and '-', at most %d characters", spec.MaxName)}
		}
		if err := tx.Receiver("", s.User, &s.Notification); err != nil {
			return core.Subscription{}, err
		}
		if field, problem, hint := spec.CheckLabels(s.Labels); problem != "" {
			return core.Subscription{}, &draft.Error{Code: draft.CodeInvalid, Field: field, Message: problem, Hint: hint}
		}
		if len(s.Project) > spec.MaxName {
			return core.Subscription{}, &draft.Error{Code: draft.CodeInvalid, Field: "project", Message: fmt.Sprintf("%.60q is no name of a project", s.Project), Hint: "muster project list shows them"}
		}
		if s.Everyone {
			if err := watchable(tx, &s); err != nil {
				return core.Subscription{}, err
			}
		}
		all := tx.Subscriptions(s.User)
		if slices.ContainsFunc(all, func(x core.Subscription) bool { return x.Name == s.Name }) {
			return core.Subscription{}, &draft.Error{Code: draft.CodeConflict, Field: "name", Message: fmt.Sprintf("%s has a notification %q already", s.User, s.Name), Hint: "muster notifications remove " + s.Name + " first, or choose another name"}
		}
		if len(all) >= subscriptionsMost {
			return core.Subscription{}, &draft.Error{Code: draft.CodeInvalid, Message: fmt.Sprintf("%s has %d notifications, the most there may be", s.User, len(all)), Hint: "muster notifications remove NAME makes room"}
		}
		s.CreatedAt = tx.Now
		tx.Notified.Subs = append(tx.Notified.Subs, s)
		return s, nil
	}
}

// DropSubscription ends one. What is on its way arrives.
func DropSubscription(id core.SubscriptionID) draft.Command[draft.Nothing] {
	return func(tx *draft.Tx) (draft.Nothing, error) {
		if !slices.ContainsFunc(tx.Subscriptions(id.User), func(s core.Subscription) bool { return s.Name == id.Name }) {
			return nil, &draft.Error{Code: draft.CodeNotFound, Message: fmt.Sprintf("notification %q of %s does not exist", id.Name, id.User), Hint: "muster notifications list shows those that do"}
		}
		tx.Notified.Subs = slices.DeleteFunc(tx.Notified.Subs, func(s core.Subscription) bool { return s.ID() == id })
		tx.Notified.Gone = append(tx.Notified.Gone, id)
		return nil, nil
	}
}

// TestDelivery sends a test to a receiver, or to that of a subscription where only
// its name is given.
func TestDelivery(user, name string, to spec.Notification) draft.Command[core.Delivery] {
	return func(tx *draft.Tx) (core.Delivery, error) {
		if name != "" {
			all := tx.Subscriptions(user)
			i := slices.IndexFunc(all, func(s core.Subscription) bool { return s.Name == name })
			if i < 0 {
				return core.Delivery{}, &draft.Error{Code: draft.CodeNotFound, Message: fmt.Sprintf("notification %q of %s does not exist", name, user), Hint: "muster notifications list shows those that do"}
			}
			to = all[i].Notification
		}
		if err := tx.Receiver("", user, &to); err != nil {
			return core.Delivery{}, err
		}
		if err := fewTests(tx, user); err != nil {
			return core.Delivery{}, err
		}
		to.On = nil
		d := core.Delivery{
			ID: "test." + string(tx.State.D.NewID(tx.Now)), User: user, To: to, On: "test", State: core.DeliveryWaiting, NextAt: tx.Now,
			What: core.Happening{At: tx.Now, Message: "This is a test: no workload has changed."},
		}
		tx.Notified.Deliveries = append(tx.Notified.Deliveries, d)
		return d, nil
	}
}

// fewTests refuses another test where many wait already: each is one that this
// server has to try for a day and a half.
func fewTests(tx *draft.Tx, user string) error {
	waiting, err := tx.State.D.Store.Deliveries(tx.Ctx, store.DeliveryQuery{User: user, State: core.DeliveryWaiting, Limit: 1000})
	if err != nil {
		return draft.FromStore(err)
	}
	n := 0
	for _, d := range append(waiting, tx.Notified.Deliveries...) {
		if d.User == user && d.What.Workload == "" && d.State == core.DeliveryWaiting {
			n++
		}
	}
	if n >= testsMost {
		return &draft.Error{Code: draft.CodeConflict, Message: fmt.Sprintf("%d tests of %s wait for their receivers", n, user), Hint: "muster notifications deliveries says why; each is given up by itself"}
	}
	return nil
}

// Redeliver tries a delivery again, from the first try on, whatever became of it.
func Redeliver(user, id string) draft.Command[core.Delivery] {
	return func(tx *draft.Tx) (core.Delivery, error) {
		found, err := tx.State.D.Store.Deliveries(tx.Ctx, store.DeliveryQuery{ID: id, User: user})
		if err != nil {
			return core.Delivery{}, draft.FromStore(err)
		}
		if len(found) == 0 {
			return core.Delivery{}, &draft.Error{Code: draft.CodeNotFound, Message: fmt.Sprintf("delivery %q of %s does not exist", id, user), Hint: "muster notifications deliveries lists those of the last days"}
		}
		d := found[0]
		d.State, d.NextAt, d.Tries, d.Problem = core.DeliveryWaiting, tx.Now, 0, ""
		tx.Notified.Deliveries = append(tx.Notified.Deliveries, d)
		return d, nil
	}
}

// Tried records what became of tries.
func Tried(ds []core.Delivery) draft.Command[draft.Nothing] {
	return func(tx *draft.Tx) (draft.Nothing, error) {
		tx.Notified.Deliveries = append(tx.Notified.Deliveries, ds...)
		return nil, nil
	}
}

// watchersMost bounds what one step of a workload can set off by those who
// watch its project.
const watchersMost = 50

// watchable refuses a subscription to everyone's workloads in a project that is
// not there, or that many watch already.
func watchable(tx *draft.Tx, s *core.Subscription) error {
	if s.Project == "" {
		return &draft.Error{Code: draft.CodeInvalid, Field: "project", Message: "the workloads of everyone are those of a project, and none is named", Hint: "name it with --of-project; muster project list shows them"}
	}
	if _, ok := tx.Project(s.Project); !ok {
		return &draft.Error{Code: draft.CodeNotFound, Field: "project", Message: fmt.Sprintf("project %q does not exist", s.Project), Hint: "muster project list shows them"}
	}
	n := 0
	for _, x := range tx.State.Watchers {
		n += core.Bit(x.Project == s.Project)
	}
	if n >= watchersMost {
		return &draft.Error{Code: draft.CodeConflict, Field: "project", Message: fmt.Sprintf("%d notifications are about everyone's workloads in %s, the most there may be", n, s.Project), Hint: "let one receiver pass it on"}
	}
	return nil
}
