package displace

import (
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/place"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// tally counts the tasks of one ask that have room.
type tally struct {
	need, have int
	at         map[*ledger.Site]int
}

// rooms are the tallies of a search, by ask.
type rooms map[*ledger.Ask]*tally

// count begins the tallies with what has room now.
func (h *victimSearch) count() {
	h.room = rooms{}
	for _, t := range h.tries {
		for i := range int32(t.Count) {
			a := h.c.St.NextRun(h.j, t.Group, h.j.Placed[t.Group]+i)
			if h.room[a] == nil {
				h.room[a] = &tally{at: map[*ledger.Site]int{}}
			}
			h.room[a].need++
		}
	}
	for a, t := range h.room {
		if !place.Social(a) && h.c.St.Best(h.pool.Whole, a) == nil {
			continue
		}
		for _, s := range h.pool.Sites {
			if k := s.Room(a, t.need); k > 0 && h.c.St.Allowed(s, a) {
				t.at[s] = k
				t.have += k
			}
		}
	}
}

func (r rooms) enough() bool {
	for _, t := range r {
		if t.have < t.need {
			return false
		}
	}
	return true
}

// sum is how many tasks have room, of all asks.
func (r rooms) sum() int {
	n := 0
	for _, t := range r {
		n += t.have
	}
	return n
}

// recount counts the room of one site anew.
func (r rooms) recount(st *state.State, s *ledger.Site) {
	for a, t := range r {
		if k := s.Room(a, t.need); k != t.at[s] && st.Allowed(s, a) {
			t.have += k - t.at[s]
			t.at[s] = k
		}
	}
}

// partly reports whether s might take some of the job, and has some of what that
// needs.
func (r rooms) partly(st *state.State, s *ledger.Site) bool {
	for a := range r {
		if n := &a.Need; st.Allowed(s, a) && (n.Devices == 0 || s.Soon.Sum > 0) && (n.CPU == 0 || s.Soon.Cpu > 0 || n.Devices > 0) {
			return true
		}
	}
	return false
}
