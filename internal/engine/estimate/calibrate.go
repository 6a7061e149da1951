package estimate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/schedule/forecast"
)

// Estimates are corrected by how far off earlier ones of the same class of
// workload were (split conformal prediction). A miss is measured on the scale of
// the range that was worked out: 0 is the likely start, 1 the late end, -1 the
// early one, all of logarithms of waits. Of the past misses the shortest stretch
// is sought that has nine in ten of them, recent ones counting for more, and the
// range is stretched, shrunk and shifted to it.

const (
	missesKept = 200  // of a class
	coverage   = .89  // of the misses that a range is made for
	lateMost   = .07  // of the misses, how many may be later than it
	fade       = .985 // what a miss counts for against the next
	// What is supposed of misses before any has been seen counts for so many, and
	// is so much wider than the range that was worked out.
	supposed, supposedOf, supposedWide = 15.0, 41, 1.05
	// offset, in ms, is added to waits before their logarithms are taken: seconds
	// do not matter.
	offset = 15_000
	// scaleLeast bounds the scale of a range that is a point.
	scaleLeast = .02
)

// likeness is a class of workloads whose misses are alike, and what all of them
// together count for at most.
type likeness struct {
	key  string
	most float64
}

// Likenesses are the classes of a workload that waits, the narrowest first. Who
// has its place already is no measure for those who have none.
func Likenesses(w *core.Workload, promised bool) []likeness {
	head := fmt.Sprintf("%v", promised)
	mid := fmt.Sprintf("%s|%d", head, int(w.Spec.Priority))
	return []likeness{
		{fmt.Sprintf("%s|%s|%d", mid, w.Project, w.Spec.TotalGPUs()), math.MaxInt32},
		{mid, 20},
		{head, 10},
	}
}

// misses are the last misses of each class, the oldest first.
type misses map[string][]float64

func (m misses) add(classes []likeness, miss float64) {
	for _, c := range classes {
		all := append(m[c.key], miss)
		m[c.key] = all[max(0, len(all)-missesKept):]
	}
}

// scale is a raw range, as waits, on whose scale misses are measured.
type scale struct{ likely, down, up float64 }

func scaleOf(now int64, s forecast.Span) scale {
	wait := func(at int64) float64 { return math.Log(float64(max(at-now, 0) + offset)) }
	l := wait(s.Likely)
	return scale{l, math.Max(l-wait(s.Early), scaleLeast), math.Max(wait(s.Late)-l, scaleLeast)}
}

// miss is how far off an instant is.
func (c scale) miss(now, at int64) float64 {
	d := math.Log(float64(max(at-now, 0)+offset)) - c.likely
	if d < 0 {
		return d / c.down
	}
	return d / c.up
}

// at is the instant that is so far off.
func (c scale) at(now int64, miss float64) int64 {
	d := miss * c.up
	if miss < 0 {
		d = miss * c.down
	}
	return now + max(int64(math.Exp(c.likely+d))-offset, 1)
}

// weighed is a miss and what it counts for.
type weighed struct{ miss, weight float64 }

// of are the misses to go by, the least first: what is supposed before anything
// has been seen, and what has, the misses of wider classes counting for little.
// overdue are misses of who has not started yet and is late already.
func (m misses) of(classes []likeness, overdue misses) (sorted []weighed, sum float64) {
	for i := range supposedOf { // of a normal distribution of which nine in ten are in the range, a little wider
		q := (float64(i) + .5) / supposedOf
		sorted = append(sorted, weighed{supposedWide * math.Sqrt2 * math.Erfinv(2*q-1) / 1.645, supposed / supposedOf})
	}
	for _, c := range classes {
		all := m[c.key]
		weight, total := 1.0, 0.0
		from := len(sorted)
		for _, x := range overdue[c.key] {
			sorted = append(sorted, weighed{x, 1})
			total++
		}
		for i := range all {
			sorted = append(sorted, weighed{all[len(all)-1-i], weight})
			total += weight
			weight *= fade
		}
		if total > c.most {
			for i := from; i < len(sorted); i++ {
				sorted[i].weight *= c.most / total
			}
		}
	}
	slices.SortFunc(sorted, func(a, b weighed) int { return cmp.Compare(a.miss, b.miss) })
	for _, x := range sorted {
		sum += x.weight
	}
	return sorted, sum
}

// correct returns a raw range as the misses of its class have it.
func (m misses) correct(classes []likeness, overdue misses, now int64, raw forecast.Span) forecast.Span {
	if raw.Early == 0 || raw.Likely == 0 || raw.Late == 0 {
		return raw
	}
	sorted, sum := m.of(classes, overdue)
	k := scaleOf(now, raw)
	out, best := raw, int64(math.MaxInt64)
	// Who starts later than he was told is worse off than who starts sooner.
	for from, to, in := 0, 0, 0.0; from < len(sorted); from++ {
		for ; to < len(sorted) && in < coverage*sum; to++ {
			in += sorted[to].weight
		}
		if in < coverage*sum {
			break
		}
		if above := sum - in - massBefore(sorted, from); above > lateMost*sum {
			in -= sorted[from].weight
			continue
		}
		early, late := k.at(now, sorted[from].miss), k.at(now, sorted[to-1].miss)
		if late-early < best {
			best, out.Early, out.Late = late-early, early, late
		}
		in -= sorted[from].weight
	}
	for i, half := 0, 0.0; i < len(sorted); i++ {
		if half += sorted[i].weight; half >= sum/2 {
			out.Likely = min(max(k.at(now, sorted[i].miss), out.Early), out.Late)
			break
		}
	}
	return out
}

// massBefore is what misses before one count for.
func massBefore(sorted []weighed, n int) float64 {
	sum := 0.0
	for _, x := range sorted[:n] {
		sum += x.weight
	}
	return sum
}

// Estimate is an estimate that somebody was told.
type Estimate struct {
	At      int64 // unix ms
	Raw     forecast.Span
	Shown   forecast.Span
	Classes []likeness
}

// marginOf widens what was told: an end of a run is seen some seconds later.
const marginOf = 2 * time.Second
