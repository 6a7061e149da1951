package packing

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
)

// Shares of the cluster's GPUs that have been asked for, in percent, where
// fragmentation is measured.
var marks = []int64{80, 90, 95}

// Run is one seed of the fill experiment. All shares are percent of all GPUs.
type Run struct {
	Seed       uint64     `json:"seed"`
	Allocated  float64    `json:"allocatedAt100"` // at the last arrival before 101 % are asked for
	Saturated  float64    `json:"allocatedAt130"`
	Fragmented [3]float64 `json:"fragmentedAt80_90_95"`
	Arrivals   int        `json:"arrivals"`
	Dropped    int        `json:"dropped"`
	Missed     int        `json:"missed"` // dropped although some node could have taken it
}

// Result is the fill experiment of one policy over several seeds.
type Result struct {
	Policy     string     `json:"policy"`
	Nodes      int        `json:"nodes"`
	GPUs       int64      `json:"gpus"`
	Tasks      int        `json:"tasks"`
	Mean       float64    `json:"mean"` // of Run.Allocated, as are the next two
	SD         float64    `json:"sd"`
	Worst      float64    `json:"worst"`
	WorstSeed  uint64     `json:"worstSeed"`
	Saturated  float64    `json:"meanAt130"`
	Fragmented [3]float64 `json:"fragmentedAt80_90_95"`
	Missed     int        `json:"missed"`
	Runs       []Run      `json:"runs"`
}

// Fill runs the published experiment: tasks arrive in random order, and again at
// random after the first pass, until 130 % of the GPUs have been asked for;
// nothing leaves. The error is the context's, or says what a policy did wrong.
func Fill(ctx context.Context, tr *Trace, p Policy, seeds []uint64) (Result, error) {
	res := Result{Policy: p.Name, Nodes: len(tr.Nodes), GPUs: tr.GPUs(), Tasks: len(tr.Tasks)}
	if len(seeds) == 0 {
		return res, fmt.Errorf("no seeds: give at least one, such as 42")
	}
	if !tr.asks() {
		return res, fmt.Errorf("none of the %d tasks asks for a GPU: nothing can be measured", len(tr.Tasks))
	}
	frag := newFragments(tr)
	res.Runs = make([]Run, len(seeds))
	err := together(len(seeds), func(i int) (err error) {
		res.Runs[i], err = fillOnce(ctx, tr, p, frag, seeds[i])
		return err
	})
	if err != nil {
		return res, err
	}
	res.sumUp()
	return res, nil
}

// asks reports whether any task wants GPUs.
func (tr *Trace) asks() bool {
	return slices.ContainsFunc(tr.Tasks, func(t Task) bool { return t.Load() > 0 })
}

// together calls fn for 0..n-1 on all processors and returns the first error by
// index.
func together(n int, fn func(int) error) error {
	errs := make([]error, n)
	next := make(chan int, n)
	for i := range n {
		next <- i
	}
	close(next)
	var all sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			for i := range next {
				errs[i] = fn(i)
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// arrivals calls fn with the tasks of a seed until it returns false.
func arrivals(tr *Trace, chance *rand.Rand, fn func(*Task) bool) {
	for _, i := range chance.Perm(len(tr.Tasks)) {
		if !fn(&tr.Tasks[i]) {
			return
		}
	}
	for fn(&tr.Tasks[chance.IntN(len(tr.Tasks))]) {
	}
}

func fillOnce(ctx context.Context, tr *Trace, p Policy, frag *fragments, seed uint64) (Run, error) {
	run, gpus := Run{Seed: seed}, tr.GPUs()
	books, placer := NewCluster(tr.Nodes), p.New(tr, seed)
	learner, _ := placer.(Learner)
	share := func() float64 { return 100 * float64(books.Taken()) / float64(1000*gpus) }
	var asked int64
	var mark int
	var broken error
	arrivals(tr, rand.New(rand.NewPCG(seed, 0)), func(t *Task) bool {
		if run.Arrivals%256 == 0 && ctx.Err() != nil {
			broken = ctx.Err()
			return false
		}
		run.Arrivals++
		asked += t.Load()
		if learner != nil {
			learner.Arrive(t)
		}
		if node, devices, ok := placer.Place(t); ok {
			if broken = books.Take(t, node, devices); broken != nil {
				return false
			}
		} else {
			run.Dropped++
			if books.FitsSomewhere(t) {
				run.Missed++
			}
		}
		for mark < len(marks) && asked >= marks[mark]*10*gpus {
			run.Fragmented[mark] = frag.share(books, gpus)
			mark++
		}
		if asked < 1010*gpus {
			run.Allocated = share()
		}
		return asked < 1300*gpus
	})
	if broken != nil {
		return run, fmt.Errorf("policy %s, seed %d, arrival %d: %w", p.Name, seed, run.Arrivals, broken)
	}
	run.Saturated = share()
	return run, nil
}

func (r *Result) sumUp() {
	n := float64(len(r.Runs))
	r.Worst = math.Inf(1)
	for i := range r.Runs {
		run := &r.Runs[i]
		r.Mean += run.Allocated / n
		r.Saturated += run.Saturated / n
		for k := range run.Fragmented {
			r.Fragmented[k] += run.Fragmented[k] / n
		}
		r.Missed += run.Missed
		if run.Allocated < r.Worst {
			r.Worst, r.WorstSeed = run.Allocated, run.Seed
		}
	}
	if len(r.Runs) > 1 {
		var sum float64
		for i := range r.Runs {
			sum += (r.Runs[i].Allocated - r.Mean) * (r.Runs[i].Allocated - r.Mean)
		}
		r.SD = math.Sqrt(sum / (n - 1))
	}
}
