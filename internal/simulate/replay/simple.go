package replay

import "cmp"

// fifo starts jobs in the order of submission and stops at the first that
// does not fit.
type fifo struct{ waiting *queue }

func (p *fifo) Begin(e *Engine)          { p.waiting = newQueue(e, nil) }
func (p *fifo) Arrive(_ *Engine, id int) { p.waiting.add(id) }

func (p *fifo) Pass(e *Engine) {
	for id := p.waiting.first(); id >= 0 && e.Start(id); id = p.waiting.first() {
		p.waiting.remove(id)
	}
}

// skip starts every job that fits, in order; who does not fit blocks nobody.
type skip struct {
	shortest bool // first, by a duration known in advance; else by submission
	waiting  *queue
}

func (p *skip) Begin(e *Engine) {
	var order func(a, b int) int
	if p.shortest {
		order = func(a, b int) int { return cmp.Compare(e.Jobs[a].Duration, e.Jobs[b].Duration) }
	}
	p.waiting = newQueue(e, order)
}

func (p *skip) Arrive(_ *Engine, id int) { p.waiting.add(id) }
func (p *skip) Pass(e *Engine)           { p.waiting.walk(e) }
