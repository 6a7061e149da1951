package state

// A pool may have nodes of several backends. A gang never spans two: its tasks
// could not reach one another, and nobody could start them together.

// split makes the parts of a pool, one for each backend, if there are several.
func (p *Pool) split() {
	p.Parts = nil
	byBackend := map[string]*Subset{}
	for _, s := range p.Sites {
		part := byBackend[s.Node.Backend]
		if part == nil {
			part = &Subset{Pool: p, Ranks: map[*Ask]*Ranking{}}
			byBackend[s.Node.Backend] = part
		}
		part.Sites = append(part.Sites, s)
		s.part = part
	}
	if len(byBackend) < 2 {
		for _, s := range p.Sites {
			s.part = nil
		}
		return
	}
	for _, name := range SortedKeys(byBackend) {
		p.Parts = append(p.Parts, byBackend[name])
	}
}

// PartsFor are the parts of p that j may use.
func (p *Pool) PartsFor(j *Job) []*Subset {
	if len(p.Parts) == 0 {
		return []*Subset{p.Whole}
	}
	for _, h := range j.Holds {
		if h.Site.Pool == p && h.Site.part != nil {
			return []*Subset{h.Site.part}
		}
	}
	return p.Parts
}

// Home is the pool in which j holds something, be it since this cycle, or nil.
func (j *Job) Home() *Pool {
	for _, h := range j.Holds {
		if !h.Leaving || h.Job.Pool != nil {
			return h.Site.Pool
		}
	}
	return nil
}
