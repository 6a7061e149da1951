package schedule

import (
	"slices"

	"github.com/musterhq/muster/internal/core"
)

// cycle is one pass over all actions.
type cycle struct {
	st      *State
	id      uint64
	cause   map[*job]verdictOf   // of whose holds were evicted
	booked  map[*pool][]*booking // who has a time to start
	kept    map[*job]*pool       // who keeps out of the way of those who have a time, and where that was last
	guests  map[*site][]*hold    // placed in this cycle after somebody was given a time
	ends    map[*pool][]*job     // whose end is known, in order
	fresh   map[int32][]*job     // by queue: who was placed in this cycle, having held nothing before
	won     map[*job][]unit      // who was made to leave for whom
	lanes   []*lane              // for candidates
	windows map[*job]string      // that made those leave who do
	rows    map[rowKey]row       // in which queues are taken from
}

type verdictOf struct {
	cause Action
	by    core.WorkloadID
}

// Cycle returns the plan for a snapshot. The same snapshot gives the same plan
// whatever the order of its slices.
func Cycle(s *Snapshot, cfg Config) *Plan { return Load(s, cfg).Cycle(s.Now) }

// Cycle plans. The state is afterwards as it was before: the caller applies the
// plan and puts what came of it.
func (st *State) Cycle(now int64) *Plan {
	if st.idle(now) {
		return &Plan{}
	}
	st.now = now
	st.prepare()
	c := newCycle(st)
	c.vacate()
	c.redeem()
	actions := st.cfg.Actions
	if len(actions) == 0 {
		actions = Actions()
	}
	for _, a := range actions {
		if a == StaleGang {
			c.stale()
			continue
		}
		c.walk(a)
	}
	if st.cfg.Quantum > 0 {
		c.honour()
		c.relieve()
	}
	c.spare()
	plan := c.plan()
	plan.Bookings = c.bookings()
	st.finish(c)
	if len(plan.Placements)+len(plan.Promises)+len(plan.Evictions)+len(plan.Bookings) == 0 {
		st.quiet = quiet{version: st.version, since: now, fill: st.fill, known: true, reach: c.reach()}
	}
	return plan
}

func newCycle(st *State) *cycle {
	st.cycles++
	return &cycle{st: st, id: st.cycles, cause: map[*job]verdictOf{}, fresh: map[int32][]*job{}, won: map[*job][]unit{}}
}

// prepare brings up to date what a cycle goes by.
func (st *State) prepare() {
	st.refresh()
	st.sweep()
	st.divide()
	for _, a := range st.passed {
		a.gone = 0
	}
	st.passed = st.passed[:0]
}

// finish takes back what a cycle tried.
func (st *State) finish(c *cycle) {
	st.at, st.most = nil, 0
	for i := range st.log {
		s := st.log[i].h.site
		s.pool.note(s)
	}
	st.undo(0)
	for _, jobs := range c.fresh {
		for _, j := range jobs {
			j.placedNow = false
		}
	}
}

// look tries one action for one job.
func (c *cycle) look(a Action, p *pool, j *job) outcome {
	out := hopeless
	if c.keepsOut(p, j) {
		return passed
	}
	c.st.turn(a, j)
	switch a {
	case Allocate:
		out = c.allocate(p, j)
	case Consolidate:
		out = c.consolidate(p, j)
	case Reclaim:
		out = c.reclaim(p, j)
	case Preempt:
		out = c.preempt(p, j)
	}
	c.st.most = 0
	return out
}

// outcome says how the walk goes on after a job was looked at.
type outcome uint8

const (
	hopeless outcome = iota // nor will others of its lane
	passed                  // not served; of others of its lane it says nothing
	shut                    // passed, and so are all others of its lane
	served
	grows // served, and to be looked at again for more
)

// walk looks at all waiting jobs: in each pool, those first for whom it is the
// first choice.
func (c *cycle) walk(a Action) {
	st := c.st
	names := st.poolNames()
	st.walks++
	for _, v := range st.visits() {
		p := st.pools[names[v.pool]]
		f := drain{st: st, pool: p, asks: map[*ask]bool{}}
		lanes := c.candidates(a, p, &v, &f)
		if len(lanes) == 0 {
			continue
		}
		l := st.newLine(p, len(lanes))
		for _, ln := range lanes {
			c.join(l, ln, a)
		}
		if a != Reclaim {
			l.order()
		}
		for cur := l.top(); cur != nil; cur = l.top() {
			if c.step(l, cur, a) == hopeless && a == Allocate && f.over() && !c.open(l.pool) {
				break
			}
		}
	}
}

// join puts into the line who of a lane may want something of its pool: those
// that hold something already, each for itself, for they are not alike any
// more; and a cursor on the first of the others.
func (c *cycle) join(l *line, ln *lane, a Action) {
	st, first := c.st, ln.jobs[0]
	if first.leaf < 0 || st.queues.list[first.leaf].stopped != "" || st.awaits(first) != nil {
		return
	}
	at := 0
	for ; at < len(ln.jobs) && (at < ln.passed(st) || ln.jobs[at].standing > 0); at++ {
		if j := ln.jobs[at]; j.standing > 0 && j.home() == l.pool && st.wants(j) {
			c.enqueue(l, cursor{job: j}, a)
		}
	}
	ln.past, ln.walk, ln.over = at, st.walks, false
	if at == len(ln.jobs) {
		return
	}
	j := ln.jobs[at]
	if home := j.home(); (home == nil || home == l.pool) && st.wants(j) {
		c.enqueue(l, cursor{lane: ln, next: at}, a)
	}
}

// enqueue puts a cursor into a line that is not walked yet. Where the order of
// queues may change by what becomes of another, each finds its place at once.
func (c *cycle) enqueue(l *line, cur cursor, a Action) {
	x := l.cursor(cur)
	if a == Reclaim {
		l.add(x)
	} else {
		l.append(x)
	}
}

func (c *cycle) step(l *line, cur *cursor, a Action) outcome {
	j := cur.at()
	had := len(j.holds)
	out := c.look(a, l.pool, j)
	if out == shut {
		c.passOver(cur)
		l.moved(cur, true)
		return passed
	}
	if out == hopeless {
		l.moved(cur, true)
		return out
	}
	if out == passed {
		c.passOver(cur)
	}
	if out != passed && j.pool == nil && j.Preemptible && !j.placedNow {
		j.placedNow = true
		c.fresh[j.leaf] = append(c.fresh[j.leaf], j)
	}
	again := out == grows && len(j.holds) > had && c.st.wants(j)
	if cur.job != nil {
		l.moved(cur, !again)
		return out
	}
	if j.standing > 0 {
		c.begins(cur.lane)
	}
	l.moved(cur, !c.advance(cur))
	if again {
		l.add(l.cursor(cursor{job: j}))
	}
	return out
}

// passOver notes that the cursor's lane has somebody who was not served here:
// another pool begins with the first of these.
func (c *cycle) passOver(cur *cursor) {
	if l := cur.lane; l != nil && !l.over {
		l.past, l.walk, l.over = cur.next, c.st.walks, true
	}
}

// advance moves the cursor to the next of its lane that holds nothing; false:
// there is none.
func (c *cycle) advance(cur *cursor) bool {
	jobs := cur.lane.jobs
	for cur.next++; cur.next < len(jobs) && jobs[cur.next].standing > 0; cur.next++ {
	}
	if !cur.lane.over {
		cur.lane.past, cur.lane.walk = cur.next, c.st.walks
	}
	return cur.next < len(jobs)
}

// allocate places what fits without disturbing anyone.
func (c *cycle) allocate(p *pool, j *job) outcome {
	st := c.st
	if st.full(j) != nil {
		return hopeless
	}
	mark, kept := len(st.log), false
	k, options := c.keptAlike(p, j), st.options(j)
	for _, tries := range options {
		if !c.permits(j, p, st.cost(j, p, tries)) {
			continue
		}
		if k != nil && k.kept == (vain{p, c.id, mark, len(c.booked[p])}) {
			return shut
		}
		had := len(j.holds)
		if !st.placeIn(p, j, tries) {
			st.undo(mark)
			if !kept {
				c.book(p, j, tries)
			}
			continue
		}
		if len(c.booked[p]) == 0 || c.clear(p, j, j.holds[had:]) {
			c.guest(p, j.holds[had:])
			return grows
		}
		st.undo(mark)
		if c.between(p, j, tries) {
			c.guest(p, j.holds[had:])
			return grows
		}
		kept = true
	}
	if kept && k != nil {
		k.kept, k.keeps = vain{p, c.id, mark, len(c.booked[p])}, room{p, c.id}
		return shut
	}
	if kept {
		if c.kept == nil {
			c.kept = map[*job]*pool{}
		}
		c.kept[j] = p
		return passed // others of its lane may leave in time
	}
	return hopeless
}

// stale ends gangs that have been below their minimum for too long.
func (c *cycle) stale() {
	st := c.st
	for _, id := range sortedIDs(st.below) {
		j := st.below[id]
		grace := st.cfg.StaleGrace
		if j.StaleGrace != nil {
			grace = *j.StaleGrace
		}
		if j.BelowSince == 0 || grace < 0 || st.now-j.BelowSince < grace || len(j.Done) > 0 {
			continue
		}
		if len(st.deficits(j, 0, 1)) == 0 {
			continue
		}
		st.turn(StaleGang, j)
		for _, h := range slices.Clone(j.holds) {
			if !h.leaving {
				st.evict(h)
				c.cause[j] = verdictOf{cause: StaleGang}
			}
		}
	}
}
