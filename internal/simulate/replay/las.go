package replay

// A job that has held so many GPU-seconds makes way for new ones, and a
// preemption costs it so many seconds.
const (
	lasThreshold = 3600
	lasOverhead  = 60
)

// las is least attained service in two classes: jobs are high until they have
// held an hour of one GPU, then low for good. High jobs preempt low ones.
type las struct {
	high, low  *queue
	lowRunning *idSet
	isLow      []bool
	candidates []int
}

func (p *las) Begin(e *Engine) {
	p.high, p.low = newQueue(e, nil), newQueue(e, nil)
	p.lowRunning = newIDSet(len(e.Jobs))
	p.isLow = make([]bool, len(e.Jobs))
}

func (p *las) Arrive(_ *Engine, id int) { p.high.add(id) }
func (p *las) End(_ *Engine, id int)    { p.lowRunning.remove(id) }

func (p *las) Alarm(_ *Engine, id int) {
	p.isLow[id] = true
	p.lowRunning.add(id)
}

func (p *las) Pass(e *Engine) {
	for rank := p.high.next(0); rank >= 0; rank = p.high.next(rank + 1) {
		p.tryHigh(e, rank)
	}
	for {
		id := p.low.fitting(e)
		if id < 0 {
			return
		}
		p.low.remove(id)
		p.lowRunning.add(id)
		e.Start(id)
	}
}

func (p *las) tryHigh(e *Engine, id int) {
	gpus := e.Jobs[id].GPUs
	if !e.Fits(gpus) {
		victims := e.Victims(gpus, p.lowByYouth)
		if victims == nil {
			return
		}
		for _, v := range victims {
			e.Preempt(v, lasOverhead)
			p.lowRunning.remove(v)
			p.low.add(v)
		}
	}
	e.Start(id)
	p.high.remove(id)
	e.SetAlarm(id, e.Now()+int64((lasThreshold+gpus-1)/gpus))
}

// lowByYouth yields the low running jobs, highest id first.
func (p *las) lowByYouth(yield func(int) bool) {
	p.candidates = p.candidates[:0]
	for id := p.lowRunning.next(0); id >= 0; id = p.lowRunning.next(id + 1) {
		p.candidates = append(p.candidates, id)
	}
	for i := len(p.candidates) - 1; i >= 0; i-- {
		if !yield(p.candidates[i]) {
			return
		}
	}
}
