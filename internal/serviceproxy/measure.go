package serviceproxy

import (
	"slices"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/timeseries"
)

// measureEvery is how often it is told what requests came to, unless Config says so.
const measureEvery = 10 * time.Second

// tookMost bounds how many requests of one interval are told apart; of more the last
// count.
const tookMost = 2000

// measured is what the requests of a service came to since it was last asked.
type measured struct {
	mu       sync.Mutex
	requests int
	failed   int       // those that got no answer of a replica, or one of 500 and above
	took     []float64 // seconds until the answer began, what was waited for a replica too
}

// note counts a request.
func (m *measured) note(took time.Duration, failed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.took) < tookMost {
		m.took = append(m.took, took.Seconds())
	} else {
		m.took[m.requests%tookMost] = took.Seconds()
	}
	m.requests++
	if failed {
		m.failed++
	}
}

// points are what came in a length of time, as series of something; it begins anew.
func (m *measured) points(of string, span time.Duration) []timeseries.Point {
	m.mu.Lock()
	requests, failed, took := m.requests, m.failed, m.took
	m.requests, m.failed, m.took = 0, 0, nil
	m.mu.Unlock()
	at := func(metric string, v float64) timeseries.Point {
		return timeseries.Point{Key: timeseries.Key{Of: of, Metric: metric}, Value: v}
	}
	out := []timeseries.Point{at(control.RequestRate, float64(requests)/span.Seconds()), at(control.RequestErrors, float64(failed)/span.Seconds())}
	if len(took) == 0 {
		return out // nobody knows how long one would have taken
	}
	slices.Sort(took)
	return append(out, at(control.RequestMedian, took[len(took)/2]), at(control.RequestP95, took[min(len(took)-1, len(took)*95/100)]))
}

// measure tells now and then what requests came to.
func (b *route) measure() {
	tick := time.NewTicker(b.s.every)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-b.ctx.Done():
			return
		case now := <-tick.C:
			if span := now.Sub(last); span > 0 {
				b.s.control.Series().Add(now, b.measured.points(control.SeriesOfWorkload(b.id), span)...)
			}
			last = now
		}
	}
}
