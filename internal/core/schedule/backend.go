package schedule

// A pool may have nodes of several backends. A gang never spans two: its tasks
// could not reach one another, and nobody could start them together.

// split makes the parts of a pool, one for each backend, if there are several.
func (p *pool) split() {
	p.parts = nil
	byBackend := map[string]*subset{}
	for _, s := range p.sites {
		part := byBackend[s.node.Backend]
		if part == nil {
			part = &subset{pool: p, ranks: map[*ask]*ranking{}}
			byBackend[s.node.Backend] = part
		}
		part.sites = append(part.sites, s)
		s.part = part
	}
	if len(byBackend) < 2 {
		for _, s := range p.sites {
			s.part = nil
		}
		return
	}
	for _, name := range sortedKeys(byBackend) {
		p.parts = append(p.parts, byBackend[name])
	}
}

// partsFor are the parts of p that j may use.
func (p *pool) partsFor(j *job) []*subset {
	if len(p.parts) == 0 {
		return []*subset{p.whole}
	}
	for _, h := range j.holds {
		if h.site.pool == p && h.site.part != nil {
			return []*subset{h.site.part}
		}
	}
	return p.parts
}

// home is the pool in which j holds something, be it since this cycle, or nil.
func (j *job) home() *pool {
	for _, h := range j.holds {
		if !h.leaving || h.job.pool != nil {
			return h.site.pool
		}
	}
	return nil
}
