package packing

import (
	"math"
	"math/rand/v2"
)

// Placer is a policy at work on a cluster that it keeps the books of itself. It
// is used by one goroutine.
type Placer interface {
	// Place finds a place for a task and takes it, or reports that none fits.
	// The devices are indexes of the node's GPUs and are not kept by the caller
	// beyond the next call.
	Place(t *Task) (node int, devices []int, ok bool)
	// Release gives back the place of a task that has left.
	Release(t *Task, node int, devices []int)
}

// Learner is a Placer that wants to hear of each arrival, once, before it is
// first placed.
type Learner interface {
	Arrive(t *Task)
}

// Policy makes placers.
type Policy struct {
	Name string
	// New returns a placer for the empty cluster of the trace. What it does may
	// depend on the trace and the seed only.
	New func(tr *Trace, seed uint64) Placer
}

// Policies are the policies that need nothing but this package, best last.
func Policies() []Policy {
	return []Policy{
		{"random", func(tr *Trace, seed uint64) Placer {
			return &random{c: NewCluster(tr.Nodes), chance: rand.New(rand.NewPCG(seed, 1))}
		}},
		{"best-fit", func(tr *Trace, _ uint64) Placer { return newRanked(tr, bestFit{}) }},
		{"fgd", func(tr *Trace, _ uint64) Placer { return newRanked(tr, newFGD(tr)) }},
		{"fill", func(tr *Trace, _ uint64) Placer { return newRanked(tr, newFilled(tr, true)) }},
		{"fill-learned", func(tr *Trace, _ uint64) Placer { return newLearned(tr) }},
	}
}

// random takes any node that fits, and any of its GPUs that fit.
type random struct {
	c       *Cluster
	chance  *rand.Rand
	devices []int
}

func (r *random) Place(t *Task) (int, []int, bool) {
	node, n := -1, 0
	for i := range r.c.Seats {
		if r.c.Seats[i].Fits(t) {
			if n++; r.chance.IntN(n) == 0 {
				node = i
			}
		}
	}
	if node < 0 {
		return 0, nil, false
	}
	fit := r.devices[:0]
	for d, x := range r.c.Seats[node].Free {
		if t.GPUs > 0 && x >= int32(t.Milli) {
			fit = append(fit, d)
		}
	}
	r.devices = fit
	r.chance.Shuffle(len(fit), func(i, j int) { fit[i], fit[j] = fit[j], fit[i] })
	fit = fit[:t.GPUs]
	if err := r.c.Take(t, node, fit); err != nil {
		return 0, nil, false
	}
	return node, fit, true
}

func (r *random) Release(t *Task, node int, devices []int) { r.c.Give(t, node, devices) }

// rater says how good a place is; less is better.
type rater interface {
	// rate is asked only where t fits. The devices it would take are written to
	// pick, which has room for t.GPUs, unless it is nil.
	rate(s *Seat, node int, t *Task, pick []int) int64
}

// ranked takes the node of the least rate, the lowest index among equals. Rates
// are kept by class and node until the node changes, so that a decision is a
// scan over numbers with few computed anew.
type ranked struct {
	c       *Cluster
	rater   rater
	rows    [][]cell // by class, made when it first arrives
	devices []int
}

type cell struct {
	rate int64
	turn uint32
}

const unfit = math.MaxInt64

func newRanked(tr *Trace, r rater) *ranked {
	return &ranked{c: NewCluster(tr.Nodes), rater: r, rows: make([][]cell, tr.Classes)}
}

func (r *ranked) Place(t *Task) (int, []int, bool) {
	if r.rows[t.Class] == nil {
		r.rows[t.Class] = make([]cell, len(r.c.Seats))
	}
	cells := r.rows[t.Class]
	node, least := -1, int64(unfit)
	for i := range r.c.Seats {
		s := &r.c.Seats[i]
		c := &cells[i]
		if c.turn != s.turn {
			c.turn, c.rate = s.turn, unfit
			if s.Fits(t) {
				c.rate = r.rater.rate(s, i, t, nil)
			}
		}
		if c.rate < least {
			node, least = i, c.rate
		}
	}
	if node < 0 {
		return 0, nil, false
	}
	r.devices = append(r.devices[:0], make([]int, t.GPUs)...)
	r.rater.rate(&r.c.Seats[node], node, t, r.devices)
	if err := r.c.Take(t, node, r.devices); err != nil {
		return 0, nil, false
	}
	return node, r.devices, true
}

func (r *ranked) Release(t *Task, node int, devices []int) { r.c.Give(t, node, devices) }

// forget makes every kept rate stale.
func (r *ranked) forget() {
	for i := range r.c.Seats {
		r.c.Seats[i].turn++
	}
}

// bestFit is the weighted sum of what would be left of CPU and GPUs: 128 cores
// weigh as much as 8 GPUs, as in the publication. Among shared GPUs the fullest
// is taken.
type bestFit struct{}

func (bestFit) rate(s *Seat, _ int, t *Task, pick []int) int64 {
	if pick != nil {
		fullest(s, t, pick)
	}
	return left(s, t)
}

func left(s *Seat, t *Task) int64 { return s.CPU - t.CPU + 16*(s.total-t.Load()) }

// fullest picks the GPUs with the least free that suffices, lowest index first
// among equals.
func fullest(s *Seat, t *Task, pick []int) {
	for n := range pick {
		best := -1
		for d, x := range s.Free {
			if x >= int32(t.Milli) && (best < 0 || x < s.Free[best]) && !among(pick[:n], d) {
				best = d
			}
		}
		pick[n] = best
	}
}

func among(all []int, d int) bool {
	for _, x := range all {
		if x == d {
			return true
		}
	}
	return false
}
