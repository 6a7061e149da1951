package state

import (
	"math"
	"slices"
	"sort"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
)

// Windows are those that were set.
func (st *State) Windows() []schedule.Window { return st.Win.List }

// Refresh gives every job its pass anew, where the time may have changed one.
func (st *State) Refresh() {
	if len(st.Win.List) == 0 || st.Now < st.Win.until && st.Now >= st.Win.since {
		return
	}
	st.Win.since, st.Win.until = st.Now, math.MaxInt64
	ids := make([]core.WorkloadID, 0, len(st.Jobs))
	for id, j := range st.Jobs {
		p, until := st.Win.passOf(st.Queues, &j.Job, st.Now)
		if st.Win.until = min(st.Win.until, until); p != j.Pass {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		st.PutJob(st.Jobs[id].Job)
	}
}

// KeptAway is the window that keeps j off the most nodes of p, if it would have
// room without windows.
func (st *State) KeptAway(p *ledger.Pool, j *ledger.Job, tries []ledger.Try) []schedule.Reason {
	if j.Pass == (ledger.Pass{}) {
		return nil
	}
	nodes := map[int32]int{}
	for _, x := range st.Wanted(j, tries) {
		a := st.AskOf(x.Ask.Need, x.Ask.Rule, ledger.Pass{})
		have := 0
		for _, s := range p.Sites {
			if !st.Allowed(s, a) {
				continue
			}
			room := s.Room(a, x.Count)
			if have += room; room > 0 && !s.Admits(j.Pass) {
				for _, w := range s.Windows {
					if j.Pass.Bars(w) {
						nodes[w]++
					}
				}
			}
		}
		if have < x.Count {
			return nil
		}
	}
	if len(nodes) == 0 {
		return nil
	}
	all := make([]int32, 0, len(nodes))
	for w := range nodes {
		all = append(all, w)
	}
	sort.Slice(all, func(a, b int) bool {
		if nodes[all[a]] != nodes[all[b]] {
			return nodes[all[a]] > nodes[all[b]]
		}
		return all[a] < all[b]
	})
	w := &st.Win.List[all[0]]
	r := schedule.Reason{Token: schedule.InReservation, Reservation: w.Name, Nodes: nodes[all[0]], OfNodes: len(p.Sites), Tasks: int64(ledger.Total(tries)), Limit: j.MaxRun}
	r.From, r.Until, _ = w.At(st.Now)
	if st.Now >= r.From {
		r.Note = "it has begun"
	}
	return []schedule.Reason{r}
}
