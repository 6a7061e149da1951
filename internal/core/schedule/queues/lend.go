package queues

import (
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
)

// own is what a queue with this quota keeps of it while it does not use it.
func own(q *schedule.Quota) quota.Amounts {
	var out quota.Amounts
	for r := range out {
		if q.Quota[r] > 0 {
			out[r] = min(max(q.Keep[r], 0), q.Quota[r])
		}
	}
	return out
}

// keep notes what each queue of p keeps of its quota, and at least what those
// below it keep.
func (qs *Queues) keep(p *ledger.Pool) {
	p.Withholders = nil
	sums := make([]quota.Amounts, len(p.Q))
	for i := len(p.Q) - 1; i >= 0; i-- { // children stand behind their parents
		a := &p.Q[i]
		a.Kept = most(own(&a.Quota), sums[i])
		if a.Kept == (quota.Amounts{}) {
			continue
		}
		p.Withholders = append(p.Withholders, int32(i))
		if up := qs.List[i].ParentIndex; up >= 0 {
			sums[up] = sums[up].Add(a.Kept)
		}
	}
	p.Spare = nil
	if len(p.Withholders) > 0 {
		p.Spare = make([]quota.Amounts, len(p.Q))
	}
}

func most(a, b quota.Amounts) quota.Amounts {
	for r := range a {
		a[r] = max(a[r], b[r])
	}
	return a
}

// Kept is what of p must stay free for queues that j does not belong to: what
// they keep and do not use. The second result is who keeps the most GPUs of it.
func (qs *Queues) Kept(p *ledger.Pool, leaf int32) (quota.Amounts, int32) {
	var all quota.Amounts
	who, share := int32(-1), int64(-1)
	for _, i := range p.Withholders {
		p.Spare[i] = quota.Amounts{}
	}
	mine := func(i int32) bool {
		for q := leaf; q >= 0; q = qs.List[q].ParentIndex {
			if q == i {
				return true
			}
		}
		return false
	}
	for _, i := range p.Withholders { // children first
		a := &p.Q[i]
		if !mine(i) {
			var unused quota.Amounts
			for r, n := range own(&a.Quota) {
				unused[r] = max(n-a.Alloc[r]+a.Marked[r], 0)
			}
			if sum := unused[quota.GPU] + unused[quota.CPU]; unused != (quota.Amounts{}) && sum > share {
				who, share = i, sum
			}
			p.Spare[i] = most(p.Spare[i], unused)
		}
		if up := qs.List[i].ParentIndex; up >= 0 {
			p.Spare[up] = p.Spare[up].Add(p.Spare[i])
		} else {
			all = all.Add(p.Spare[i])
		}
	}
	return all, who
}

// Unlent says that j would have to use what others do not lend, or nil. Sums are
// compared: it says nothing of which nodes are free.
func (qs *Queues) Unlent(j *ledger.Job, p *ledger.Pool, more quota.Amounts) *schedule.Reason {
	kept, who := qs.Kept(p, j.Leaf)
	for r, n := range more {
		if n > 0 && kept[r] > 0 && p.Free[r]-n < kept[r] {
			return &schedule.Reason{Token: schedule.NotLent, Resource: ResourceNames[r], Queue: qs.List[who].ID, Requested: n, Allocated: max(p.Free[r], 0), Quota: kept[r]}
		}
	}
	return nil
}

// ResourceNames are what reasons call resources.
var ResourceNames = [quota.Resources]string{quota.GPU: "gpu", quota.CPU: "cpu", quota.Memory: "memory"}
