// Package displace makes room for one job at the cost of others: by moving them
// (consolidation), by taking back what a queue is due (reclaim) or what more
// important work asks for (preemption), and for whoever has waited too long
// (starvation relief). Victims are told to go one by one until the job fits; then
// all are put back who can stay, or go elsewhere.
package displace

import (
	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/queues"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// Round is what the searches of one cycle know of one another: who was made to
// leave for whom, and why.
type Round struct {
	St    *state.State
	Id    uint64
	Cause map[*ledger.Job]Verdict // of whose holds were evicted
	Fresh map[int32][]*ledger.Job // by queue: who was placed in this cycle, having held nothing before
	won   map[*ledger.Job][]unit  // who was made to leave for whom
	rows  map[rowKey]row          // in which queues are taken from
	noted int                     // how much of the journal is among the news of its sites
	probe victimSearch            // for Vain
	tried []unit                  // for scout
}

// Renew makes news of the sites of all that the journal is about to take back.
func (c *Round) Renew() {
	c.noted = 0
	c.note()
}

// note makes news of the sites with which the journal has had to do since the
// last time. What is in it by then is not taken back before the cycle ends.
func (c *Round) note() {
	for _, e := range c.St.Log[c.noted:] {
		e.H.Site.Pool.Note(e.H.Site, e.H.Job.Leaf)
	}
	c.noted = len(c.St.Log)
}

// NewRound is that of a cycle in which nobody was looked at yet.
func NewRound(st *state.State) *Round {
	return &Round{St: st, Id: st.Cycles, Cause: map[*ledger.Job]Verdict{}, Fresh: map[int32][]*ledger.Job{}, won: map[*ledger.Job][]unit{}}
}

// victimSearch is the search for those who would leave for one job.
type victimSearch struct {
	c       *Round
	kind    schedule.Action
	pool    *ledger.Pool
	j       *ledger.Job
	tries   []ledger.Try
	need    quota.Amounts
	had     quota.Amounts // by its queue when the search began
	leafs   map[int32]*candidates
	rows    map[int32]*row // by parent
	mark    int            // the journal when the search began
	room    rooms
	victims []unit                  // in the order in which they were told to go
	entered []*ledger.Hold          // what the job was given last
	lost    map[int32]quota.Amounts // by queue: what victims of this search held
	others  map[int32]others        // by queue: who waits
	blocked blocked                 // by victims who are served before its job
	freed   map[*ledger.Job][]unit  // by victim: who had been made to leave for it, once that is looked at again
	waits   bool                    // somebody would have been told to go, had all been, who is there already
	booked  bool                    // the time has come that its job was told
	hard    bool                    // it is looked for among those as well who had to leave before and were spared
	shields bool                    // somebody was spared who had to leave before
	own     bool                    // somebody was refused for what is so of its job and not of all of a class
	wide    bool                    // also from queues that have no more than their due, if all of that finds another place
}

// candidates is how far the victims of one queue have been looked at.
type candidates struct {
	next int
	back []*ledger.Job // looked at, and still there with less
	over bool
}

// Consolidate makes room for j by moving others, if all of them get another place.
func (c *Round) Consolidate(p *ledger.Pool, j *ledger.Job) Outcome {
	if !j.Preemptible || c.St.Cfg.MaxMoves == 0 {
		return Hopeless
	}
	return c.displace(schedule.Consolidate, p, j)
}

// Reclaim makes room for j, whose queue is due it, at the cost of other queues.
func (c *Round) Reclaim(p *ledger.Pool, j *ledger.Job) Outcome {
	if c.St.Cfg.NoQuota {
		return Hopeless
	}
	return c.displace(schedule.Reclaim, p, j)
}

// Preempt makes room for j at the cost of less important work of its queue.
func (c *Round) Preempt(p *ledger.Pool, j *ledger.Job) Outcome {
	return c.displace(schedule.Preempt, p, j)
}

// Outranks reports whether somebody of the queue of a job class is less important
// than those are, or has a place only since this cycle: else none of them makes
// anybody leave it.
func (c *Round) Outranks(p *ledger.Pool, l *ledger.JobClass) bool {
	acc := &p.Q[l.Leaf]
	return acc.Gone < len(acc.Victims) && acc.Victims[acc.Gone].Priority < l.Key.Priority || len(c.Fresh) > 0 && len(c.Fresh[l.Leaf]) > 0
}

// MayPreempt reports whether there is anybody whom j, which holds nothing, might
// make leave its own queue.
func (c *Round) MayPreempt(p *ledger.Pool, j *ledger.Job) bool {
	h := &c.probe
	h.c, h.kind, h.pool, h.j = c, schedule.Preempt, p, j
	return h.candidates()
}

// MayReclaim reports whether j, which holds nothing, may have so much at the cost
// of other queues.
func (c *Round) MayReclaim(p *ledger.Pool, j *ledger.Job, need quota.Amounts) bool {
	if acc := &p.Q[j.Leaf]; !acc.Alloc.Add(need).Within(acc.Share) {
		return false // as entitled says
	}
	h := victimSearch{c: c, kind: schedule.Reclaim, pool: p, j: j, need: need}
	return h.entitled()
}

// displace makes room for j, if those whom the kind of displacement allows can
// make it. Victims are told to go one by one, in their order, until j fits;
// then all who can stay, or go elsewhere, do.
func (c *Round) displace(kind schedule.Action, p *ledger.Pool, j *ledger.Job) Outcome {
	st := c.St
	if kind != schedule.Consolidate && st.Now < j.Patient {
		return Passed
	}
	if st.Full(j) != nil {
		return Hopeless
	}
	for _, tries := range j.Options() {
		h := &victimSearch{c: c, kind: kind, pool: p, j: j, tries: tries, need: st.Cost(j, p, tries)}
		if !h.entitled() || kind == schedule.Consolidate && !h.spare() {
			continue
		}
		if kind == schedule.Preempt {
			if h.scouted() {
				return served
			}
			if h.futile() {
				continue
			}
		}
		if !inVain(h) && (kind == schedule.Consolidate && h.few() || h.run()) {
			return served
		}
		if h.shields && h.entitledAnyway() {
			if h.hard = true; !inVain(h) && h.run() {
				return served
			}
		}
		if kind == schedule.Reclaim && st.Cfg.MaxMoves != 0 && h.spare() {
			if h.wide = true; h.run() {
				return served
			}
		}
	}
	return Hopeless
}

// begin has a search forget what it found out.
func begin(h *victimSearch) {
	h.leafs, h.rows, h.lost, h.victims = map[int32]*candidates{}, map[int32]*row{}, map[int32]quota.Amounts{}, nil
	h.waits, h.others, h.blocked = false, nil, blocked{}
	h.mark, h.had = len(h.c.St.Log), h.pool.Q[h.j.Leaf].Alloc
}

// run is one search through all possible victims.
func (h *victimSearch) run() bool {
	st := h.c.St
	begin(h)
	mark := h.mark
	if !h.candidates() {
		return false
	}
	h.count()
	for wait, enough := 0, false; ; {
		switch {
		case wait > 0:
			wait--
		case h.room.enough():
			if enough = true; !h.blocked.still(h) && h.accept() {
				st.Shorten(mark)
				return true
			}
			wait = len(h.victims) / 8 // a failed try is dear: not after each
		}
		if !h.more() {
			if wait > 0 && h.room.enough() && !h.blocked.still(h) && h.accept() {
				st.Shorten(mark)
				return true
			}
			st.Undo(mark)
			if !enough || h.kind == schedule.Consolidate && !h.own {
				fails(h)
			}
			return false
		}
	}
}

// entitled reports whether j may have what it asks for at others' cost.
func (h *victimSearch) entitled() bool {
	st := h.c.St
	switch h.kind {
	case schedule.Consolidate:
		return st.Permits(h.j, h.pool, h.need)
	case schedule.Preempt:
		if h.j.Preemptible || st.Cfg.NoQuota {
			return true
		}
	}
	rest := h.j.Beyond(h.pool, h.need)
	for q := h.j.Leaf; q >= 0; q = st.Queues.List[q].ParentIndex {
		a := &h.pool.Q[q]
		if !h.j.Preemptible && !queues.Allows(a.Quota.Quota, a.Fixed, rest) {
			return false
		}
		if h.kind == schedule.Reclaim && (q == h.j.Leaf && !a.Alloc.Add(rest).Within(a.Share) || !st.MayBorrow(h.j, q) && !queues.Allows(a.Quota.Quota, a.Alloc, rest)) {
			return false
		}
	}
	return true
}

// spare reports whether as much is free in all as j needs: without that no
// moving about helps.
func (h *victimSearch) spare() bool { return h.need.Within(h.pool.Free) }

// more tells the next victim to go; false: there is none.
func (h *victimSearch) more() bool {
	st := h.c.St
	if (h.kind == schedule.Consolidate || h.wide) && st.Cfg.MaxMoves >= 0 {
		n := 0
		for _, v := range h.victims {
			n += len(v.holds)
		}
		if n >= st.Cfg.MaxMoves {
			return false
		}
	}
	v := h.pick()
	if v == nil {
		return false
	}
	u := unitOf(st, v)
	h.send(u)
	for q := v.Leaf; q >= 0; q = st.Queues.List[q].ParentIndex {
		h.lost[q] = h.lost[q].Add(u.amount())
	}
	if !u.whole && h.eligible(v) {
		h.leafs[v.Leaf].back = append(h.leafs[v.Leaf].back, v)
	}
	return true
}

// send tells u to go, and counts the room that this leaves.
func (h *victimSearch) send(u unit) {
	st := h.c.St
	for _, x := range u.holds {
		st.Evict(x)
		h.room.recount(st, x.Site)
	}
	h.victims = append(h.victims, u)
}
