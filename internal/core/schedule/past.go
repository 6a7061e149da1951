package schedule

import (
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
)

// Default is the configuration of a server that is told nothing else: a gang
// may be below its minimum for a minute, a consolidation moves 16 tasks at
// most, none within ten minutes of its start, and nobody who has run for less than an hour makes room for those who
// have waited too long.
func Default() Config {
	return Config{StaleGrace: 60_000, MaxMoves: 16, MoveRest: 600_000, Quantum: 3_600_000}
}

// Plain reports whether the configuration says nothing.
func (c *Config) Plain() bool {
	return len(c.Actions) == 0 && c.StaleGrace == 0 && c.MaxMoves == 0 && c.Quantum == 0
}

// Holding is what each queue holds at present in each pool, of how much there is.
func (st *State) Holding(yield func(pool string, queue core.ProjectID, held, of quota.Amounts)) {
	for _, name := range st.poolNames() {
		p := st.pools[name]
		st.reshape(p)
		for i := range p.q {
			yield(name, st.queues.list[i].ID, p.q[i].alloc, p.total)
		}
	}
}

// SetUsage says what part of a pool a queue has had lately, which counts in fair
// shares where Config.K is not zero.
func (st *State) SetUsage(pool string, queue core.ProjectID, usage [quota.Resources]float64) {
	p, q := st.pools[pool], st.queues.find(queue)
	if p != nil && q >= 0 {
		p.q[q].Usage = usage
	}
}

// FairShare is what a queue is due in a pool at present, by what everybody holds
// and waits for; false: one of them is not known.
func (st *State) FairShare(pool string, queue core.ProjectID) (quota.Amounts, bool) {
	p, q := st.pools[pool], st.queues.find(queue)
	if p == nil || q < 0 {
		return quota.Amounts{}, false
	}
	st.reshape(p)
	st.shares(p)
	return p.q[q].share, true
}
