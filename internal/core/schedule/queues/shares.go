package queues

import (
	"cmp"
	"slices"

	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
)

// SetEntitlements gives each queue what it is entitled to in p.
func (qs *Queues) SetEntitlements(p *ledger.Pool) {
	p.Unfair = true
	for i := range qs.List {
		q := &qs.List[i]
		own, ok := q.Shares[p.Name]
		if !ok {
			own = q.Default
		}
		p.Q[i].Quota = own
	}
	qs.keep(p)
}

// Shares computes the fair shares of p's queues.
func (qs *Queues) Shares(p *ledger.Pool) {
	for i := range p.Q {
		p.Q[i].Request = p.Q[i].Wanted
	}
	qs.rows = slices.Grow(qs.rows[:0], len(p.Q))[:len(p.Q)]
	in := qs.rows
	for i := len(p.Q) - 1; i >= 0; i-- {
		q, a := &qs.List[i], &p.Q[i]
		if len(q.Children) == 0 {
			a.Request = a.Request.Add(a.Alloc)
		}
		if q.ParentIndex >= 0 {
			p.Q[q.ParentIndex].Request = p.Q[q.ParentIndex].Request.Add(a.Request)
		}
		in[i] = quota.Queue{Parent: int(q.ParentIndex), Priority: q.Priority, Age: q.Age, Quota: a.Quota.Quota, Limit: a.Limit, Keep: a.Kept, Weight: a.Weight, Request: a.Request, Usage: a.Usage}
	}
	qs.quotas = qs.divider.Share(p.Total, in, qs.cfg.K, qs.quotas)
	out := qs.quotas
	for i := range p.Q {
		a := &p.Q[i]
		a.Share = out[i]
		a.May = quota.Entitlement(a.Limit, a.Quota.Quota, a.Share)
	}
}

// Before orders two queues of one parent by who is to be served next, given
// what each would get. Negative: a first.
func (qs *Queues) Before(p *ledger.Pool, a, b int32, na, nb quota.Amounts) int {
	wa, wb := p.Q[a].Alloc.Add(na), p.Q[b].Alloc.Add(nb)
	x, y := qs.Standing(p, a, &p.Q[a].Alloc, &wa, &wa), qs.Standing(p, b, &p.Q[b].Alloc, &wb, &wb)
	return qs.Compare(p, a, b, &x, &y)
}

// Standing is that of q for quota.Compare.
func (qs *Queues) Standing(p *ledger.Pool, q int32, has, due, part *quota.Amounts) quota.Standing {
	a, n := &p.Q[q], &qs.List[q]
	return quota.Standing{Priority: n.Priority, Age: n.Age, Quota: &a.Quota.Quota, Share: &a.Share, May: &a.May, Has: has, Due: due, Part: part}
}

// Compare orders two queues of one parent. No two are equal.
func (qs *Queues) Compare(p *ledger.Pool, a, b int32, x, y *quota.Standing) int {
	c := 0
	if qs.cfg.NoQuota {
		c = cmp.Compare(x.Age, y.Age)
	} else {
		c = quota.Compare(x, y, p.Total)
	}
	return cmp.Or(c, cmp.Compare(a, b))
}
