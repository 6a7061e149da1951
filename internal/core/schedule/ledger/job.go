package ledger

import (
	"cmp"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
)

// Home is the pool in which j holds something, be it since this cycle, or nil.
func (j *Job) Home() *Pool {
	for _, h := range j.Holds {
		if !h.Leaving || h.Job.Pool != nil {
			return h.Site.Pool
		}
	}
	return nil
}

// Marked reports whether quota is reserved for j now: what has a place counts by
// that, and what was taken back counts no more.
func (j *Job) Marked() bool {
	return j.Earmark.Pool != "" && j.Leaf >= 0 && j.Standing == 0 && !j.Recalled
}

// Beyond is what of more is not reserved for j in p already.
func (j *Job) Beyond(p *Pool, more quota.Amounts) quota.Amounts {
	if !j.Marked() || j.Earmark.Pool != p.Name {
		return more
	}
	for r := range more {
		more[r] = max(more[r]-j.Earmark.Amounts[r], 0)
	}
	return more
}

// Takes is what those of j's tasks that start now count for.
func (j *Job) Takes() schedule.Earmark {
	var e schedule.Earmark
	for _, h := range j.Holds {
		if h.Fresh && !h.Leaving && !h.Later {
			e.Pool, e.Amounts = h.Site.Pool.Name, e.Amounts.Add(h.Amount)
		}
	}
	return e
}

// InSet reports whether group g belongs to set, or to one below it.
func (j *Job) InSet(g, set int) bool {
	for s := j.Shape.Groups[g].Set; s >= 0; s = j.Shape.Sets[s].Parent {
		if s == set {
			return true
		}
	}
	return false
}

// Try is tasks of one group that are placed together.
type Try struct {
	Group int
	Count int
}

// Yields reports whether others may be given j's room.
func (j *Job) Yields() bool { return j.Preemptible && !j.Aside }

// Older orders jobs of equal rank: by when they count as submitted, then by age.
func Older(a, b *Job) int {
	return cmp.Or(cmp.Compare(a.Turn, b.Turn), cmp.Compare(a.Order, b.Order), cmp.Compare(a.ID, b.ID))
}

// End is when j is expected to end: when such jobs usually have, at the latest
// when it must, be that past; 0: unknown.
func (j *Job) End(now int64) int64 {
	by := j.EndsBy
	if by == 0 && j.MaxRun > 0 && j.Started > 0 { // it is not up yet
		by = j.Started + j.MaxRun
	}
	if j.Likely > now && (by == 0 || j.Likely < by) {
		return j.Likely
	}
	return by
}

// Level is 0 below the minimum, 1 at it, 2 above it.
func (j *Job) Level() int {
	over := false
	for g := range j.Shape.Groups {
		have, need := int(j.Active[g]), j.Shape.Groups[g].Min
		if have < need {
			return 0
		}
		over = over || have > need
	}
	if over {
		return 2
	}
	return 1
}

// Job is a Job with its holds.
type Job struct {
	schedule.Job
	Leaf      int32 // index of its queue; negative: unknown
	Pool      *Pool // where it holds something
	Holds     []*Hold
	Active    []int32 // per group: holds that are not leaving, and what ended well
	Placed    []int32 // per group: of Runs, placed in this cycle
	Standing  int32   // holds that are not leaving
	JobClass  *JobClass
	Asks      [][]*Ask // per group and run
	Pass      Pass
	PlacedNow bool // in this cycle, having held nothing before
	Overdue   bool // in this cycle, since it had waited for too long
	Recalled  bool // its earmark was taken back in this cycle
}

// Licensed reports whether j holds its licenses: with the first of its tasks,
// until the last has ended, so that one that was told to leave still has them.
func (j *Job) Licensed() bool { return len(j.Held) > 0 || len(j.Holds) > 0 }

// SortedIDs are the IDs of jobs, in order.
func SortedIDs(m map[core.WorkloadID]*Job) []core.WorkloadID {
	ids := make([]core.WorkloadID, 0, len(m))
	for id := range m {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
