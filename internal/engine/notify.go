package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/store"
)

const (
	// deliveriesKept is how long what has come to an end is listed.
	deliveriesKept = 7 * 24 * time.Hour
	// subscriptionsMost bounds what one step of a user's workload can set off.
	subscriptionsMost = 50
	// testsMost is how many tests of a user may wait.
	testsMost = 20
)

// notified is what a draft changes of subscriptions and deliveries.
type notified struct {
	subs       []core.Subscription
	gone       []core.SubscriptionID
	deliveries []core.Delivery
}

// loadSubscriptions reads who is to be told of what.
func (e *Engine) loadSubscriptions(ctx context.Context) error {
	all, err := e.D.Store.Subscriptions(ctx)
	if err != nil {
		return fmt.Errorf("read subscriptions: %w", err)
	}
	e.subscribed = map[string][]core.Subscription{}
	for _, s := range all {
		e.subscribed[s.User] = append(e.subscribed[s.User], s)
	}
	e.gatherWatchers()
	return nil
}

// subscriptions are those of a user as the draft has them, by name.
func (tx *tx) subscriptions(user string) []core.Subscription {
	if len(tx.notified.subs)+len(tx.notified.gone) == 0 {
		return tx.e.subscribed[user]
	}
	all := slices.DeleteFunc(slices.Clone(tx.e.subscribed[user]), func(s core.Subscription) bool {
		return slices.Contains(tx.notified.gone, s.ID())
	})
	for _, s := range tx.notified.subs {
		if s.User == user {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b core.Subscription) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// AddSubscription has a user told of the own workloads. The value is it.
func AddSubscription(s core.Subscription) Command {
	return func(tx *tx) (any, error) {
		if !spec.Named(s.Name) {
			return nil, &Error{Code: CodeInvalid, Field: "name", Message: fmt.Sprintf("%.60q is not a name", s.Name), Hint: fmt.Sprintf("use lower-case letters, digits and '-', at most %d characters", spec.MaxName)}
		}
		if err := tx.receiver("", s.User, &s.Notification); err != nil {
			return nil, err
		}
		if field, problem, hint := spec.CheckLabels(s.Labels); problem != "" {
			return nil, &Error{Code: CodeInvalid, Field: field, Message: problem, Hint: hint}
		}
		if len(s.Project) > spec.MaxName {
			return nil, &Error{Code: CodeInvalid, Field: "project", Message: fmt.Sprintf("%.60q is no name of a project", s.Project), Hint: "muster project list shows them"}
		}
		if s.Everyone {
			if err := tx.watchable(&s); err != nil {
				return nil, err
			}
		}
		all := tx.subscriptions(s.User)
		if slices.ContainsFunc(all, func(x core.Subscription) bool { return x.Name == s.Name }) {
			return nil, &Error{Code: CodeConflict, Field: "name", Message: fmt.Sprintf("%s has a notification %q already", s.User, s.Name), Hint: "muster notifications remove " + s.Name + " first, or choose another name"}
		}
		if len(all) >= subscriptionsMost {
			return nil, &Error{Code: CodeInvalid, Message: fmt.Sprintf("%s has %d notifications, the most there may be", s.User, len(all)), Hint: "muster notifications remove NAME makes room"}
		}
		s.CreatedAt = tx.now
		tx.notified.subs = append(tx.notified.subs, s)
		return s, nil
	}
}

// DropSubscription ends one. What is on its way arrives.
func DropSubscription(id core.SubscriptionID) Command {
	return func(tx *tx) (any, error) {
		if !slices.ContainsFunc(tx.subscriptions(id.User), func(s core.Subscription) bool { return s.Name == id.Name }) {
			return nil, &Error{Code: CodeNotFound, Message: fmt.Sprintf("notification %q of %s does not exist", id.Name, id.User), Hint: "muster notifications list shows those that do"}
		}
		tx.notified.subs = slices.DeleteFunc(tx.notified.subs, func(s core.Subscription) bool { return s.ID() == id })
		tx.notified.gone = append(tx.notified.gone, id)
		return nil, nil
	}
}

// receiver refuses a notification that could never reach anyone.
func (tx *tx) receiver(path, user string, n *spec.Notification) error {
	at := func(field string) string { return strings.Trim(path+"."+field, ".") }
	if field, _, problem, hint := n.Check(); problem != "" {
		return &Error{Code: CodeInvalid, Field: at(field), Message: problem, Hint: hint}
	}
	if n.Email != "" && !tx.e.D.Mail {
		return &Error{Code: CodeUnsupported, Field: at("email"), Message: "this server sends no mail", Hint: "use a webhook, or start the server with --smtp-server"}
	}
	for field, name := range map[string]string{"secret": n.Secret, "slack": n.SlackSecret()} {
		if name == "" {
			continue
		}
		s, ok := tx.secret(core.SecretID{User: user, Name: name})
		switch {
		case !ok:
			return &Error{Code: CodeInvalid, Field: at(field), Message: fmt.Sprintf("%s has no secret %q", user, name), Hint: "muster secret create makes one, muster secret list shows what there is"}
		case s.Type != "env" && s.Type != "mounted":
			return &Error{Code: CodeInvalid, Field: at(field), Message: fmt.Sprintf("secret %q is of type %s", name, s.Type), Hint: "name a secret of type env or mounted"}
		}
	}
	return nil
}

// receivers refuses a document that notifies whom nobody can reach.
func (tx *tx) receivers(doc *spec.Document, user string) error {
	for i := range doc.Notifications {
		if err := tx.receiver(fmt.Sprintf("notifications[%d]", i), user, &doc.Notifications[i]); err != nil {
			return err
		}
	}
	return nil
}

// TestDelivery sends a test to a receiver, or to that of a subscription where
// only its name is given. The value is the delivery.
func TestDelivery(user, name string, to spec.Notification) Command {
	return func(tx *tx) (any, error) {
		if name != "" {
			all := tx.subscriptions(user)
			i := slices.IndexFunc(all, func(s core.Subscription) bool { return s.Name == name })
			if i < 0 {
				return nil, &Error{Code: CodeNotFound, Message: fmt.Sprintf("notification %q of %s does not exist", name, user), Hint: "muster notifications list shows those that do"}
			}
			to = all[i].Notification
		}
		if err := tx.receiver("", user, &to); err != nil {
			return nil, err
		}
		if err := tx.fewTests(user); err != nil {
			return nil, err
		}
		to.On = nil
		d := core.Delivery{
			ID: "test." + string(tx.e.D.NewID(tx.now)), User: user, To: to, On: "test", State: core.DeliveryWaiting, NextAt: tx.now,
			What: core.Happening{At: tx.now, Message: "This is a test: no workload has changed."},
		}
		tx.notified.deliveries = append(tx.notified.deliveries, d)
		return d, nil
	}
}

// fewTests refuses another test where many wait already: each is one that this
// server has to try for a day and a half.
func (tx *tx) fewTests(user string) error {
	waiting, err := tx.e.D.Store.Deliveries(tx.ctx, store.DeliveryQuery{User: user, State: core.DeliveryWaiting, Limit: 1000})
	if err != nil {
		return fromStore(err)
	}
	n := 0
	for _, d := range append(waiting, tx.notified.deliveries...) {
		if d.User == user && d.What.Workload == "" && d.State == core.DeliveryWaiting {
			n++
		}
	}
	if n >= testsMost {
		return &Error{Code: CodeConflict, Message: fmt.Sprintf("%d tests of %s wait for their receivers", n, user), Hint: "muster notifications deliveries says why; each is given up by itself"}
	}
	return nil
}

// Redeliver tries a delivery again, from the first try on, whatever became of
// it. The value is the delivery.
func Redeliver(user, id string) Command {
	return func(tx *tx) (any, error) {
		found, err := tx.e.D.Store.Deliveries(tx.ctx, store.DeliveryQuery{ID: id, User: user})
		if err != nil {
			return nil, fromStore(err)
		}
		if len(found) == 0 {
			return nil, &Error{Code: CodeNotFound, Message: fmt.Sprintf("delivery %q of %s does not exist", id, user), Hint: "muster notifications deliveries lists those of the last days"}
		}
		d := found[0]
		d.State, d.NextAt, d.Tries, d.Problem = core.DeliveryWaiting, tx.now, 0, ""
		tx.notified.deliveries = append(tx.notified.deliveries, d)
		return d, nil
	}
}

// Tried records what became of tries.
func Tried(ds []core.Delivery) Command {
	return func(tx *tx) (any, error) {
		tx.notified.deliveries = append(tx.notified.deliveries, ds...)
		return nil, nil
	}
}

// notify makes the deliveries of what the draft of a workload does, for those
// who asked for it.
func (tx *tx) notify(d *draft) {
	mine, others := tx.subscriptions(d.w.User), tx.watchers(d.w)
	if len(mine)+len(others)+len(d.w.Spec.Notifications) == 0 {
		return // as of most
	}
	n := notices{d: d, user: d.w.User, now: tx.now, seen: map[string]bool{}, words: map[lifecycle.Dialect][2]string{}}
	for i := range d.w.Spec.Notifications {
		n.tell(d.w.Spec.Notifications[i])
	}
	for _, s := range mine {
		if !s.Everyone && s.Watches(d.w, nil) {
			n.tell(s.Notification)
		}
	}
	for _, s := range others {
		n.user = s.User // whose secrets open it, and who sees what became of it
		n.tell(s.Notification)
	}
	tx.notified.deliveries = append(tx.notified.deliveries, n.inOrder()...)
}

// notices gathers the deliveries of one draft.
type notices struct {
	d     *draft
	user  string // who is told
	now   time.Time
	seen  map[string]bool // receiver and step, so that two words for one step are one message
	words map[lifecycle.Dialect][2]string
	out   []notice
}

// notice is a delivery, and which step of the draft it is of.
type notice struct {
	step int
	core.Delivery
}

// inOrder are the deliveries in the order of what they tell.
func (n *notices) inOrder() (all []core.Delivery) {
	slices.SortStableFunc(n.out, func(a, b notice) int { return cmp.Compare(a.step, b.step) })
	for i, x := range n.out {
		// The version is of this commit alone, and the number is its place in it.
		x.ID = fmt.Sprintf("%s.%d.%d", n.d.w.ID, n.d.w.Version, i)
		all = append(all, x.Delivery)
	}
	return all
}

func (n *notices) tell(to spec.Notification) {
	on := to.On
	if len(on) == 0 {
		on = spec.OnByDefault()
	}
	to.On = nil
	for _, word := range on {
		switch what := spec.Told(word); what {
		case "":
		case lifecycle.DeadlineNear:
			n.near(to, word)
			continue
		default:
			n.told(to, word, what)
			continue
		}
		if p, ok := spec.NativeStatus(word); ok {
			for i := range n.d.trail {
				if t := &n.d.trail[i]; t.To == p && t.From != p {
					n.add(to, word, i)
				}
			}
			continue
		}
		for dialect, status := range spec.StatusDialects(word) {
			if said := n.said(dialect); said[0] != said[1] && said[1] == status {
				n.add(to, word, len(n.d.trail)-1)
			}
		}
	}
}

// said is what a dialect says of the workload before and after.
func (n *notices) said(d lifecycle.Dialect) [2]string {
	if said, ok := n.words[d]; ok {
		return said
	}
	status := func(w *core.Workload, tasks map[int]*core.Task) string {
		flat := make([]core.Task, 0, len(tasks))
		for _, t := range sortedTasks(tasks) {
			flat = append(flat, *t)
		}
		return lifecycle.Say(d, View(w, flat, nil)).Status
	}
	said := [2]string{1: status(n.d.w, n.d.tasks)}
	if was := n.d.was; was != nil {
		said[0] = status(was, n.d.wasTasks)
	}
	n.words[d] = said
	return said
}

// add makes a delivery of a step, or of what is now where step is negative.
func (n *notices) add(to spec.Notification, on string, step int) {
	w := n.d.w
	what := n.happening()
	if step >= 0 {
		t := &n.d.trail[step]
		what.From, what.Phase, what.Reason, what.Message, what.Attempt, what.At = t.From, t.To, t.Reason, t.Message, t.Attempt, t.At
	}
	if what.Phase.End() {
		what.EndedAt, what.Culprit = w.EndedAt, n.d.attempt().Culprit
	}
	n.put(to, on, step, what)
}

func (n *notices) near(to spec.Notification, on string) {
	end := n.d.near
	if end == nil || n.d.w.Phase != lifecycle.Running && n.d.w.Phase != lifecycle.Starting && n.d.w.Phase != lifecycle.Restarting {
		return
	}
	what := n.happening()
	what.Reason, what.EndsAt = end.Reason(), end.At
	what.Message = fmt.Sprintf("it will be ended at %s, when %s", end.At.UTC().Format(time.RFC3339), end.Message)
	n.put(to, on, len(n.d.trail), what) // after all that has happened
}

func (n *notices) happening() core.Happening {
	w := n.d.w
	return core.Happening{
		Workload: w.ID, Name: w.Name, Owner: w.User, Project: w.Project, Kind: w.Kind, Attempt: w.Attempt, Phase: w.Phase, Reason: w.Reason, Message: w.Message,
		At: n.now, CreatedAt: w.CreatedAt, StartedAt: w.StartedAt, GPUSeconds: w.GPUSeconds,
	}
}

func (n *notices) put(to spec.Notification, on string, step int, what core.Happening) {
	key := strings.Join([]string{n.secretsOf(to), to.Webhook, to.Slack, to.Email, fmt.Sprint(step)}, "\n")
	if n.seen[key] {
		return
	}
	n.seen[key] = true
	n.out = append(n.out, notice{step, core.Delivery{User: n.user, To: to, On: on, What: what, State: core.DeliveryWaiting, NextAt: n.now}})
}

// secretsOf keeps receivers apart that have the same name in different users'
// secrets, or that different keys sign for.
func (n *notices) secretsOf(to spec.Notification) string {
	if to.Secret == "" && to.SlackSecret() == "" {
		return ""
	}
	return n.user
}

// write puts what is notified into the batch, and drops what is old.
func (x *notified) write(b *store.Batch, now time.Time) {
	b.Subscriptions, b.DropSubscriptions, b.Deliveries = x.subs, x.gone, x.deliveries
	if len(b.Deliveries) > 0 {
		b.ForgetDeliveriesBefore = now.Add(-deliveriesKept)
	}
}

// notifies takes over what a commit has written, and has it sent.
func (e *Engine) notifies(x notified) {
	for _, id := range x.gone {
		e.subscribed[id.User] = slices.DeleteFunc(slices.Clone(e.subscribed[id.User]), func(s core.Subscription) bool { return s.ID() == id })
	}
	for _, s := range x.subs {
		all := append(slices.Clone(e.subscribed[s.User]), s)
		slices.SortFunc(all, func(a, b core.Subscription) int { return cmp.Compare(a.Name, b.Name) })
		e.subscribed[s.User] = all
	}
	if len(x.gone)+len(x.subs) > 0 {
		e.gatherWatchers()
	}
	waits := slices.ContainsFunc(x.deliveries, func(d core.Delivery) bool { return d.State == core.DeliveryWaiting })
	if waits && e.D.Deliver != nil {
		e.D.Deliver()
	}
}
