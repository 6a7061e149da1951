package draft

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/workload"
	"github.com/musterhq/muster/internal/store"
)

const (
	// deliveriesKept is how long what has come to an end is listed.
	deliveriesKept = 7 * 24 * time.Hour
)

// notified is what a draft changes of subscriptions and deliveries.
type notified struct {
	Subs       []core.Subscription
	Gone       []core.SubscriptionID
	Deliveries []core.Delivery
}

// loadSubscriptions reads who is to be told of what.
func (e *State) loadSubscriptions(ctx context.Context) error {
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

// Subscriptions are those of a user as the draft has them, by name.
func (tx *Tx) Subscriptions(user string) []core.Subscription {
	if len(tx.Notified.Subs)+len(tx.Notified.Gone) == 0 {
		return tx.State.subscribed[user]
	}
	all := slices.DeleteFunc(slices.Clone(tx.State.subscribed[user]), func(s core.Subscription) bool {
		return slices.Contains(tx.Notified.Gone, s.ID())
	})
	for _, s := range tx.Notified.Subs {
		if s.User == user {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b core.Subscription) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Receiver refuses a notification that could never reach anyone.
func (tx *Tx) Receiver(path, user string, n *spec.Notification) error {
	at := func(field string) string { return strings.Trim(path+"."+field, ".") }
	if field, _, problem, hint := n.Check(); problem != "" {
		return &Error{Code: CodeInvalid, Field: at(field), Message: problem, Hint: hint}
	}
	if n.Email != "" && !tx.State.D.Mail {
		return &Error{Code: CodeUnsupported, Field: at("email"), Message: "this server sends no mail", Hint: "use a webhook, or start the server with --smtp-server"}
	}
	for field, name := range map[string]string{"secret": n.Secret, "slack": n.SlackSecret()} {
		if name == "" {
			continue
		}
		s, ok := tx.Secret(core.SecretID{User: user, Name: name})
		switch {
		case !ok:
			return &Error{Code: CodeInvalid, Field: at(field), Message: fmt.Sprintf("%s has no secret %q", user, name), Hint: "muster secret create makes one, muster secret list shows what there is"}
		case s.Type != "env" && s.Type != "mounted":
			return &Error{Code: CodeInvalid, Field: at(field), Message: fmt.Sprintf("secret %q is of type %s", name, s.Type), Hint: "name a secret of type env or mounted"}
		}
	}
	return nil
}

// Receivers refuses a document that notifies whom nobody can reach.
func (tx *Tx) Receivers(doc *spec.Document, user string) error {
	for i := range doc.Notifications {
		if err := tx.Receiver(fmt.Sprintf("notifications[%d]", i), user, &doc.Notifications[i]); err != nil {
			return err
		}
	}
	return nil
}

// notify makes the deliveries of what the draft of a workload does, for those
// who asked for it.
func (tx *Tx) notify(d *Draft) {
	mine, others := tx.Subscriptions(d.W.User), tx.watchers(d.W)
	if len(mine)+len(others)+len(d.W.Spec.Notifications) == 0 {
		return // as of most
	}
	n := notices{d: d, user: d.W.User, now: tx.Now, seen: map[string]bool{}, words: map[lifecycle.Dialect][2]string{}}
	for i := range d.W.Spec.Notifications {
		n.deliver(d.W.Spec.Notifications[i])
	}
	for _, s := range mine {
		if !s.Everyone && s.Watches(d.W, nil) {
			n.deliver(s.Notification)
		}
	}
	for _, s := range others {
		n.user = s.User // whose secrets open it, and who sees what became of it
		n.deliver(s.Notification)
	}
	tx.Notified.Deliveries = append(tx.Notified.Deliveries, n.inOrder()...)
}

// notices gathers the deliveries of one draft.
type notices struct {
	d     *Draft
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
		x.ID = fmt.Sprintf("%s.%d.%d", n.d.W.ID, n.d.W.Version, i)
		all = append(all, x.Delivery)
	}
	return all
}

func (n *notices) deliver(to spec.Notification) {
	on := to.On
	if len(on) == 0 {
		on = spec.OnByDefault()
	}
	to.On = nil
	for _, word := range on {
		switch what := spec.ConditionOf(word); what {
		case "":
		case lifecycle.DeadlineNear:
			n.near(to, word)
			continue
		default:
			n.deliverCondition(to, word, what)
			continue
		}
		if p, ok := spec.NativeStatus(word); ok {
			for i := range n.d.Trail {
				if t := &n.d.Trail[i]; t.To == p && t.From != p {
					n.add(to, word, i)
				}
			}
			continue
		}
		for dialect, status := range spec.StatusDialects(word) {
			if words := n.statusWords(dialect); words[0] != words[1] && words[1] == status {
				n.add(to, word, len(n.d.Trail)-1)
			}
		}
	}
}

// statusWords is what a dialect says of the workload before and after.
func (n *notices) statusWords(d lifecycle.Dialect) [2]string {
	if words, ok := n.words[d]; ok {
		return words
	}
	status := func(w *core.Workload, tasks *workload.Tasks) string {
		flat := make([]core.Task, 0, tasks.Len())
		for _, t := range workload.SortedTasks(tasks) {
			flat = append(flat, *t)
		}
		return lifecycle.Say(d, workload.View(w, flat, nil)).Status
	}
	words := [2]string{1: status(n.d.W, n.d.Tasks)}
	if was := n.d.Was; was != nil {
		words[0] = status(was, n.d.wasTasks)
	}
	n.words[d] = words
	return words
}

// add makes a delivery of a step, or of what is now where step is negative.
func (n *notices) add(to spec.Notification, on string, step int) {
	w := n.d.W
	what := n.happening()
	if step >= 0 {
		t := &n.d.Trail[step]
		what.From, what.Phase, what.Reason, what.Message, what.Attempt, what.At = t.From, t.To, t.Reason, t.Message, t.Attempt, t.At
	}
	if what.Phase.End() {
		what.EndedAt, what.Culprit = w.EndedAt, n.d.Attempt().Culprit
	}
	n.put(to, on, step, what)
}

func (n *notices) near(to spec.Notification, on string) {
	end := n.d.Near
	if end == nil || !n.d.W.Phase.Active() {
		return
	}
	what := n.happening()
	what.Reason, what.EndsAt = end.Reason(), end.At
	what.Message = fmt.Sprintf("it will be ended at %s, when %s", end.At.UTC().Format(time.RFC3339), end.Message)
	n.put(to, on, len(n.d.Trail), what) // after all that has happened
}

func (n *notices) happening() core.Happening {
	w := n.d.W
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
	b.Subscriptions, b.DropSubscriptions, b.Deliveries = x.Subs, x.Gone, x.Deliveries
	if len(b.Deliveries) > 0 {
		b.ForgetDeliveriesBefore = now.Add(-deliveriesKept)
	}
}

// notifies takes over what a commit has written, and has it sent.
func (e *State) notifies(x notified) {
	for _, id := range x.Gone {
		e.subscribed[id.User] = slices.DeleteFunc(slices.Clone(e.subscribed[id.User]), func(s core.Subscription) bool { return s.ID() == id })
	}
	for _, s := range x.Subs {
		all := append(slices.Clone(e.subscribed[s.User]), s)
		slices.SortFunc(all, func(a, b core.Subscription) int { return cmp.Compare(a.Name, b.Name) })
		e.subscribed[s.User] = all
	}
	if len(x.Gone)+len(x.Subs) > 0 {
		e.gatherWatchers()
	}
	waits := slices.ContainsFunc(x.Deliveries, func(d core.Delivery) bool { return d.State == core.DeliveryWaiting })
	if waits && e.D.Deliver != nil {
		e.D.Deliver()
	}
}

// gatherWatchers finds the subscriptions that are about everyone's workloads.
func (e *State) gatherWatchers() {
	e.Watchers = nil
	for _, user := range slices.Sorted(maps.Keys(e.subscribed)) {
		for _, s := range e.subscribed[user] {
			if s.Everyone {
				e.Watchers = append(e.Watchers, s)
			}
		}
	}
}

// watchers are the subscriptions to everyone's workloads in the project of w,
// as they are committed.
func (tx *Tx) watchers(w *core.Workload) (all []core.Subscription) {
	for _, s := range tx.State.Watchers {
		if s.Watches(w, func(p core.ProjectID) bool { return tx.within(w.Project, p) }) && tx.sees(s.User, w) {
			all = append(all, s)
		}
	}
	return all
}

// sees reports whether a user may see a workload, as it is committed.
func (tx *Tx) sees(user string, w *core.Workload) bool {
	if !tx.State.Rights.Enabled() {
		return true
	}
	c, ok := tx.State.Rights.Known(user)
	return ok && tx.State.Rights.Sees(c, w.Project, w.User, w.Kind)
}

// within reports whether a project is another, or below it.
func (tx *Tx) within(id, other core.ProjectID) bool { return id == other || tx.Tree().Below(id, other) }
