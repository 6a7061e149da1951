package state

import (
	"cmp"
	"slices"

	"github.com/musterhq/muster/internal/core/quota"
	"github.com/musterhq/muster/internal/core/schedule/ledger"
)

// Line is the order in which the jobs of one pool are looked at: a heap of
// queues at every level of the tree, and in each leaf a heap of cursors.
type Line struct {
	st     *State
	Pool   *ledger.Pool
	number uint64
	made   []Cursor // room for cursors
	leafs  []int32  // that have cursors, until they are put in order
}

// slot is what a line knows of one queue. It is kept for the next line.
type slot struct {
	line    uint64 // whose it is
	at      int32  // where the queue stands in its parent's heap; negative: it does not
	heap    []int32
	cursors []*Cursor
}

// slot is that of a queue; -1: of those at the top.
func (l *Line) slot(q int32) *slot {
	s := &l.st.slots[q+1]
	if s.line != l.number {
		s.line, s.at, s.heap, s.cursors = l.number, -1, s.heap[:0], s.cursors[:0]
	}
	return s
}

// Cursor stands on the next job of a job class, or on one job that goes on growing.
type Cursor struct {
	JobClass *ledger.JobClass
	Next     int
	Job      *ledger.Job // where set: only this one
	need     quota.Amounts
}

// At is the job on which the cursor stands.
func (c *Cursor) At() *ledger.Job {
	if c.Job != nil {
		return c.Job
	}
	return c.JobClass.Jobs[c.Next]
}

// Need is what the cursor's job would get next.
func (c *Cursor) Need() quota.Amounts { return c.need }

// NewLine is an empty line for so many job classes. There is one at a time: it has
// its cursors where those before it had theirs.
func (st *State) NewLine(p *ledger.Pool, jobClasses int) *Line {
	if n := len(st.Queues.List) + 1; len(st.slots) < n {
		st.slots = make([]slot, n)
	}
	st.lines++
	if cap(st.cursors) < jobClasses {
		st.cursors = make([]Cursor, 0, jobClasses)
	}
	return &Line{st: st, Pool: p, number: st.lines, made: st.cursors}
}

// Cursor is a copy that stays where it is.
func (l *Line) Cursor(c Cursor) *Cursor {
	if len(l.made) == cap(l.made) {
		l.made = make([]Cursor, 0, 16)
	}
	l.made = append(l.made, c)
	return &l.made[len(l.made)-1]
}

// served orders the cursors of one queue.
func (l *Line) served(a, b *Cursor) bool { return l.st.JobOrder(a.At(), b.At()) < 0 }

// Append puts a cursor at the end of those of its queue: order makes a line of
// them.
func (l *Line) Append(c *Cursor) {
	q := c.At().Leaf
	if q < 0 {
		return
	}
	l.refresh(c)
	s := l.slot(q)
	if s.cursors = append(s.cursors, c); len(s.cursors) == 1 {
		l.leafs = append(l.leafs, q)
	}
}

// Order makes a line of all that was appended.
func (l *Line) Order() {
	list := l.st.Queues.List
	var parents []int32
	for _, q := range l.leafs {
		s := l.slot(q)
		for i := len(s.cursors)/2 - 1; i >= 0; i-- {
			s.down(l, i)
		}
		for ; q >= 0; q = list[q].ParentIndex {
			if s = l.slot(q); s.at >= 0 {
				break
			}
			up := l.slot(list[q].ParentIndex)
			if len(up.heap) == 0 {
				parents = append(parents, list[q].ParentIndex)
			}
			s.at = int32(len(up.heap))
			up.heap = append(up.heap, q)
		}
	}
	slices.SortFunc(parents, func(a, b int32) int { return cmp.Compare(b, a) }) // children are listed after their parents
	for _, p := range parents {
		for i := len(l.slot(p).heap)/2 - 1; i >= 0; i-- {
			l.down(p, i)
		}
	}
}

// Add puts a cursor into the line of its queue.
func (l *Line) Add(c *Cursor) {
	q := c.At().Leaf
	if q < 0 {
		return
	}
	l.refresh(c)
	lf := l.slot(q)
	lf.cursors = append(lf.cursors, c)
	lf.up(l, len(lf.cursors)-1)
	l.fix(q)
}

// refresh notes what the cursor's job would get next.
func (l *Line) refresh(c *Cursor) {
	j := c.At()
	if k := c.JobClass; k != nil && k.Class != nil && !k.Class.Key.Own && len(j.Holds) == 0 {
		c.need = quota.Amounts{}
		if all := k.Class.Prices(&l.st.Asks, l.Pool, j); len(all) > 0 {
			c.need = all[0]
		}
		return
	}
	_, tries := j.Next()
	c.need = j.Beyond(l.Pool, l.st.Cost(j, l.Pool, tries))
}

// Top is the cursor to serve next, or nil.
func (l *Line) Top() *Cursor {
	q := int32(-1)
	for {
		h := l.slot(q).heap
		if len(h) == 0 {
			break
		}
		q = h[0]
	}
	if q < 0 {
		return nil
	}
	return l.slot(q).cursors[0]
}

// Moved puts the top cursor of a queue where it belongs after it was advanced,
// or, with gone, takes it out.
func (l *Line) Moved(c *Cursor, gone bool) {
	q := c.at0()
	lf := l.slot(q)
	if gone {
		last := len(lf.cursors) - 1
		lf.cursors[0] = lf.cursors[last]
		lf.cursors = lf.cursors[:last]
	} else {
		l.refresh(c)
	}
	if len(lf.cursors) > 0 {
		lf.down(l, 0)
	}
	l.fix(q)
}

// at0 is the queue of a cursor, even of one that has come to its end.
func (c *Cursor) at0() int32 {
	if c.Job != nil {
		return c.Job.Leaf
	}
	return c.JobClass.Jobs[0].Leaf
}

// fix restores the order along the path from a queue to the top after what it
// has, or what it would get next, has changed.
func (l *Line) fix(q int32) {
	for ; q >= 0; q = l.st.Queues.List[q].ParentIndex {
		parent := l.st.Queues.List[q].ParentIndex
		s := l.slot(q)
		switch want := l.alive(q); {
		case s.at >= 0 && !want:
			l.drop(parent, int(s.at))
		case s.at >= 0:
			l.down(parent, int(s.at))
			l.up(parent, int(s.at))
		case want:
			up := l.slot(parent)
			s.at = int32(len(up.heap))
			up.heap = append(up.heap, q)
			l.up(parent, int(s.at))
		}
	}
}

func (l *Line) alive(q int32) bool {
	s := l.slot(q)
	return len(s.cursors)+len(s.heap) > 0
}

// need is what queue q would get next.
func (l *Line) need(q int32) quota.Amounts {
	for {
		s := l.slot(q)
		if len(s.cursors) > 0 {
			return s.cursors[0].need
		}
		if len(s.heap) == 0 {
			return quota.Amounts{}
		}
		q = s.heap[0]
	}
}

func (l *Line) less(a, b int32) bool { return l.st.Before(l.Pool, a, b, l.need(a), l.need(b)) < 0 }

func (l *Line) swap(parent int32, i, k int) {
	h := l.slot(parent).heap
	h[i], h[k] = h[k], h[i]
	l.slot(h[i]).at, l.slot(h[k]).at = int32(i), int32(k)
}

func (l *Line) up(parent int32, i int) {
	for h := l.slot(parent).heap; i > 0; {
		p := (i - 1) / 2
		if !l.less(h[i], h[p]) {
			return
		}
		l.swap(parent, i, p)
		i = p
	}
}

func (l *Line) down(parent int32, i int) {
	for {
		h, c := l.slot(parent).heap, 2*i+1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && l.less(h[c+1], h[c]) {
			c++
		}
		if !l.less(h[c], h[i]) {
			return
		}
		l.swap(parent, i, c)
		i = c
	}
}

func (l *Line) drop(parent int32, i int) {
	s := l.slot(parent)
	h, last := s.heap, len(s.heap)-1
	l.slot(h[i]).at = -1
	if i != last {
		h[i] = h[last]
		l.slot(h[i]).at = int32(i)
	}
	s.heap = h[:last]
	if i < last {
		x := l.slot(h[i])
		l.down(parent, i)
		l.up(parent, int(x.at))
	}
}

func (lf *slot) up(l *Line, i int) {
	for c := lf.cursors; i > 0; {
		p := (i - 1) / 2
		if !l.served(c[i], c[p]) {
			return
		}
		c[i], c[p] = c[p], c[i]
		i = p
	}
}

func (lf *slot) down(l *Line, i int) {
	c := lf.cursors
	for {
		k := 2*i + 1
		if k >= len(c) {
			return
		}
		if k+1 < len(c) && l.served(c[k+1], c[k]) {
			k++
		}
		if !l.served(c[k], c[i]) {
			return
		}
		c[i], c[k] = c[k], c[i]
		i = k
	}
}
