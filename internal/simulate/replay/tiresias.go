package replay

// tiresias is least attained service in several classes: a job sinks by one each
// time that what it has held passes the next limit, ten times the one before.
// Jobs of a higher class displace those of lower ones; within a class the first
// submitted is first.
type tiresias struct {
	levels     int
	checkpoint int64 // seconds of work that a job loses that has to leave; negative: all
	waiting    []*queue
	running    []*idSet
	level      []int
	held       []int64 // GPU-seconds in earlier runs
	candidates []int
}

func (p *tiresias) Begin(e *Engine) {
	for range p.levels {
		p.waiting = append(p.waiting, newQueue(e, nil))
		p.running = append(p.running, newIDSet(len(e.Jobs)))
	}
	p.level, p.held = make([]int, len(e.Jobs)), make([]int64, len(e.Jobs))
}

func (p *tiresias) Arrive(_ *Engine, id int) { p.waiting[0].add(id) }
func (p *tiresias) End(_ *Engine, id int)    { p.running[p.level[id]].remove(id) }

// Alarm comes when a running job passes the limit of its class.
func (p *tiresias) Alarm(e *Engine, id int) {
	p.running[p.level[id]].remove(id)
	p.level[id]++
	p.running[p.level[id]].add(id)
	p.watch(e, id)
}

// watch sets the alarm for a running job that may still sink.
func (p *tiresias) watch(e *Engine, id int) {
	if p.level[id] == p.levels-1 {
		return
	}
	limit, gpus := int64(lasThreshold), int64(e.Jobs[id].GPUs)
	for range p.level[id] {
		limit *= 10
	}
	left := limit - p.held[id] - e.Elapsed(id)*gpus
	e.SetAlarm(id, e.Now()+max((left+gpus-1)/gpus, 1))
}

func (p *tiresias) Pass(e *Engine) {
	for level, q := range p.waiting {
		failed := map[int]bool{} // sizes for which nobody can be found
		for id := q.next(0); id >= 0; id = q.next(id + 1) {
			gpus := e.Jobs[id].GPUs
			if failed[gpus] {
				continue
			}
			if !e.Fits(gpus) {
				victims := e.Victims(gpus, p.below(level))
				if victims == nil {
					failed[gpus] = true
					continue
				}
				for _, v := range victims {
					p.displace(e, v)
				}
			}
			q.remove(id)
			e.Start(id)
			p.running[level].add(id)
			p.watch(e, id)
		}
	}
}

func (p *tiresias) displace(e *Engine, id int) {
	had := e.Elapsed(id)
	lost := had
	if p.checkpoint >= 0 {
		lost = min(had, p.checkpoint)
	}
	p.held[id] += had * int64(e.Jobs[id].GPUs)
	e.Preempt(id, lost)
	p.running[p.level[id]].remove(id)
	p.waiting[p.level[id]].add(id)
}

// below yields running jobs of lower classes, of the lowest first, the last
// submitted first.
func (p *tiresias) below(level int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for k := p.levels - 1; k > level; k-- {
			p.candidates = p.candidates[:0]
			for id := p.running[k].next(0); id >= 0; id = p.running[k].next(id + 1) {
				p.candidates = append(p.candidates, id)
			}
			for i := len(p.candidates) - 1; i >= 0; i-- {
				if !yield(p.candidates[i]) {
					return
				}
			}
		}
	}
}
