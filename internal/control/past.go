package control

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

// past is what queues have had, by pool. It begins with the process.
type past struct {
	of map[pastKey]*quota.Usage
	// told is when the scheduler was last told: shares change slowly.
	told time.Time
}

type pastKey struct {
	pool  string
	queue core.ProjectID
}

// pastEvery is how often the scheduler is told.
const pastEvery = time.Minute

// remember books what is held until now, before anything changes.
func (tx *tx) remember() {
	e := tx.e
	if e.d.Schedule.K == 0 {
		return
	}
	tell := tx.now.Sub(e.past.told) >= pastEvery
	if tell {
		e.past.told = tx.now
	}
	e.sched.Holding(func(pool string, queue core.ProjectID, held, of quota.Amounts) {
		k := pastKey{pool, queue}
		u := e.past.of[k]
		if u == nil {
			u = quota.NewUsage(e.d.Past.Window, e.d.Past.HalfLife)
			put(&e.past.of, k, u)
		}
		u.Add(tx.now, held)
		if tell {
			e.sched.SetUsage(pool, queue, u.Share(tx.now, of))
		}
	})
}
