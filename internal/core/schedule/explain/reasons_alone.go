package explain

import (
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// whyAlone says that a wants nodes to itself, and how many have nothing on them.
func whyAlone(p *ledger.Pool, st *state.State, a *ledger.Ask, n int) []schedule.Reason {
	if a.Alone() == "" {
		return nil
	}
	r := schedule.Reason{Token: schedule.WaitingForCapacity, Resource: "nodes", Requested: 1, Needed: int64(n), Tasks: int64(n), Note: "it wants them to itself"}
	if a.Alone() != ledger.AloneEach {
		r.Needed = 1
	}
	for _, s := range p.Sites {
		if !st.Allowed(s, a) {
			exclude(&r, s, a)
			continue
		}
		r.OfNodes++
		if r.Total++; s.Now.Guests.Admits(a.Alone()) && s.Soon.Guests.Admits(a.Alone()) && !s.Foreign() {
			r.Free++
		} else {
			r.Nodes++
		}
	}
	if r.Free >= r.Needed {
		return nil
	}
	return []schedule.Reason{r}
}
