package replay

// quota gives each project so many GPUs: within them a job starts at once, if
// need be at the cost of projects above theirs. What is left is for anyone,
// in the order of submission.
type quota struct {
	limits  map[string]int
	restart bool // a victim loses all its work; else the last checkpointSeconds at most

	project []int // by job
	limit   []int // by project
	used    []int
	would   []int // used, as victims are picked
	waiting *queue
	groups  []*queue // waiting, by project
	failed  []bool   // by size: no room, not even by preemption
}

// checkpointSeconds is how much work a preempted job loses at most.
const checkpointSeconds = 60

func (p *quota) Begin(e *Engine) {
	p.waiting = newQueue(e, nil)
	p.failed = make([]bool, len(p.waiting.sizes))
	number := map[string]int{}
	for _, j := range e.Jobs {
		n, ok := number[j.Project]
		if !ok {
			n = len(number)
			number[j.Project] = n
			p.limit = append(p.limit, p.limits[j.Project])
			p.groups = append(p.groups, newQueueLike(p.waiting, len(e.Jobs)))
		}
		p.project = append(p.project, n)
	}
	p.used = make([]int, len(number))
}

func (p *quota) Arrive(_ *Engine, id int) {
	p.waiting.add(id)
	p.groups[p.project[id]].add(id)
}

func (p *quota) End(e *Engine, id int) { p.used[p.project[id]] -= e.Jobs[id].GPUs }

func (p *quota) started(e *Engine, id int) {
	p.waiting.remove(id)
	p.groups[p.project[id]].remove(id)
	p.used[p.project[id]] += e.Jobs[id].GPUs
}

func (p *quota) Pass(e *Engine) {
	clear(p.failed)
	var victims []int
	for id := p.entitled(0); id >= 0; id = p.entitled(id + 1) {
		victims = append(victims, p.try(e, id)...)
	}
	for _, v := range victims {
		p.Arrive(e, v)
	}
	for id := p.waiting.fitting(e); id >= 0; id = p.waiting.fitting(e) {
		e.Start(id)
		p.started(e, id)
	}
}

// entitled returns the first job from an id on that is within its project's
// quota and of a size that has not just failed; -1: none.
func (p *quota) entitled(from int) int {
	best := -1
	for n, q := range p.groups {
		room := p.limit[n] - p.used[n]
		for i, g := range q.sizes {
			if g > room {
				break
			}
			if p.failed[i] {
				continue
			}
			if id := q.sets[i].next(from); id >= 0 && (best < 0 || id < best) {
				best = id
			}
		}
	}
	return best
}

// try starts a job, by preemption if it must, and returns who left.
func (p *quota) try(e *Engine, id int) (victims []int) {
	gpus := e.Jobs[id].GPUs
	if !e.Fits(gpus) {
		victims = e.Victims(gpus, func(yield func(int) bool) { p.above(e, yield) })
		if victims == nil {
			p.failed[p.waiting.sizeOf[id]] = true
			return nil
		}
		clear(p.failed) // more may have become free than was needed
	}
	for _, v := range victims {
		lost := e.Elapsed(v)
		if !p.restart {
			lost = min(lost, checkpointSeconds)
		}
		e.Preempt(v, lost)
		p.used[p.project[v]] -= e.Jobs[v].GPUs
	}
	e.Start(id)
	p.started(e, id)
	return victims
}

// above yields running jobs of projects above their quota, the latest start
// first; a project is spared once those before would bring it down to it.
func (p *quota) above(e *Engine, yield func(int) bool) {
	running := e.Running()
	p.would = append(p.would[:0], p.used...)
	for i := len(running) - 1; i >= 0; i-- {
		n := p.project[running[i]]
		if p.would[n] <= p.limit[n] {
			continue
		}
		p.would[n] -= e.Jobs[running[i]].GPUs
		if !yield(running[i]) {
			return
		}
	}
}
