package serviceproxy

import (
	"fmt"
	"time"

	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/submission"
)

const (
	scaleEvery   = 500 * time.Millisecond
	scaleDownFor = time.Minute
)

// autoscale follows the requests with the number of replicas.
func (b *route) autoscale() {
	tick := time.NewTicker(scaleEvery)
	defer tick.Stop()
	var w window
	for {
		select {
		case <-b.ctx.Done():
			return
		case now := <-tick.C:
			b.mu.Lock()
			a, wanted, load := b.doc.Autoscale, b.wanted, b.peak
			b.peak = b.inflight
			b.mu.Unlock()
			if a == nil {
				w = window{}
				continue
			}
			if n := w.want(now, a, wanted, load); n != wanted {
				b.s.send(b.ctx, submission.Scale(submission.ScaleRequest{
					Ref: draft.Ref{ID: b.id}, Replicas: n, Actor: "autoscaler", Auto: true,
					Message: fmt.Sprintf("%d requests at once, %d for each replica", load, a.Concurrency),
				}))
			}
		}
	}
}

// window remembers how many replicas were needed lately: up at once, down only
// when fewer would have done for the whole of scaleDown (Knative's stable window).
type window struct {
	needs []need
}

type need struct {
	at time.Time
	n  int
}

// want is how many replicas there should be. load is how many requests were
// under way at once.
func (w *window) want(now time.Time, a *spec.Autoscale, have, load int) int {
	n := (load + a.Concurrency - 1) / a.Concurrency
	n = min(max(n, a.Min), a.Max)
	span := time.Duration(a.ScaleDown)
	if span <= 0 {
		span = scaleDownFor
	}
	if len(w.needs) == 0 { // what there is was needed until now
		w.needs = append(w.needs, need{now, min(max(have, a.Min), a.Max)})
	}
	w.needs = append(w.needs, need{now, n})
	for len(w.needs) > 1 && now.Sub(w.needs[0].at) > span {
		w.needs = w.needs[1:]
	}
	for _, x := range w.needs {
		n = max(n, x.n)
	}
	return n
}
