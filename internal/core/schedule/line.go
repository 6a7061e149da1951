package schedule

import "github.com/musterhq/muster/internal/core/quota"

// line is the order in which the jobs of one pool are looked at: a heap of
// queues at every level of the tree, and in each leaf a heap of cursors.
type line struct {
	st    *State
	pool  *pool
	leafs map[int32]*leaf
	heaps map[int32][]int32 // children that have someone to serve, by parent; -1: top level
	at    map[int32]int     // where a queue stands in its parent's heap
}

// leaf is a project with jobs to look at.
type leaf struct{ cursors []*cursor }

// cursor stands on the next job of a lane, or on one job that goes on growing.
type cursor struct {
	lane *lane
	next int
	job  *job // where set: only this one
	need quota.Amounts
}

func (c *cursor) at() *job {
	if c.job != nil {
		return c.job
	}
	return c.lane.jobs[c.next]
}

func (st *State) newLine(p *pool) *line {
	return &line{st: st, pool: p, leafs: map[int32]*leaf{}, heaps: map[int32][]int32{}, at: map[int32]int{}}
}

// served orders the cursors of one queue.
func (l *line) served(a, b *cursor) bool { return l.st.jobOrder(a.at(), b.at()) < 0 }

// add puts a cursor into the line of its queue.
func (l *line) add(c *cursor) {
	q := c.at().leaf
	if q < 0 {
		return
	}
	l.refresh(c)
	lf := l.leafs[q]
	if lf == nil {
		lf = &leaf{}
		l.leafs[q] = lf
	}
	lf.cursors = append(lf.cursors, c)
	lf.up(l, len(lf.cursors)-1)
	l.fix(q)
}

// refresh notes what the cursor's job would get next.
func (l *line) refresh(c *cursor) {
	j := c.at()
	_, tries := l.st.next(j)
	c.need = l.st.cost(j, l.pool, tries)
}

// top is the cursor to serve next, or nil.
func (l *line) top() *cursor {
	q := int32(-1)
	for {
		h := l.heaps[q]
		if len(h) == 0 {
			break
		}
		q = h[0]
	}
	if q < 0 {
		return nil
	}
	return l.leafs[q].cursors[0]
}

// moved puts the top cursor of a queue where it belongs after it was advanced,
// or, with gone, takes it out.
func (l *line) moved(c *cursor, gone bool) {
	q := c.at0()
	lf := l.leafs[q]
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
func (c *cursor) at0() int32 {
	if c.job != nil {
		return c.job.leaf
	}
	return c.lane.jobs[0].leaf
}

// fix restores the order along the path from a queue to the top after what it
// has, or what it would get next, has changed.
func (l *line) fix(q int32) {
	for ; q >= 0; q = l.st.queues.list[q].parent {
		parent := l.st.queues.list[q].parent
		i, in := l.at[q]
		switch want := l.alive(q); {
		case in && !want:
			l.drop(parent, i)
		case in:
			l.down(parent, i)
			l.up(parent, l.at[q])
		case want:
			l.heaps[parent] = append(l.heaps[parent], q)
			l.at[q] = len(l.heaps[parent]) - 1
			l.up(parent, l.at[q])
		}
	}
}

func (l *line) alive(q int32) bool {
	if lf := l.leafs[q]; lf != nil && len(lf.cursors) > 0 {
		return true
	}
	return len(l.heaps[q]) > 0
}

// need is what queue q would get next.
func (l *line) need(q int32) quota.Amounts {
	for {
		if lf := l.leafs[q]; lf != nil && len(lf.cursors) > 0 {
			return lf.cursors[0].need
		}
		h := l.heaps[q]
		if len(h) == 0 {
			return quota.Amounts{}
		}
		q = h[0]
	}
}

func (l *line) less(a, b int32) bool { return l.st.before(l.pool, a, b, l.need(a), l.need(b)) < 0 }

func (l *line) swap(parent int32, i, k int) {
	h := l.heaps[parent]
	h[i], h[k] = h[k], h[i]
	l.at[h[i]], l.at[h[k]] = i, k
}

func (l *line) up(parent int32, i int) {
	for i > 0 {
		p := (i - 1) / 2
		if !l.less(l.heaps[parent][i], l.heaps[parent][p]) {
			return
		}
		l.swap(parent, i, p)
		i = p
	}
}

func (l *line) down(parent int32, i int) {
	for {
		h, c := l.heaps[parent], 2*i+1
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

func (l *line) drop(parent int32, i int) {
	h := l.heaps[parent]
	last := len(h) - 1
	delete(l.at, h[i])
	if i != last {
		h[i] = h[last]
		l.at[h[i]] = i
	}
	l.heaps[parent] = h[:last]
	if i < last {
		l.down(parent, i)
		l.up(parent, l.at[l.heaps[parent][i]])
	}
}

func (lf *leaf) up(l *line, i int) {
	for c := lf.cursors; i > 0; {
		p := (i - 1) / 2
		if !l.served(c[i], c[p]) {
			return
		}
		c[i], c[p] = c[p], c[i]
		i = p
	}
}

func (lf *leaf) down(l *line, i int) {
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
