package planner

import (
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/workload"
)

// pastEvery is how often the scheduler is told, and the pause after what has been
// could not be read.
const pastEvery = time.Minute

// Remember books what is held until now, before anything changes.
func Remember(tx *draft.Tx) {
	e := tx.State
	if e.D.Policy.K == 0 || !recall(tx) {
		return
	}
	if e.Complete {
		e.Sched.Holding(func(pool string, queue core.ProjectID, held, _ quota.Amounts) {
			e.Past.Usage(e.D.Past, draft.PastKey{Pool: pool, Queue: queue}).Add(tx.Now, held)
		})
		return
	}
	// To the scheduler nothing is held on nodes that no backend has reported yet.
	sums := map[draft.PastKey]quota.Amounts{}
	for k := range e.Past.Of {
		sums[k] = quota.Amounts{}
	}
	for id := range e.Held {
		en := e.Live[id]
		for _, t := range en.Tasks.Open() {
			if !workload.Holds(en.W, t) {
				continue
			}
			cpu, memory := workload.Taken(en.W, t)
			for _, k := range accounts(tx, en.W.Project, t.Pool) {
				sums[k] = sums[k].Add(quota.Amounts{quota.GPU: workload.MilliOf(en.W, t), quota.CPU: cpu, quota.Memory: memory})
			}
		}
	}
	for k, held := range sums {
		e.Past.Usage(e.D.Past, k).Add(tx.Now, held)
	}
}

// recall reads, the first time, what there has been before this server began. It
// reports whether that is known.
func recall(tx *draft.Tx) bool {
	e := tx.State
	if e.Past.Read {
		return true
	}
	if !e.Past.Tried.IsZero() && tx.Now.Sub(e.Past.Tried) < pastEvery {
		return false
	}
	e.Past.Of = nil
	from := tx.Now.Add(-quota.NewUsage(e.D.Past.Window, e.D.Past.HalfLife).Window())
	err := e.D.Store.Spans(tx.Ctx, from, tx.Now, func(s core.Span) bool {
		for _, k := range accounts(tx, s.Project, s.Pool) {
			e.Past.Usage(e.D.Past, k).Span(s.From, s.To, quota.Amounts{quota.GPU: s.Milli, quota.CPU: s.CPU, quota.Memory: s.Memory})
		}
		return true
	})
	if err != nil {
		e.Past.Tried = tx.Now
		e.D.Log.Error("what projects have had lately does not count yet", "err", err, "again", pastEvery)
		return false
	}
	for _, u := range e.Past.Of {
		u.Add(tx.Now, quota.Amounts{}) // from here on it is booked as it happens
	}
	e.Past.Read = true
	return true
}

// accounts are those that pay for what a project has in a pool: its own, and of
// every department above.
func accounts(tx *draft.Tx, id core.ProjectID, pool string) []draft.PastKey {
	if pool == "" {
		pool = core.DefaultPool // of tasks that do not know it any more
	}
	var all []draft.PastKey
	for _, p := range tx.State.Tree.Path(id) {
		all = append(all, draft.PastKey{Pool: pool, Queue: p.ID})
	}
	return all
}

// PassUsage tells the scheduler what queues have had, now and then. The scheduler
// must know its queues and nodes.
func PassUsage(tx *draft.Tx) {
	e := tx.State
	if e.D.Policy.K == 0 || !e.Past.Read || tx.Now.Sub(e.Past.PassedAt) < pastEvery && !e.Past.PassedAt.IsZero() {
		return
	}
	e.Past.PassedAt = tx.Now
	e.Sched.Holding(func(pool string, queue core.ProjectID, _, of quota.Amounts) {
		if u := e.Past.Of[draft.PastKey{Pool: pool, Queue: queue}]; u != nil {
			e.Sched.SetUsage(pool, queue, u.Share(tx.Now, of))
		}
	})
}

// Look notes whether every node has been reported by now on which something is
// held: until then the scheduler knows of less than there is. Nodes of backends
// that do not answer are waited for as long as silent ones.
func Look(tx *draft.Tx) {
	e := tx.State
	if e.Complete {
		return
	}
	if e.Begun.IsZero() {
		e.Begun = tx.Now
	}
	if e.Complete = tx.Now.Sub(e.Begun) >= e.NodeGrace(); e.Complete {
		return
	}
	for id := range e.Held {
		w, tasks, _ := tx.View(id)
		for _, t := range tasks.Open() {
			if _, ok := e.Nodes[t.Node]; !ok && workload.Holds(w, t) {
				return
			}
		}
	}
	e.Complete = true
}
