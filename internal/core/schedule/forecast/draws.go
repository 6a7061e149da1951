package forecast

import (
	"math"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule/state"
)

// Draw is one course that things may take: when each job that runs ends (unix
// ms), and for how long (ms) each that waits runs; absent: nobody knows.
type Draw map[core.WorkloadID]int64

// Quantiles that Early and Late of a forecast from draws are.
const earlyPart, latePart = .05, .95

// drawLooks bounds what all draws together cost, as forecastLooks does one.
const drawLooks = 2 * forecastLooks

// drawsLeast is of how many courses at least a range is made.
const drawsLeast = 5

// Refine runs the forecast of job id through draws, which tell more than its
// three courses do, in which all ends quickly, or all slowly: of many jobs some
// end quickly and some slowly, and it is far more certain when the first, or the
// fifth, of them ends. The range of f is then from the earliest twentieth of the
// starts to the latest, and the likely starts are their medians.
func Refine(c *state.Copy, f *Forecast, id core.WorkloadID, draws []Draw) {
	if f.Simple || f.Relieved || f.Likely == 0 || f.Late == 0 {
		return // what is not known of the three is not known of more
	}
	starts := map[core.WorkloadID][]int64{}
	looks := 0
	for _, d := range draws {
		spans := make(map[core.WorkloadID]Span, len(d))
		for k, v := range d {
			spans[k] = Span{Likely: v}
		}
		x := newFuture(c, id, spans, func(s Span) int64 { return s.Likely })
		if at := x.run(); at == 0 {
			x.starts[id] = math.MaxInt64 // later than can be told
		}
		for k, at := range x.starts {
			starts[k] = append(starts[k], at)
		}
		if looks += x.looks; looks > drawLooks {
			break
		}
	}
	mine := starts[id]
	slices.Sort(mine)
	early, likely, late := partOf(mine, earlyPart), partOf(mine, .5), partOf(mine, latePart)
	if late == math.MaxInt64 { // keep what is known of the slow course
		late = max(f.Late, mine[0])
	}
	if likely == math.MaxInt64 {
		return
	}
	f.Span = Span{early, likely, max(late, likely)}
	for k, all := range starts {
		if k == id || 2*len(all) <= len(mine) { // in most of them it does not come first
			delete(f.Starts, k)
			continue
		}
		slices.Sort(all)
		f.Starts[k] = min(all[len(all)/2], likely)
	}
	f.Starts[id] = likely
}

// partOf is a quantile of sorted instants, of which MaxInt64 is later than can be
// told.
func partOf(sorted []int64, q float64) int64 {
	pos := q * float64(len(sorted)-1)
	low := int(pos)
	if low+1 >= len(sorted) || sorted[low+1] == math.MaxInt64 {
		if pos > float64(low) {
			low++
		}
		return sorted[min(low, len(sorted)-1)]
	}
	return sorted[low] + int64((pos-float64(low))*float64(sorted[low+1]-sorted[low]))
}

// OfAll is when each job that waits starts, from the same courses of things as
// Through for one of them; those of whom nothing can be told are absent. It is
// empty where there is too much to simulate.
func OfAll(c *state.Copy, draws []Draw) map[core.WorkloadID]Span {
	out := map[core.WorkloadID]Span{}
	if TooMany(len(c.Jobs)) {
		return out
	}
	starts := map[core.WorkloadID][]int64{}
	relieved := map[core.WorkloadID]int{} // in how many: of these only the latest start is known
	looks, n := 0, 0
	for _, d := range draws {
		spans := make(map[core.WorkloadID]Span, len(d))
		for k, v := range d {
			spans[k] = Span{Likely: v}
		}
		x := newFuture(c, "", spans, func(s Span) int64 { return s.Likely })
		x.run()
		for k, at := range x.starts {
			starts[k] = append(starts[k], at)
		}
		for _, k := range x.relieved {
			relieved[k]++
		}
		n++
		if looks += x.looks; looks > drawLooks {
			break
		}
	}
	if n < drawsLeast && n < len(draws) {
		return out
	}
	for k, all := range starts {
		if 2*len(all) <= n || 2*relieved[k] >= n {
			continue
		}
		for len(all) < n {
			all = append(all, math.MaxInt64)
		}
		slices.Sort(all)
		s := Span{partOf(all, earlyPart), partOf(all, .5), partOf(all, latePart)}
		if s.Likely == math.MaxInt64 {
			continue
		}
		if s.Late == math.MaxInt64 { // in some it is later than can be told
			s.Late = 0
			for i := 3 * len(all) / 4; i < len(all) && all[i] < math.MaxInt64; i++ {
				s.Late = all[i]
			}
		}
		out[k] = s
	}
	return out
}
