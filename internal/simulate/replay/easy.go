package replay

import (
	"cmp"
	"math"
	"slices"
)

// easy is strict submission order with a reservation for the first job that
// does not fit; others may pass it if, by the estimates, they are gone when
// its turn comes or leave it its place.
type easy struct {
	guess    Estimator
	estimate []int64 // by job
	waiting  *queue
	trees    []*minTree // by size, over ids: the estimate of each waiting job
	due      []entry    // running jobs by (expected end, id)
	shadow   nodes      // free when the head starts, less the head's place
	least    nodes      // min(free now, shadow), node by node
}

func (p *easy) Begin(e *Engine) {
	p.estimate = make([]int64, len(e.Jobs))
	p.waiting = newQueue(e, nil)
	for range p.waiting.sizes {
		p.trees = append(p.trees, newMinTree(len(e.Jobs)))
	}
}

func (p *easy) Arrive(e *Engine, id int) {
	p.estimate[id] = p.guess.Estimate(e.Jobs[id])
	p.waiting.add(id)
	p.trees[p.waiting.sizeOf[id]].set(id, p.estimate[id])
}

func (p *easy) End(e *Engine, id int) {
	p.due = slices.DeleteFunc(p.due, func(d entry) bool { return d.id == id })
	p.guess.Learn(e.Jobs[id])
}

// started books a job that has just been started.
func (p *easy) started(e *Engine, id int) {
	p.waiting.remove(id)
	p.trees[p.waiting.sizeOf[id]].set(id, math.MaxInt64)
	p.expect(entry{at: e.Now() + p.estimate[id], id: id})
}

func (p *easy) expect(d entry) {
	i, _ := slices.BinarySearchFunc(p.due, d, func(a, b entry) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.id, b.id)) })
	p.due = slices.Insert(p.due, i, d)
}

func (p *easy) Pass(e *Engine) {
	p.extend(e)
	head := p.waiting.first()
	for ; head >= 0 && e.Start(head); head = p.waiting.first() {
		p.started(e, head)
	}
	if head < 0 || e.nodes.total == 0 {
		return
	}
	by := p.reserve(e, e.Jobs[head].GPUs)
	for id := p.candidate(e, head+1, by); id >= 0; id = p.candidate(e, id+1, by) {
		p.backfill(e, id, by)
	}
}

// extend doubles the estimates of jobs that should be gone but are not.
func (p *easy) extend(e *Engine) {
	for len(p.due) > 0 && p.due[0].at <= e.Now() {
		d := p.due[0]
		p.due = slices.Delete(p.due, 0, 1)
		begun := e.Now() - e.Elapsed(d.id)
		for d.at <= e.Now() {
			d.at = begun + 2*(d.at-begun)
		}
		p.expect(d)
	}
}

// reserve sets shadow, and returns when the head can start.
func (p *easy) reserve(e *Engine, gpus int) (by int64) {
	p.shadow.copyFrom(&e.nodes)
	for i := 0; i < len(p.due) && !p.shadow.fits(gpus); {
		by = p.due[i].at
		for ; i < len(p.due) && p.due[i].at == by; i++ {
			p.shadow.give(e.at[p.due[i].id].parts)
		}
	}
	p.shadow.take(p.shadow.place(gpus))
	p.setLeast(e)
	return by
}

func (p *easy) setLeast(e *Engine) {
	p.least.copyFrom(&e.nodes)
	for i, f := range p.shadow.free {
		if f < p.least.free[i] {
			p.least.set(i, f)
		}
	}
}

// candidate returns the first job from an id on that can be started without
// delaying the head; -1: none.
func (p *easy) candidate(e *Engine, from int, by int64) int {
	best := -1
	for i, g := range p.waiting.sizes {
		if !e.Fits(g) {
			continue
		}
		id := -1
		if p.least.fits(g) {
			id = p.waiting.sets[i].next(from)
		} else {
			id = p.trees[i].next(from, by-e.Now())
		}
		if id >= 0 && (best < 0 || id < best) {
			best = id
		}
	}
	return best
}

func (p *easy) backfill(e *Engine, id int, by int64) {
	if e.Now()+p.estimate[id] <= by {
		e.Start(id)
	} else {
		parts := p.least.place(e.Jobs[id].GPUs)
		e.StartOn(id, parts)
		p.shadow.take(parts)
	}
	p.started(e, id)
	p.setLeast(e)
}
