package schedule

import (
	"cmp"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/quota"
)

// cycle is one pass over all actions.
type cycle struct {
	st      *State
	id      uint64
	cause   map[*job]verdictOf   // of whose holds were evicted
	booked  map[*pool][]*booking // who has a time to start
	kept    map[*job]bool        // who keeps out of the way of those who have a time
	guests  map[*site][]*hold    // placed in this cycle after somebody was given a time
	ends    map[*pool][]*job     // whose end is known, in order
	fresh   map[int32][]*job     // by queue: who was placed in this cycle, having held nothing before
	won     map[*job][]unit      // who was made to leave for whom
	rest    map[*lane]int        // how many of a lane the present walk is past
	visits  []visit
	windows map[*job]string // that made those leave who do
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
	return &cycle{st: st, id: st.cycles, cause: map[*job]verdictOf{}, fresh: map[int32][]*job{}, rest: map[*lane]int{}, won: map[*job][]unit{}}
}

// prepare brings up to date what a cycle goes by.
func (st *State) prepare() {
	st.refresh()
	st.sweep()
	for _, name := range st.poolNames() {
		p := st.pools[name]
		st.reshape(p)
		st.shares(p)
	}
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
	if c.kept[j] { // it has room, and nobody needs to make any
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
	served
	grows // served, and to be looked at again for more
)

// walk looks at all waiting jobs: in each pool, those first for whom it is the
// first choice.
func (c *cycle) walk(a Action) {
	st := c.st
	names := st.poolNames()
	clear(c.rest)
	if c.visits == nil {
		c.visits = st.visits(names)
	}
	for _, t := range c.visits {
		l := st.newLine(st.pools[names[t.pool]])
		f := drain{st: st, pool: l.pool, asks: map[*ask]bool{}}
		for _, ln := range t.lanes {
			if c.may(a, l.pool, ln) {
				f.note(ln)
				c.join(l, ln)
			}
		}
		for cur := l.top(); cur != nil; cur = l.top() {
			if c.step(l, cur, a) == hopeless && a == Allocate && f.over() && !c.open(l.pool) {
				break
			}
		}
	}
}

// visit is the lanes that try one pool in one round.
type visit struct {
	round, pool int
	lanes       []*lane
}

// visits are all that have lanes, in the order in which a walk takes them. Most
// lanes name a pool or two of however many there are.
func (st *State) visits(names []string) []visit {
	at := make(map[string]int, len(names))
	for i, name := range names {
		at[name] = i
	}
	all, found := []visit{}, map[[2]int]int{}
	add := func(round, pool int, ln *lane) {
		i, ok := found[[2]int{round, pool}]
		if !ok {
			i = len(all)
			found[[2]int{round, pool}] = i
			all = append(all, visit{round: round, pool: pool})
		}
		all[i].lanes = append(all[i].lanes, ln)
	}
	for q := range st.queues.list {
		for _, ln := range st.queues.list[q].lanes {
			if ln.pools == nil {
				for i := range names {
					add(i, i, ln)
				}
				continue
			}
			round := 0
			for _, name := range ln.pools { // those that do not exist do not count
				if pool, ok := at[name]; ok && round < len(names) {
					add(round, pool, ln)
					round++
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b visit) int { return cmp.Or(a.round-b.round, a.pool-b.pool) })
	return all
}

// join puts into the line who of a lane may want something of its pool: those
// that hold something already, each for itself, for they are not alike any
// more; and a cursor on the first of the others.
func (c *cycle) join(l *line, ln *lane) {
	st, first := c.st, ln.jobs[0]
	if first.leaf < 0 || st.queues.list[first.leaf].stopped != "" || st.awaits(first) != nil {
		return
	}
	at := 0
	for ; at < len(ln.jobs) && (at < c.rest[ln] || ln.jobs[at].standing > 0); at++ {
		if j := ln.jobs[at]; j.standing > 0 && j.home() == l.pool && st.wants(j) {
			l.add(&cursor{job: j})
		}
	}
	c.rest[ln] = at
	if at == len(ln.jobs) {
		return
	}
	j := ln.jobs[at]
	if home := j.home(); (home == nil || home == l.pool) && st.wants(j) {
		l.add(&cursor{lane: ln, next: at})
	}
}

func (c *cycle) step(l *line, cur *cursor, a Action) outcome {
	j := cur.at()
	had := len(j.holds)
	out := c.look(a, l.pool, j)
	if out == hopeless {
		l.moved(cur, true)
		return out
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
	l.moved(cur, !c.advance(cur))
	if again {
		l.add(&cursor{job: j})
	}
	return out
}

// advance moves the cursor to the next of its lane that holds nothing; false:
// there is none.
func (c *cycle) advance(cur *cursor) bool {
	jobs := cur.lane.jobs
	for cur.next++; cur.next < len(jobs) && jobs[cur.next].standing > 0; cur.next++ {
	}
	c.rest[cur.lane] = cur.next
	return cur.next < len(jobs)
}

// choice is the pool that the lane tries in that round; empty: none. Pools that
// do not exist do not count.
func (l *lane) choice(all []string, round int) string {
	if l.pools == nil {
		return all[round]
	}
	for _, name := range l.pools {
		if slices.Contains(all, name) {
			if round == 0 {
				return name
			}
			round--
		}
	}
	return ""
}

// permits reports whether the queues and the user of j may have so much more in p.
func (st *State) permits(j *job, p *pool, more quota.Amounts) bool {
	if j.leaf >= 0 && st.overUser(j, more) != nil {
		return false
	}
	if st.cfg.NoQuota {
		return true
	}
	for q := j.leaf; q >= 0; q = st.queues.list[q].parent {
		a := &p.q[q]
		if !allows(a.Limit, a.alloc, more) || !j.Preemptible && !allows(a.Quota.Quota, a.fixed, more) {
			return false
		}
	}
	return true
}

// allows reports whether a limit allows so much more. Of what is not asked for
// it does not matter how much is held.
func allows(limit, held, more quota.Amounts) bool {
	for r, n := range more {
		if n > 0 && limit[r] >= 0 && held[r]+n > limit[r] {
			return false
		}
	}
	return true
}

// allocate places what fits without disturbing anyone.
func (c *cycle) allocate(p *pool, j *job) outcome {
	st := c.st
	if st.full(j) != nil {
		return hopeless
	}
	mark, kept := len(st.log), false
	for _, tries := range st.options(j) {
		if !st.permits(j, p, st.cost(j, p, tries)) {
			continue
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
	if kept {
		if c.kept == nil {
			c.kept = map[*job]bool{}
		}
		c.kept[j] = true
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
