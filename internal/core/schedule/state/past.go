package state

import (
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
)

// Holding is what each queue holds at present in each pool, of how much there is.
func (st *State) Holding(yield func(pool string, queue core.ProjectID, held, of quota.Amounts)) {
	for _, name := range st.PoolNames() {
		p := st.Pools[name]
		st.reshape(p)
		for i := range p.Q {
			yield(name, st.Queues.List[i].ID, p.Q[i].Held(), p.Total)
		}
	}
}

// SetUsage says what part of a pool a queue has had lately, which counts in fair
// shares where Config.K is not zero.
func (st *State) SetUsage(pool string, queue core.ProjectID, usage [quota.Resources]float64) {
	p, q := st.Pools[pool], st.Queues.Find(queue)
	if p != nil && q >= 0 {
		if p.Q[q].Usage != usage {
			p.Q[q].Usage, p.Unfair = usage, true
		}
	}
}

// FairShare is what a queue is due in a pool at present, by what everybody holds
// and waits for; false: one of them is not known.
func (st *State) FairShare(pool string, queue core.ProjectID) (quota.Amounts, bool) {
	p, q := st.Pools[pool], st.Queues.Find(queue)
	if p == nil || q < 0 {
		return quota.Amounts{}, false
	}
	st.Divide()
	return p.Q[q].Share, true
}
