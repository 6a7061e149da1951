package replay

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
)

// srtf runs the jobs with the least time left. It counts GPUs only and
// preempts and moves for free: a bound to look up to, not something to run.
type srtf struct {
	sizes   *queue   // only for the sizes
	waiting []agenda // by size; at is the time left
	running []entry  // by (end, id): the same order as by (time left, id)
	out, in []entry
}

func (p *srtf) Begin(e *Engine) {
	p.sizes = newQueue(e, nil)
	p.waiting = make([]agenda, len(p.sizes.sizes))
}

func (p *srtf) Arrive(e *Engine, id int) {
	heap.Push(&p.waiting[p.sizes.sizeOf[id]], entry{at: e.Left(id), id: id})
}

func (p *srtf) End(_ *Engine, id int) {
	p.running = slices.DeleteFunc(p.running, func(r entry) bool { return r.id == id })
}

func (p *srtf) Pass(e *Engine) {
	free := e.Cluster.GPUs()
	keep := p.running[:0]
	p.out, p.in = p.out[:0], p.in[:0]
	first := p.first()
	for _, r := range p.running {
		if left := (entry{at: r.at - e.Now(), id: r.id}); before(first, left) {
			free = p.admit(e, free, left)
			first = p.first()
		}
		if g := e.Jobs[r.id].GPUs; g <= free {
			keep = append(keep, r)
			free -= g
		} else {
			p.out = append(p.out, r)
		}
	}
	p.admit(e, free, never)
	p.running = keep
	for _, r := range p.out {
		e.Preempt(r.id, 0)
		p.Arrive(e, r.id)
	}
	for _, w := range p.in {
		e.StartOn(w.id, nil)
		p.running = append(p.running, entry{at: e.Now() + w.at, id: w.id})
	}
	if len(p.in) > 0 {
		slices.SortFunc(p.running, func(a, b entry) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.id, b.id)) })
	}
}

// never comes after every job.
var never = entry{at: math.MaxInt64}

// first is the waiting job with the least time left, whether it fits or not.
func (p *srtf) first() entry {
	best := never
	for _, w := range p.waiting {
		if len(w) > 0 && before(w[0], best) {
			best = w[0]
		}
	}
	return best
}

// admit takes waiting jobs that come before limit while they fit, and returns
// how many GPUs are then free.
func (p *srtf) admit(e *Engine, free int, limit entry) int {
	for {
		best := -1
		for i, w := range p.waiting {
			if p.sizes.sizes[i] > free || len(w) == 0 || !before(w[0], limit) {
				continue
			}
			if best < 0 || before(w[0], p.waiting[best][0]) {
				best = i
			}
		}
		if best < 0 {
			return free
		}
		w := heap.Pop(&p.waiting[best]).(entry)
		p.in = append(p.in, w)
		free -= e.Jobs[w.id].GPUs
	}
}

func before(a, b entry) bool { return a.at < b.at || a.at == b.at && a.id < b.id }
