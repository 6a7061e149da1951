package explanation

import (
	"hash/fnv"
	"math"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lengths"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/forecast"
	"github.com/musterhq/muster/internal/engine/estimate"
)

// drawCount is how many courses of things an estimate looks at.
const drawCount = 24

// draws are courses that things may take. Each job has a length of every
// stratum of its likes once, in an order of its own that only its ID decides: so
// few draws tell much, and whoever asks is told of the same courses.
func (s *Study) draws(now int64, spans map[core.WorkloadID]forecast.Span) []forecast.Draw {
	out := make([]forecast.Draw, drawCount)
	for k := range out {
		out[k] = make(forecast.Draw, len(spans))
	}
	for i := range s.copy.Jobs {
		j := &s.copy.Jobs[i]
		w, span := s.live[j.ID], spans[j.ID]
		if w == nil || span == (forecast.Span{}) {
			continue
		}
		one := lengthsOf(s.in, w, j, now, span)
		for k, n := range shuffled(j.ID) {
			out[k][j.ID] = one((float64(n) + .5) / drawCount)
		}
	}
	return out
}

// shuffled are the strata in an order that only an ID decides.
func shuffled(id core.WorkloadID) [drawCount]int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id))
	x := h.Sum64() | 1
	var out [drawCount]int
	for i := range out {
		out[i] = i
	}
	for i := drawCount - 1; i > 0; i-- {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		k := int(x % uint64(i+1))
		out[i], out[k] = out[k], out[i]
	}
	return out
}

// lengthsOf returns, for a part of one, by when so great a part of w's likes has
// ended: an instant if w runs, else a length. span is what is known of it at all.
func lengthsOf(in *estimate.Learnt, w *core.Workload, j *schedule.Job, now int64, span forecast.Span) func(float64) int64 {
	from, passed := int64(0), int64(0)
	if len(j.Held) > 0 {
		if from = j.Started; from == 0 {
			from = now
		}
		passed = max(now-from, 0)
	}
	limit := j.MaxRun
	if from > 0 && j.EndsBy > 0 {
		limit = max(j.EndsBy-from, 1)
	}
	all := in.Lengths.Likes(w, passed)
	if len(all) > 0 && w.Phase != lifecycle.Terminating { // else it is told to leave
		return func(q float64) int64 {
			ms := smooth(all, passed, q)
			if limit > 0 {
				ms = min(ms, limit)
			}
			return max(from+ms, from+1)
		}
	}
	return func(q float64) int64 { return between(span, max(now*int64(core.Bit(from > 0)), 1), q) }
}

// between is a quantile of what only a span is known of.
func between(span forecast.Span, least int64, q float64) int64 {
	line := func(a, b int64, part float64) int64 { return a + int64(part*float64(b-a)) }
	switch {
	case q <= .1:
		return max(line(min(least, span.Early), span.Early, q/.1), 1)
	case q <= .5:
		return line(span.Early, span.Likely, (q-.1)/.4)
	case q <= .9:
		return line(span.Likely, span.Late, (q-.5)/.4)
	default:
		return span.Late
	}
}

// smooth is a quantile of lengths that were all longer than passed, the shortest
// first. Between two that were seen it is between them, and beyond the last it
// goes on as they went: who has seen nine knows little of one in a hundred.
func smooth(sorted []lengths.Length, passed int64, q float64) int64 {
	// The product limit, and of each that ended how great a part was over by then.
	var xs []float64
	var qs []float64
	left := 1.0
	for i, x := range sorted {
		if x.Cut {
			continue
		}
		before := left
		left *= 1 - 1/float64(len(sorted)-i+1) // n of n+1: the next may be longer than all
		xs, qs = append(xs, math.Log(float64(max(x.Ms, 1)))), append(qs, 1-(before+left)/2)
	}
	mean, dev := 0.0, 0.0
	for _, x := range xs {
		mean += x / float64(len(xs))
	}
	for _, x := range xs {
		dev += (x - mean) * (x - mean)
	}
	dev = math.Sqrt(dev / math.Max(float64(len(xs)-1), 1))
	if len(xs) < 2 {
		dev = .5
	}
	first := math.Log(float64(max(passed, 1)))
	if passed == 0 {
		first = xs[0] - dev
	}
	last := len(xs) - 1
	var at float64
	switch {
	case q <= qs[0]:
		at = first + (xs[0]-first)*q/qs[0]
	case q >= qs[last]: // half of what is left beyond it goes on by half a deviation, and so on
		at = xs[last] + dev/2*math.Log2((1-qs[last])/(1-q))
	default:
		for i := range last {
			if q <= qs[i+1] {
				at = xs[i] + (xs[i+1]-xs[i])*(q-qs[i])/(qs[i+1]-qs[i])
				break
			}
		}
	}
	return max(int64(math.Exp(at)), passed+1)
}
