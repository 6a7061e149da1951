package engine

import (
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
)

// Past says how what projects have had lately counts in their fair shares.
type Past struct {
	Window   time.Duration // how far back; 0: a week
	HalfLife time.Duration // what is older by this counts half; 0: no decay
}

// past is what queues have had, by pool. It is not stored by itself: a server
// that begins reads it from the tasks that there have been.
type past struct {
	of   map[pastKey]*quota.Usage
	read bool // from the store, for the time before
	// tried is when that was last tried in vain: it is a walk over all tasks.
	tried time.Time
	// told is when the scheduler was last told: shares change slowly. Zero: it
	// has forgotten.
	told time.Time
}

type pastKey struct {
	pool  string
	queue core.ProjectID
}

// pastEvery is how often the scheduler is told, and the pause after what has been
// could not be read.
const pastEvery = time.Minute

// remember books what is held until now, before anything changes.
func (tx *tx) remember() {
	e := tx.e
	if e.D.Policy.K == 0 || !tx.recall() {
		return
	}
	if e.complete {
		e.sched.Holding(func(pool string, queue core.ProjectID, held, _ quota.Amounts) {
			e.past.usage(e.D.Past, pastKey{pool, queue}).Add(tx.now, held)
		})
		return
	}
	// To the scheduler nothing is held on nodes that no backend has reported yet.
	sums := map[pastKey]quota.Amounts{}
	for k := range e.past.of {
		sums[k] = quota.Amounts{}
	}
	for id := range e.held {
		en := e.live[id]
		for _, t := range en.tasks {
			if !holds(en.w, t) {
				continue
			}
			cpu, memory := taken(en.w, t)
			for _, k := range tx.accounts(en.w.Project, t.Pool) {
				sums[k] = sums[k].Add(quota.Amounts{quota.GPU: milliOf(en.w, t), quota.CPU: cpu, quota.Memory: memory})
			}
		}
	}
	for k, held := range sums {
		e.past.usage(e.D.Past, k).Add(tx.now, held)
	}
}

func (p *past) usage(how Past, k pastKey) *quota.Usage {
	u := p.of[k]
	if u == nil {
		u = quota.NewUsage(how.Window, how.HalfLife)
		put(&p.of, k, u)
	}
	return u
}

// recall reads, the first time, what there has been before this server began. It
// reports whether that is known.
func (tx *tx) recall() bool {
	e := tx.e
	if e.past.read {
		return true
	}
	if !e.past.tried.IsZero() && tx.now.Sub(e.past.tried) < pastEvery {
		return false
	}
	e.past.of = nil
	from := tx.now.Add(-quota.NewUsage(e.D.Past.Window, e.D.Past.HalfLife).Window())
	err := e.D.Store.Spans(tx.ctx, from, tx.now, func(s core.Span) bool {
		for _, k := range tx.accounts(s.Project, s.Pool) {
			e.past.usage(e.D.Past, k).Span(s.From, s.To, quota.Amounts{quota.GPU: s.Milli, quota.CPU: s.CPU, quota.Memory: s.Memory})
		}
		return true
	})
	if err != nil {
		e.past.tried = tx.now
		e.D.Log.Error("what projects have had lately does not count yet", "err", err, "again", pastEvery)
		return false
	}
	for _, u := range e.past.of {
		u.Add(tx.now, quota.Amounts{}) // from here on it is booked as it happens
	}
	e.past.read = true
	return true
}

// accounts are those that pay for what a project has in a pool: its own, and of
// every department above.
func (tx *tx) accounts(id core.ProjectID, pool string) []pastKey {
	if pool == "" {
		pool = core.DefaultPool // of tasks that do not know it any more
	}
	var all []pastKey
	for _, p := range tx.e.tree.Path(id) {
		all = append(all, pastKey{pool, p.ID})
	}
	return all
}

// tellPast tells the scheduler what queues have had, now and then. The scheduler
// must know its queues and nodes.
func (tx *tx) tellPast() {
	e := tx.e
	if e.D.Policy.K == 0 || !e.past.read || tx.now.Sub(e.past.told) < pastEvery && !e.past.told.IsZero() {
		return
	}
	e.past.told = tx.now
	e.sched.Holding(func(pool string, queue core.ProjectID, _, of quota.Amounts) {
		if u := e.past.of[pastKey{pool, queue}]; u != nil {
			e.sched.SetUsage(pool, queue, u.Share(tx.now, of))
		}
	})
}

// look notes whether every node has been reported by now on which something is
// held: until then the scheduler knows of less than there is. Nodes of backends
// that do not answer are waited for as long as silent ones.
func (tx *tx) look() {
	e := tx.e
	if e.complete {
		return
	}
	if e.begun.IsZero() {
		e.begun = tx.now
	}
	if e.complete = tx.now.Sub(e.begun) >= e.nodeGrace(); e.complete {
		return
	}
	for id := range e.held {
		w, tasks, _ := tx.view(id)
		for _, t := range tasks {
			if _, ok := e.nodes[t.Node]; !ok && holds(w, t) {
				return
			}
		}
	}
	e.complete = true
}
