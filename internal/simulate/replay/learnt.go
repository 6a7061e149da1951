package replay

import (
	"cmp"
	"container/heap"
)

// shortest starts, of the jobs that fit, the one that others of its kind say is
// the shortest, by time or by GPU-time; it displaces nobody.
type shortest struct {
	area    bool // by GPU-time: quasi-shortest service first
	guess   *Learnt
	waiting map[int]*guessed // by GPUs
}

type guessed []guess

type guess struct {
	key int64
	id  int
}

func (g guessed) Len() int      { return len(g) }
func (g guessed) Swap(i, j int) { g[i], g[j] = g[j], g[i] }
func (g guessed) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(g[i].key, g[j].key), cmp.Compare(g[i].id, g[j].id)) < 0
}
func (g *guessed) Push(x any) { *g = append(*g, x.(guess)) }
func (g *guessed) Pop() any {
	last := (*g)[len(*g)-1]
	*g = (*g)[:len(*g)-1]
	return last
}

func (p *shortest) Begin(*Engine)         { p.guess, p.waiting = NewLearnt(), map[int]*guessed{} }
func (p *shortest) End(e *Engine, id int) { p.guess.Learn(e.Jobs[id]) }

func (p *shortest) Arrive(e *Engine, id int) {
	gpus := e.Jobs[id].GPUs
	key := p.guess.Estimate(e.Jobs[id])
	if p.area {
		key *= int64(gpus)
	}
	if p.waiting[gpus] == nil {
		p.waiting[gpus] = &guessed{}
	}
	heap.Push(p.waiting[gpus], guess{key, id})
}

func (p *shortest) Pass(e *Engine) {
	for {
		var best *guessed
		for gpus, g := range p.waiting {
			if len(*g) > 0 && e.Fits(gpus) && (best == nil || cmp.Or(cmp.Compare((*g)[0].key, (*best)[0].key), cmp.Compare((*g)[0].id, (*best)[0].id)) < 0) {
				best = g
			}
		}
		if best == nil {
			return
		}
		e.Start(heap.Pop(best).(guess).id)
	}
}
