// Package cycle decides who starts, who leaves for whom, and who is told a time to
// start. It is given a state and gives a plan; the state is afterwards as it was.
package cycle

import (
	"slices"

	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/booking"
	"github.com/musterhq/muster/internal/core/schedule/displace"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
	"github.com/musterhq/muster/internal/core/schedule/place"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// Pass is one pass over all actions.
type Pass struct {
	St *state.State
	*displace.Round
	*booking.Books
	kept     map[keptFrom]bool      // who keeps out of the way of those who have a time, and where
	turn     turn                   // for rouse
	relieved bool                   // some may have a place for whom others left whose time had come
	windows  map[*ledger.Job]string // that made those leave who do
}

// Cycle returns the plan for a snapshot. The same snapshot gives the same plan
// whatever the order of its slices.
func Cycle(s *schedule.Snapshot, cfg schedule.Config) *schedule.Plan {
	return Run(state.Load(s, cfg), s.Now)
}

// Run plans. The state is afterwards as it was before: the caller applies the
// plan and puts what came of it.
func Run(st *state.State, now int64) *schedule.Plan {
	if st.Idle(now) {
		return &schedule.Plan{}
	}
	st.Now = now
	Prepare(st)
	c := New(st)
	c.vacate()
	c.Redeem()
	if st.Cfg.Quantum > 0 {
		c.Overdue()
	}
	actions := st.Cfg.Actions
	if len(actions) == 0 {
		actions = schedule.Actions()
	}
	for _, a := range actions {
		if a == schedule.StaleGang {
			c.stale()
			continue
		}
		c.Walk(a)
	}
	if st.Cfg.Quantum > 0 {
		c.relieved = true
		c.Honour()
		c.Relieve()
	}
	c.Spare()
	plan := c.Plan()
	plan.Bookings = c.Bookings()
	Finish(st, c)
	if len(plan.Placements)+len(plan.Promises)+len(plan.Evictions)+len(plan.Bookings) == 0 {
		st.Quiet = state.Quiet{Version: st.Version, Since: now, Fill: st.Fill, Known: true, Reach: c.Reach()}
	}
	return plan
}

// New begins a pass.
func New(st *state.State) *Pass {
	st.Cycles++
	return &Pass{St: st, Round: displace.NewRound(st), Books: &booking.Books{St: st}}
}

// Prepare brings up to date what a cycle goes by.
func Prepare(st *state.State) {
	st.Refresh()
	st.Sweep()
	st.Divide()
	for _, a := range st.Passed {
		a.Gone = 0
	}
	st.Passed = st.Passed[:0]
}

// Finish takes back what a cycle tried.
func Finish(st *state.State, c *Pass) {
	st.At, st.Most = nil, 0
	c.Renew()
	st.Undo(0)
	for _, jobs := range c.Fresh {
		for _, j := range jobs {
			j.PlacedNow, j.Overdue = false, false
		}
	}
}

// Look tries one action for one job.
func (c *Pass) Look(a schedule.Action, p *ledger.Pool, j *ledger.Job) displace.Outcome {
	out := displace.Hopeless
	if c.kept[keptFrom{j, p}] {
		return displace.Passed
	}
	if c.allKept(p, j) {
		return displace.Shut
	}
	c.St.BeginLook(a, j)
	switch a {
	case schedule.Allocate:
		out = c.allocate(p, j)
	case schedule.Consolidate:
		out = c.Consolidate(p, j)
	case schedule.Reclaim:
		out = c.Reclaim(p, j)
	case schedule.Preempt:
		out = c.Preempt(p, j)
	}
	c.St.Most = 0
	return out
}

// Walk looks at all waiting jobs: in each pool, those first for whom it is the
// first choice.
func (c *Pass) Walk(a schedule.Action) {
	st := c.St
	names := st.PoolNames()
	st.Walks++
	for _, v := range st.Visits(st.PoolNames()) {
		p := st.Pools[names[v.Pool]]
		f := drain{st: st, pool: p, asks: map[*ledger.Ask]bool{}}
		jobClasses := c.candidates(a, p, &v, &f)
		if len(jobClasses) == 0 {
			continue
		}
		l := st.NewLine(p, len(jobClasses))
		for _, ln := range jobClasses {
			c.join(l, ln, a == schedule.Reclaim)
		}
		if a != schedule.Reclaim {
			l.Order()
		}
		for cur := l.Top(); cur != nil; cur = l.Top() {
			done := len(st.Log)
			if a == schedule.Preempt {
				c.turn.begin(st, p, cur)
			}
			out := c.step(l, cur, a)
			if a == schedule.Preempt && len(st.Log) > done {
				c.rouse(l, &v, &c.turn, done)
			}
			if out == displace.Hopeless && a == schedule.Allocate && f.over() && !c.Open(l.Pool) {
				break
			}
		}
	}
}

// join puts into the line who of a job class may want something of its pool: those
// that hold something already, each for itself, for they are not alike any
// more; and a cursor on the first of the others. Where the line is walked already,
// or the order of queues may change by what becomes of another, each finds its
// place at once.
func (c *Pass) join(l *state.Line, ln *ledger.JobClass, sorted bool) {
	st, first := c.St, ln.Jobs[0]
	if first.Leaf < 0 || st.Queues.List[first.Leaf].StoppedBy != "" || st.Win.Awaits(st.Queues, first, st.Now) != nil {
		return
	}
	at := 0
	for ; at < len(ln.Jobs) && (at < ln.Passed(st.Walks) || ln.Jobs[at].Standing > 0); at++ {
		if j := ln.Jobs[at]; j.Standing > 0 && j.Home() == l.Pool && j.Wants() {
			enqueue(l, state.Cursor{Job: j}, sorted)
		}
	}
	ln.Past, ln.Walk, ln.Over = at, st.Walks, false
	if at == len(ln.Jobs) {
		return
	}
	j := ln.Jobs[at]
	if home := j.Home(); (home == nil || home == l.Pool) && j.Wants() {
		enqueue(l, state.Cursor{JobClass: ln, Next: at}, sorted)
	}
}

func enqueue(l *state.Line, cur state.Cursor, sorted bool) {
	if x := l.Cursor(cur); sorted {
		l.Add(x)
	} else {
		l.Append(x)
	}
}

func (c *Pass) step(l *state.Line, cur *state.Cursor, a schedule.Action) displace.Outcome {
	j := cur.At()
	had := len(j.Holds)
	out := c.Look(a, l.Pool, j)
	if out == displace.Shut {
		c.passOver(cur)
		l.Moved(cur, true)
		return displace.Passed
	}
	if out == displace.Hopeless {
		l.Moved(cur, true)
		return out
	}
	if out == displace.Passed {
		c.passOver(cur)
	}
	if out != displace.Passed {
		c.newcomer(j)
	}
	again := out == displace.Grows && len(j.Holds) > had && j.Wants()
	if cur.Job != nil {
		l.Moved(cur, !again)
		return out
	}
	if j.Standing > 0 {
		c.begins(cur.JobClass)
	}
	l.Moved(cur, !c.advance(cur))
	if again {
		l.Add(l.Cursor(state.Cursor{Job: j}))
	}
	return out
}

// newcomer notes that j has been given its first place in this cycle, which others
// may still take from it.
func (c *Pass) newcomer(j *ledger.Job) {
	if j.Pool == nil && j.Preemptible && !j.PlacedNow {
		j.PlacedNow = true
		c.Fresh[j.Leaf] = append(c.Fresh[j.Leaf], j)
	}
}

// passOver notes that the cursor's job class has somebody who was not served here:
// another pool begins with the first of these.
func (c *Pass) passOver(cur *state.Cursor) {
	if l := cur.JobClass; l != nil && !l.Over {
		l.Past, l.Walk, l.Over = cur.Next, c.St.Walks, true
	}
}

// advance moves the cursor to the next of its job class that holds nothing; false:
// there is none.
func (c *Pass) advance(cur *state.Cursor) bool {
	jobs := cur.JobClass.Jobs
	for cur.Next++; cur.Next < len(jobs) && jobs[cur.Next].Standing > 0; cur.Next++ {
	}
	if !cur.JobClass.Over {
		cur.JobClass.Past, cur.JobClass.Walk = cur.Next, c.St.Walks
	}
	return cur.Next < len(jobs)
}

// allocate places what fits without disturbing anyone.
func (c *Pass) allocate(p *ledger.Pool, j *ledger.Job) displace.Outcome {
	st := c.St
	if st.Full(j) != nil {
		return displace.Hopeless
	}
	mark, kept := len(st.Log), false
	k, options := c.keptAlike(p, j), j.Options()
	for _, tries := range options {
		if !c.Permits(j, p, st.Cost(j, p, tries)) {
			continue
		}
		if k != nil && k.Kept == (ledger.Kept{Pool: p, Cycle: c.Id, Log: mark, Booked: len(c.Booked[p])}) {
			j.JobClass.KeepOut(p, c.Id)
			return displace.Shut
		}
		had := len(j.Holds)
		if !place.PlaceIn(st, p, j, tries) {
			st.Undo(mark)
			if !kept {
				c.Book(p, j, tries)
			}
			continue
		}
		if len(c.Booked[p]) == 0 || c.Clear(p, j, j.Holds[had:]) {
			c.Guest(p, j.Holds[had:])
			return displace.Grows
		}
		st.Undo(mark)
		if c.Between(p, j, tries) {
			c.Guest(p, j.Holds[had:])
			return displace.Grows
		}
		kept = true
	}
	if kept && k != nil {
		k.Kept = ledger.Kept{Pool: p, Cycle: c.Id, Log: mark, Booked: len(c.Booked[p])}
		j.JobClass.KeepOut(p, c.Id)
		return displace.Shut
	}
	if kept {
		if c.kept == nil {
			c.kept = map[keptFrom]bool{}
		}
		c.kept[keptFrom{j, p}] = true
		return displace.Passed // others of its job class may leave in time
	}
	return displace.Hopeless
}

// stale ends gangs that have been below their minimum for too long.
func (c *Pass) stale() {
	st := c.St
	for _, id := range ledger.SortedIDs(st.Below) {
		j := st.Below[id]
		grace := st.Cfg.StaleGrace
		if j.StaleGrace != nil {
			grace = *j.StaleGrace
		}
		if j.BelowSince == 0 || grace < 0 || st.Now-j.BelowSince < grace || len(j.Done) > 0 {
			continue
		}
		if len(j.Deficits(0, 1)) == 0 {
			continue
		}
		st.BeginLook(schedule.StaleGang, j)
		for _, h := range slices.Clone(j.Holds) {
			if !h.Leaving {
				st.Evict(h)
				c.Cause[j] = displace.Verdict{Cause: schedule.StaleGang}
			}
		}
	}
}
