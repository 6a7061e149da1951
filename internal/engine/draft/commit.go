package draft

import (
	"maps"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine/workload"
	"github.com/musterhq/muster/internal/store"
)

// newsMax is up to how many tasks a change tells all of them, changed or not.
const newsMax = 64

// news is the tasks that a change tells: all of the present attempt where there
// are few, else those that changed, so that following a large array does not
// cost its square.
func (d *Draft) news() []*core.Task {
	if d.Tasks.Len() <= newsMax {
		return workload.SortedTasks(d.Tasks)
	}
	changed := make([]*core.Task, 0, len(d.Changed))
	for _, i := range slices.Sorted(maps.Keys(d.Changed)) {
		changed = append(changed, d.Tasks.At(i))
	}
	return changed
}

// keysKept is how long an idempotency key is remembered; keysSweep how often
// older ones are dropped.
const keysKept, keysSweep = 24 * time.Hour, time.Hour

// Commit writes the draft and makes it the truth.
func (tx *Tx) Commit() error {
	e := tx.State
	b, seq := tx.batch()
	if nothing(b) {
		e.Agenda.Looked(tx.Looked)
		tx.decided()
		return nil
	}
	if len(b.Keys) > 0 && tx.Now.Sub(e.swept) > keysSweep {
		b.ForgetKeysBefore, e.swept = tx.Now.Add(-keysKept), tx.Now
	}
	began := e.D.Elapsed()
	rev, err := e.D.Store.Commit(tx.Ctx, e.term, b)
	if err != nil {
		return err
	}
	e.Stats.Commits++
	e.Stats.Spent += e.D.Elapsed() - began
	for _, t := range b.Transitions {
		e.Stats.Entered[t.To]++
	}
	e.Seq.Revision, e.Seq.Transition = rev, seq
	changes := tx.adopted(rev, b)
	tx.decided()
	if e.D.Meter != nil && len(changes) > 0 {
		e.D.Meter.Committed(changes)
		for _, cause := range tx.Causes {
			e.D.Meter.Displaced(cause)
		}
	}
	if e.publish != nil && len(changes) > 0 {
		e.publish(changes)
	}
	return nil
}

// batch is what the draft writes, and the number of its last transition.
func (tx *Tx) batch() (*store.Batch, int64) {
	e := tx.State
	b := &store.Batch{Keys: tx.Keys, Promises: e.promises()}
	tx.Org.write(b)
	dropSecrets(tx, b.DropProjects)
	b.Secrets, b.DropSecrets = tx.Secrets, tx.Gone
	seq := e.Seq.Transition
	for _, id := range tx.order {
		d := tx.Drafts[id]
		if !d.Touched {
			continue
		}
		b.Workloads = append(b.Workloads, d.W)
		if d.Edited {
			b.Edited = append(b.Edited, d.W.ID)
		}
		b.Tasks = append(b.Tasks, d.former...)
		for _, i := range slices.Sorted(maps.Keys(d.Changed)) {
			b.Tasks = append(b.Tasks, d.Tasks.At(i))
		}
		for i := range d.Trail {
			seq++
			d.Trail[i].Seq = seq
		}
		b.Transitions = append(b.Transitions, d.Trail...)
		if !d.Quiet {
			tx.notify(d)
		}
	}
	tx.Notified.write(b, tx.Now)
	tx.writeTemplates(b)
	tx.writeAccess(b)
	return b, seq
}

// nothing reports whether a batch writes nothing.
func nothing(b *store.Batch) bool {
	return b.Promises == nil && len(b.Workloads)+len(b.Keys)+len(b.Secrets)+len(b.DropSecrets)+
		len(b.Projects)+len(b.DropProjects)+len(b.Pools)+len(b.DropPools)+len(b.Licenses)+len(b.DropLicenses)+len(b.Nodes)+len(b.Reservations)+len(b.DropReservations)+
		len(b.Subscriptions)+len(b.DropSubscriptions)+len(b.Deliveries)+len(b.Templates)+len(b.DropTemplates)+len(b.Audit) == 0 && b.Access.None()
}

// adopted takes over what was committed with a revision, and returns what has
// changed.
func (tx *Tx) adopted(rev core.Revision, b *store.Batch) []Change {
	e := tx.State
	e.Agenda.Looked(tx.Looked)
	changes := make([]Change, 0, len(tx.order))
	for _, id := range tx.order {
		d := tx.Drafts[id]
		if !d.Touched {
			continue
		}
		d.W.Rev = rev
		spent(e, d)
		e.adopt(d)
		e.Agenda.Saw(d.Was, d.W)
		e.Insight.Saw(d.W, d.Trail)
		news := d.news()
		changes = append(changes, Change{Workload: d.W, Former: d.former, Tasks: news, Partial: len(news) < d.Tasks.Len(), Transitions: d.Trail})
	}
	if b.Promises != nil {
		e.StoredPromises = b.Promises
	}
	e.organised(tx.Org)
	for _, id := range tx.Gone {
		delete(e.secrets, id)
	}
	for _, s := range tx.Secrets {
		e.secrets[core.SecretID{User: s.User, Name: s.Name}] = s
	}
	e.notifies(tx.Notified)
	e.templatesWritten(tx.Templated)
	e.accessWritten(tx, b)
	return changes
}

// spent tells budgets what tasks have held that a draft takes their devices from.
func spent(e *State, d *Draft) {
	for i := range d.Changed {
		if t := d.Tasks.At(i); t != nil {
			e.Spending.Used(d.W, d.wasTasks.At(i), t)
		}
	}
	for _, t := range d.former {
		e.Spending.Used(d.W, d.wasTasks.At(t.ID.Index), t)
	}
}

// decided hands out what the backends are to do.
func (tx *Tx) decided() {
	tx.keepPendingClaims()
	for _, a := range tx.Actions {
		a.At = tx.Now
		if en := tx.State.Live[a.Task.Workload]; a.Kind == ActStart && en != nil && en.W.Attempt == a.Task.Attempt {
			en.Seen[a.Task.Index] = tx.Now // it was placed before, maybe, but is on its way only now
		}
		tx.State.Actions = append(tx.State.Actions, a)
	}
}

// adopt makes a committed draft part of the live state, or drops it from there
// when it has ended for good.
func (e *State) adopt(d *Draft) {
	key := FullName{d.W.Project, d.W.Name}
	if d.W.Phase.End() && d.W.WakeAt.IsZero() {
		delete(e.Live, d.W.ID)
		delete(e.Expected, d.W.ID)
		delete(e.Aside, d.W.ID)
		if e.Names[key] == d.W.ID {
			delete(e.Names, key)
		}
		return
	}
	en := d.Base
	if en == nil {
		en = &Entry{Seen: map[int]time.Time{}}
	}
	if en.W != nil && en.W.Attempt != d.W.Attempt {
		en.Seen = map[int]time.Time{}
	}
	en.W, en.Tasks = d.W, d.Tasks
	e.Live[d.W.ID] = en
	e.Names[key] = d.W.ID
}
