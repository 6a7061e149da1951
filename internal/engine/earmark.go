package engine

import (
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
)

// earmark is the quota that is reserved for w, or nil.
func earmark(w *core.Workload) *core.Earmark {
	if w.Phase != lifecycle.Reserved {
		return nil
	}
	return w.Attempts[len(w.Attempts)-1].Earmark
}

// earmarkFor is earmark in the scheduler's words.
func earmarkFor(w *core.Workload) schedule.Earmark {
	m := earmark(w)
	if m == nil {
		return schedule.Earmark{}
	}
	return schedule.Earmark{Pool: m.Pool, Amounts: quota.Amounts{quota.GPU: m.GPU, quota.CPU: m.CPU, quota.Memory: m.Memory}}
}

// granted is what a plan has given, as it is kept.
func granted(takes schedule.Earmark) *core.Earmark {
	a := takes.Amounts
	return &core.Earmark{Pool: takes.Pool, GPU: a[quota.GPU], CPU: a[quota.CPU], Memory: a[quota.Memory]}
}

// keptBy is what the last tasks of an attempt held: that quota stays with a
// workload that keeps its reservation while it moves; nil: nothing.
func (tx *tx) keptBy(w *core.Workload, tasks map[int]*core.Task) *core.Earmark {
	var m core.Earmark
	for _, t := range sortedTasks(tasks) {
		if t.Node == "" || !t.ReleasedAt.Equal(later(tx.now, t.PlacedAt)) {
			continue
		}
		cpu, memory := taken(w, t)
		m.Pool, m.CPU, m.Memory = t.Pool, m.CPU+cpu, m.Memory+memory
		m.GPU += milliOf(w, t)
	}
	if m.Pool == "" {
		return nil
	}
	return &m
}

// unreserve takes back the quota that is reserved for a workload: it competes for it
// again, and what came after its reservation is asked anew.
func (tx *tx) unreserve(d *draft, ev schedule.Eviction) error {
	in := lifecycle.Input{On: lifecycle.Release, Cause: causeOf(ev), For: string(ev.For), Reason: lifecycle.ReasonPreempted, Message: "its reservation is taken back: " + tx.whyEvicted(ev)}
	if err := tx.step(d, in, actorScheduler); err != nil {
		return err
	}
	return tx.queuedAgain(d)
}
