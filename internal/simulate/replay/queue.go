package replay

import (
	"cmp"
	"slices"
)

// queue holds waiting jobs in a fixed order, apart by size: of jobs of one
// size, if the first does not fit then none does, so a pass need not look at
// each of tens of thousands.
type queue struct {
	sizes  []int // GPUs, ascending
	sizeOf []int // by job: index into sizes
	rankOf []int // by job; nil: the id
	jobOf  []int // by rank; nil: the id
	sets   []*idSet
}

// newQueue returns an empty queue in the order of submission, or in another.
func newQueue(e *Engine, order func(a, b int) int) *queue {
	q := &queue{sizeOf: make([]int, len(e.Jobs))}
	for _, j := range e.Jobs {
		if i, ok := slices.BinarySearch(q.sizes, j.GPUs); !ok {
			q.sizes = slices.Insert(q.sizes, i, j.GPUs)
		}
	}
	for range q.sizes {
		q.sets = append(q.sets, newIDSet(len(e.Jobs)))
	}
	for i, j := range e.Jobs {
		q.sizeOf[i], _ = slices.BinarySearch(q.sizes, j.GPUs)
	}
	if order == nil {
		return q
	}
	q.jobOf, q.rankOf = make([]int, len(e.Jobs)), make([]int, len(e.Jobs))
	for i := range q.jobOf {
		q.jobOf[i] = i
	}
	slices.SortFunc(q.jobOf, func(a, b int) int { return cmp.Or(order(a, b), cmp.Compare(a, b)) })
	for rank, id := range q.jobOf {
		q.rankOf[id] = rank
	}
	return q
}

func (q *queue) rank(id int) int {
	if q.rankOf == nil {
		return id
	}
	return q.rankOf[id]
}

func (q *queue) job(rank int) int {
	if q.jobOf == nil {
		return rank
	}
	return q.jobOf[rank]
}

func (q *queue) add(id int)    { q.sets[q.sizeOf[id]].add(q.rank(id)) }
func (q *queue) remove(id int) { q.sets[q.sizeOf[id]].remove(q.rank(id)) }

// first returns the first waiting job; -1: there is none.
func (q *queue) first() int {
	if rank := q.next(0); rank >= 0 {
		return q.job(rank)
	}
	return -1
}

// walk goes through the queue in order and starts each job that fits.
func (q *queue) walk(e *Engine) {
	for id := q.fitting(e); id >= 0; id = q.fitting(e) {
		q.remove(id)
		e.Start(id)
	}
}

// next returns the least rank in the queue that is at least from; -1: none.
func (q *queue) next(from int) int {
	best := -1
	for _, s := range q.sets {
		if rank := s.next(from); rank >= 0 && (best < 0 || rank < best) {
			best = rank
		}
	}
	return best
}

// fitting returns the first waiting job that fits; -1: none does.
func (q *queue) fitting(e *Engine) int {
	best := -1
	for i, s := range q.sets {
		if !e.Fits(q.sizes[i]) {
			continue
		}
		if rank := s.next(0); rank >= 0 && (best < 0 || rank < best) {
			best = rank
		}
	}
	if best < 0 {
		return -1
	}
	return q.job(best)
}

// newQueueLike returns an empty queue for the same n jobs.
func newQueueLike(q *queue, n int) *queue {
	c := *q
	c.sets = nil
	for range q.sizes {
		c.sets = append(c.sets, newIDSet(n))
	}
	return &c
}
