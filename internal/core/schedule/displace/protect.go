package displace

import (
	"cmp"

	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// Displacing pays where who comes in is gone long before who leaves would have
// been. How long that is nobody knows, but lengths of jobs on clusters are such
// that what has run for long runs on for long (least attained service: Nuyens and
// Wierman 2008; of jobs with GPUs: Gu et al., Tiresias, NSDI 2019). So who leaves
// has had more than the other probably takes; and who had to leave once is left
// alone for a while that grows with what it has had, so that nobody starts more
// often than the logarithm of its length.
const (
	// A victim has had enoughNum/enoughDen of what the search's job probably takes.
	enoughNum, enoughDen = 3, 2
)

// protects reports whether v is left alone by the search.
func (h *victimSearch) protects(v *ledger.Job) bool {
	if h.kind == schedule.Preempt || v.Started == 0 && !v.Overdue || v.Level() > 1 {
		return false // what is more important minds none of these
	}
	return h.shielded(v) || needsMore(h, v) || h.wastes(v)
}

// shielded reports whether v has not run for long since it had to leave, or against
// what it had waited. What is more important, what was told a time, and who starves,
// does not mind; who is entitled to the room asks those last who had to leave often.
func (h *victimSearch) shielded(v *ledger.Job) bool {
	if h.kind == schedule.Preempt || h.booked || starves(h) {
		return false
	}
	long, until := state.Shield(&v.Job)
	last := v.Displaced >= state.Often && !h.hard
	if last {
		until = long
	}
	if h.c.St.Now >= until {
		return false
	}
	h.shields = h.shields || last
	return true
}

// needsMore reports whether the search's job probably takes longer than v has had
// so far, without being entitled to v's room or having been due in vain for too
// long. A v that is smaller has to have had as much more, since several have to
// leave.
func needsMore(h *victimSearch, v *ledger.Job) bool {
	if h.j.Expected == 0 || h.kind == schedule.Consolidate || h.entitledAnyway() || starves(h) {
		return false
	}
	now, holds, wants := state.Minute(h.c.St.Now), int64(0), mass(h.need)
	for _, x := range v.Holds {
		holds += mass(x.Amount)
	}
	had := v.Attained
	if v.Started > 0 {
		had += max(now-v.Started, 0)
	}
	return float64(had)*float64(min(holds, wants))*enoughDen < float64(h.j.Expected)*float64(wants)*enoughNum
}

// starves reports whether the search's job has waited for so long that everybody
// gives way to it.
func starves(h *victimSearch) bool {
	return h.kind == Relieve && h.j.Starved > 0 && h.c.St.Now >= h.j.Starved
}

// From is from when, in unix ms, a job that runs has had enough to leave for one
// that probably takes so long (ms), if it is as large.
func From(quantum int64, v *schedule.Job, takes int64) int64 {
	_, shield := state.Shield(v)
	had := (takes*enoughNum+enoughDen-1)/enoughDen - v.Attained
	return max(v.Started+quantum, state.Minute(v.Started+had+59_999), shield)
}

// Younger is how much of devices, in thousandths, is held by work that does not
// leave for j since it has had less than j probably takes, or has come back from
// having to leave before.
func Younger(st *state.State, j *ledger.Job) int64 {
	return heldBy(st, j, func(h *victimSearch, v *ledger.Job) bool {
		return !h.wastes(v) && v.Started > 0 && v.Level() <= 1 && (h.shielded(v) || needsMore(h, v))
	})
}

// Unsaved is how much of devices, in thousandths, is held by work that does not
// leave for j since too much would be lost.
func Unsaved(st *state.State, j *ledger.Job) int64 {
	return heldBy(st, j, (*victimSearch).wastes)
}

// heldBy is how much of devices, in thousandths, those hold who could leave for j
// and are left alone for that reason.
func heldBy(st *state.State, j *ledger.Job, spared func(*victimSearch, *ledger.Job) bool) int64 {
	sum := int64(0)
	_, tries := j.Next()
	for _, p := range st.PoolsOf(j) {
		h := &victimSearch{c: &Round{St: st}, kind: schedule.Reclaim, pool: p, j: j, need: st.Cost(j, p, tries)}
		for q := range p.Q {
			for _, v := range p.Q[q].Victims {
				if !spared(h, v) {
					continue
				}
				for _, x := range v.Holds {
					if !x.Leaving {
						sum += x.Amount[quota.GPU]
					}
				}
			}
		}
	}
	return sum
}

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
// takes counts as lost too. As time goes by v loses more, sooner than the job may
// cost more: then somebody else may have to leave instead.
func (h *victimSearch) wastes(v *ledger.Job) bool {
	if !v.Unsaved || v.Started == 0 || v.Level() > 1 || h.entitledAnyway() {
		return false
	}
	now, wants, holds, waited := state.Tick(h.c.St.Now), mass(h.need), int64(0), int64(0)
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

// mass is how much of devices, or else of cores, there is of something.
func mass(a quota.Amounts) int64 { return max(cmp.Or(a[quota.GPU], a[quota.CPU]), 1) }
