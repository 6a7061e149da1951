package fakebackend

import (
	"context"

	"github.com/musterhq/muster/internal/backend"
)

// Uses says what Sample answers from now on: of tasks, only of those that are
// here and have not ended.
func (p *Backend) Uses(r backend.Reading) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reading = r
}

// Sample implements backend.Sampler.
func (p *Backend) Sample(ctx context.Context) (backend.Reading, error) {
	seen, err := p.Observe(ctx)
	if err != nil {
		return backend.Reading{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.reading
	r.Tasks = nil
	for _, s := range p.reading.Tasks {
		for _, o := range seen {
			if o.ID == s.Task && !o.State.Ended() {
				r.Tasks = append(r.Tasks, s)
			}
		}
	}
	return r, nil
}
