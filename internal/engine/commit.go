package engine

import (
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/store"
)

// newsMax is up to how many tasks a change tells all of them, changed or not.
const newsMax = 64

// news is the tasks that a change tells: all of the present attempt where there
// are few, else those that changed, so that following a large array does not
// cost its square.
func (d *draft) news() []*core.Task {
	if len(d.tasks) <= newsMax {
		return sortedTasks(d.tasks)
	}
	changed := make(map[int]*core.Task, len(d.changed))
	for i := range d.changed {
		changed[i] = d.tasks[i]
	}
	return sortedTasks(changed)
}

// keysKept is how long an idempotency key is remembered; keysSweep how often
// older ones are dropped.
const keysKept, keysSweep = 24 * time.Hour, time.Hour

// commit writes the draft and makes it the truth.
func (tx *tx) commit() error {
	e := tx.e
	b, seq := tx.batch()
	if nothing(b) {
		tx.decided()
		return nil
	}
	if len(b.Keys) > 0 && tx.now.Sub(e.swept) > keysSweep {
		b.ForgetKeysBefore, e.swept = tx.now.Add(-keysKept), tx.now
	}
	began := e.D.Elapsed()
	rev, err := e.D.Store.Commit(tx.ctx, e.term, b)
	if err != nil {
		return err
	}
	e.stats.commits++
	e.stats.spent += e.D.Elapsed() - began
	for _, t := range b.Transitions {
		e.stats.entered[t.To]++
	}
	e.seq.Revision, e.seq.Transition = rev, seq
	changes := tx.adopted(rev, b)
	tx.decided()
	if e.D.Meter != nil && len(changes) > 0 {
		e.D.Meter.Committed(changes)
		for _, cause := range tx.causes {
			e.D.Meter.Displaced(cause)
		}
	}
	if e.publish != nil && len(changes) > 0 {
		e.publish(changes)
	}
	return nil
}

// batch is what the draft writes, and the number of its last transition.
func (tx *tx) batch() (*store.Batch, int64) {
	e := tx.e
	b := &store.Batch{Keys: tx.keys, Secrets: tx.secrets, DropSecrets: tx.gone, Promises: e.promises()}
	tx.org.write(b)
	seq := e.seq.Transition
	for _, id := range tx.order {
		d := tx.drafts[id]
		if !d.touched {
			continue
		}
		b.Workloads = append(b.Workloads, d.w)
		if d.edited {
			b.Edited = append(b.Edited, d.w.ID)
		}
		b.Tasks = append(b.Tasks, d.former...)
		for i := range d.changed {
			b.Tasks = append(b.Tasks, d.tasks[i])
		}
		for i := range d.trail {
			seq++
			d.trail[i].Seq = seq
		}
		b.Transitions = append(b.Transitions, d.trail...)
		if !d.quiet {
			tx.notify(d)
		}
	}
	tx.notified.write(b, tx.now)
	tx.writeTemplates(b)
	return b, seq
}

// nothing reports whether a batch writes nothing.
func nothing(b *store.Batch) bool {
	return b.Promises == nil && len(b.Workloads)+len(b.Keys)+len(b.Secrets)+len(b.DropSecrets)+
		len(b.Projects)+len(b.DropProjects)+len(b.Pools)+len(b.DropPools)+len(b.Licenses)+len(b.DropLicenses)+len(b.Nodes)+len(b.Reservations)+len(b.DropReservations)+
		len(b.Subscriptions)+len(b.DropSubscriptions)+len(b.Deliveries)+len(b.Templates)+len(b.DropTemplates) == 0
}

// adopted takes over what was committed with a revision, and returns what has
// changed.
func (tx *tx) adopted(rev core.Revision, b *store.Batch) []Change {
	e := tx.e
	changes := make([]Change, 0, len(tx.order))
	for _, id := range tx.order {
		d := tx.drafts[id]
		if !d.touched {
			continue
		}
		d.w.Rev = rev
		e.adopt(d)
		e.Insight.Saw(d.w, d.trail)
		news := d.news()
		changes = append(changes, Change{Workload: d.w, Former: d.former, Tasks: news, Partial: len(news) < len(d.tasks), Transitions: d.trail})
	}
	if b.Promises != nil {
		e.pledged = b.Promises
	}
	e.organised(tx.org)
	for _, id := range tx.gone {
		delete(e.secrets, id)
	}
	for _, s := range tx.secrets {
		e.secrets[core.SecretID{User: s.User, Name: s.Name}] = s
	}
	e.notifies(tx.notified)
	e.templatesWritten(tx.templated)
	return changes
}

// decided hands out what the backends are to do.
func (tx *tx) decided() {
	tx.claimsSettled()
	for _, a := range tx.actions {
		a.At = tx.now
		if en := tx.e.live[a.Task.Workload]; a.Kind == ActStart && en != nil && en.w.Attempt == a.Task.Attempt {
			en.seen[a.Task.Index] = tx.now // it was placed before, maybe, but is on its way only now
		}
		tx.e.actions = append(tx.e.actions, a)
	}
}

// adopt makes a committed draft part of the live state, or drops it from there
// when it has ended for good.
func (e *Engine) adopt(d *draft) {
	key := name{d.w.Project, d.w.Name}
	if d.w.Phase.End() && d.w.WakeAt.IsZero() {
		delete(e.live, d.w.ID)
		delete(e.expected, d.w.ID)
		delete(e.aside, d.w.ID)
		if e.names[key] == d.w.ID {
			delete(e.names, key)
		}
		return
	}
	en := d.base
	if en == nil {
		en = &entry{seen: map[int]time.Time{}}
	}
	if en.w != nil && en.w.Attempt != d.w.Attempt {
		en.seen = map[int]time.Time{}
	}
	en.w, en.tasks = d.w, d.tasks
	e.live[d.w.ID] = en
	e.names[key] = d.w.ID
}
