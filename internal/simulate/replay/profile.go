package replay

import (
	"iter"
	"slices"
)

// step is how many GPUs of a node are free from an instant on.
type step struct {
	from int64
	free int
}

// profile is the free GPUs of one node over time; the last step is for ever.
type profile []step

// forget drops what lies before an instant.
func (p *profile) forget(now int64) {
	n := 0
	for n+1 < len(*p) && (*p)[n+1].from <= now {
		n++
	}
	if n > 0 {
		*p = slices.Delete(*p, 0, n)
	}
}

// find returns the step in force at an instant not before the first.
func (p profile) find(at int64) int {
	i, found := slices.BinarySearchFunc(p, at, func(s step, t int64) int {
		if s.from < t {
			return -1
		} else if s.from > t {
			return 1
		}
		return 0
	})
	if !found {
		i--
	}
	return i
}

// gaps yields the longest spans, from now on, with so many GPUs free, in
// order. An end of -1 is never.
func (p profile) gaps(now int64, gpus int) iter.Seq2[int64, int64] {
	return func(yield func(from, to int64) bool) {
		open := int64(-1)
		for _, s := range p {
			if s.free >= gpus && open < 0 {
				open = max(s.from, now)
			} else if s.free < gpus && open >= 0 {
				if !yield(open, s.from) {
					return
				}
				open = -1
			}
		}
		if open >= 0 {
			yield(open, -1)
		}
	}
}

// least is the smallest number of free GPUs in [from, to).
func (p profile) least(from, to int64) int {
	i := p.find(from)
	low := p[i].free
	for i++; i < len(p) && p[i].from < to; i++ {
		low = min(low, p[i].free)
	}
	return low
}

// take books GPUs in [from, to).
func (p *profile) take(from, to int64, gpus int) {
	first, last := p.cut(from), p.cut(to)
	for i := first; i < last; i++ {
		(*p)[i].free -= gpus
	}
	p.join(last)
	p.join(first)
}

// cut makes a step begin at an instant and returns its place.
func (p *profile) cut(at int64) int {
	i := p.find(at)
	if (*p)[i].from == at {
		return i
	}
	*p = slices.Insert(*p, i+1, step{at, (*p)[i].free})
	return i + 1
}

// join drops a step that changes nothing.
func (p *profile) join(i int) {
	if i > 0 && i < len(*p) && (*p)[i].free == (*p)[i-1].free {
		*p = slices.Delete(*p, i, i+1)
	}
}
