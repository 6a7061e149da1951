package displace

import (
	"cmp"

	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// What makes no checkpoints begins anew when it had to leave. Then its GPUs have
// done in vain all that they did, and who came in gains less by far than is lost:
// where nothing is saved, displacing for a better order does more work twice than
// there is. So such work leaves for what others are entitled to, and for other
// reasons only as long as it has hardly begun.
const (
	// wastePart is of what the one waited for which part the other may lose.
	wastePart = 200
	// wasteLeast, in ms, is lost for anybody.
	wasteLeast = 60_000
)

// wastes reports whether v leaves in vain more than the search's job may cost: the
// GPU time that v loses, against that which the job has waited. More room than it
// takes counts as lost too. As time goes by v only loses more, sooner than the job
// may cost more.
func (h *victimSearch) wastes(v *ledger.Job) bool {
	if !v.Unsaved || v.Started == 0 || v.Level() > 1 || h.entitledAnyway() {
		return false
	}
	now, wants, holds, waited := h.c.St.Now, mass(h.need), int64(0), int64(0)
	if h.j.Since > 0 { // else it is only asked what would be
		waited = max(now-h.j.Since, 0)
	}
	for _, x := range v.Holds {
		holds += mass(x.Amount)
	}
	lost := float64(now-v.Started) * float64(max(holds, wants))
	return lost > float64(waited/wastePart+wasteLeast)*float64(wants)
}

// entitledAnyway reports whether the search's job is to have what it asks for
// whatever that costs others: what its queue is due by quota, what is more
// important than they are, and what it was told.
func (h *victimSearch) entitledAnyway() bool {
	switch h.kind {
	case schedule.Preempt:
		return true
	case Relieve:
		return h.booked
	case schedule.Reclaim:
		a := &h.pool.Q[h.j.Leaf]
		return !h.wide && a.Alloc.Add(h.need).Within(a.Quota.Quota)
	}
	return false
}

// Unsaved is how much of devices, in thousandths, is held by work that does not
// leave for j since too much would be lost.
func Unsaved(st *state.State, j *ledger.Job) int64 {
	sum := int64(0)
	_, tries := j.Next()
	for _, p := range st.PoolsOf(j) {
		h := &victimSearch{c: &Round{St: st}, kind: schedule.Reclaim, pool: p, j: j, need: st.Cost(j, p, tries)}
		for q := range p.Q {
			for _, v := range p.Q[q].Victims {
				for _, x := range v.Holds {
					if !x.Leaving && h.wastes(v) {
						sum += x.Amount[quota.GPU]
					}
				}
			}
		}
	}
	return sum
}

// mass is how much of devices, or else of cores, there is of something.
func mass(a quota.Amounts) int64 { return max(cmp.Or(a[quota.GPU], a[quota.CPU]), 1) }
