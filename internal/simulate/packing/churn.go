package packing

import (
	"context"
	"fmt"
)

// ChurnConfig is what the experiment with departures varies.
type ChurnConfig struct {
	// Load is the offered GPU time over all GPU time: 0.95 asks for 95 % of the
	// GPUs in the mean.
	Load float64 `json:"load"`
	// Trace takes each task's own duration (that of a random task where the list
	// has none); otherwise durations are exponential, an hour in the mean.
	Trace bool `json:"traceDurations"`
	// Longest cuts the list's durations off, in seconds; 0: after a day.
	// Exponential ones are not cut off.
	Longest int64 `json:"longest,omitempty"`
	// Arrivals is how many tasks come; the first third warms up and is not
	// measured. 0: 60,000.
	Arrivals int `json:"arrivals"`
}

const (
	meanDuration   = 3600
	longestTraced  = 86400
	usualArrivals  = 60_000
	warmUp         = 3 // one in so many arrivals comes before measuring
	fragmentProbes = 64
)

// ChurnRun is one seed. Times are seconds. Means of shares are over the time
// from the end of warming up to the last arrival; waits are of the tasks that
// arrived in it, to their start, which may be later.
type ChurnRun struct {
	Seed       uint64  `json:"seed"`
	Allocated  float64 `json:"allocated"`     // % of the GPUs, mean
	Busy       float64 `json:"allocatedBusy"` // the same while something waits
	Waiting    float64 `json:"timeWaiting"`   // % of the time that something waits
	Queue      float64 `json:"queue"`         // tasks that wait, mean
	Fragmented float64 `json:"fragmented"`    // % of the GPUs, mean of probes
	Wait       float64 `json:"wait"`          // mean of all tasks
	WaitGPU    float64 `json:"waitGPU"`       // of the tasks with one GPU or a part
	WaitLarge  float64 `json:"waitLarge"`     // of the tasks with 8 GPUs or more
	MaxLarge   float64 `json:"maxWaitLarge"`
	Never      int     `json:"never"`  // fitted on no empty node, or was refused to the end
	Missed     int     `json:"missed"` // was told no although some node could have taken it
}

// ChurnResult is the experiment of one policy over several seeds, with means.
type ChurnResult struct {
	Policy string      `json:"policy"`
	Config ChurnConfig `json:"config"`
	Mean   ChurnRun    `json:"mean"`
	Runs   []ChurnRun  `json:"runs"`
}

// Churn lets tasks arrive at random (a Poisson stream, each a random task of
// the list), run and leave. What does not fit waits; whenever something leaves,
// the oldest that fits starts, and one that does not fit blocks nobody. After
// the last arrival the queue drains.
func Churn(ctx context.Context, tr *Trace, p Policy, cfg ChurnConfig, seeds []uint64) (ChurnResult, error) {
	if cfg.Arrivals == 0 {
		cfg.Arrivals = usualArrivals
	}
	if cfg.Longest == 0 && cfg.Trace {
		cfg.Longest = longestTraced
	}
	res := ChurnResult{Policy: p.Name, Config: cfg}
	switch {
	case len(seeds) == 0:
		return res, fmt.Errorf("no seeds: give at least one, such as 42")
	case !(cfg.Load > 0 && cfg.Load <= 10):
		return res, fmt.Errorf("load %g: want more than 0 and at most 10; 1 offers as much work as the GPUs can do", cfg.Load)
	case cfg.Arrivals < warmUp || cfg.Longest < 0:
		return res, fmt.Errorf("arrivals %d, longest %d s: want at least %d arrivals and no negative duration", cfg.Arrivals, cfg.Longest, warmUp)
	case !tr.asks():
		return res, fmt.Errorf("none of the %d tasks asks for a GPU: nothing can be measured", len(tr.Tasks))
	}
	frag := newFragments(tr)
	res.Runs = make([]ChurnRun, len(seeds))
	err := together(len(seeds), func(i int) error {
		c := newChurn(tr, p, cfg, frag, seeds[i])
		err := c.run(ctx)
		res.Runs[i] = c.out
		if err != nil {
			return fmt.Errorf("policy %s, seed %d, at %.0f s: %w", p.Name, seeds[i], c.now, err)
		}
		return nil
	})
	if err != nil {
		return res, err
	}
	res.Mean = meanOf(res.Runs)
	return res, nil
}

// meanOf is the mean of all but the longest wait and the counts; Busy is weighted
// by how long something waited.
func meanOf(runs []ChurnRun) ChurnRun {
	var m ChurnRun
	n := float64(len(runs))
	var busy float64
	for i := range runs {
		r := &runs[i]
		m.Allocated += r.Allocated / n
		m.Busy += r.Busy * r.Waiting
		busy += r.Waiting
		m.Waiting += r.Waiting / n
		m.Queue += r.Queue / n
		m.Fragmented += r.Fragmented / n
		m.Wait += r.Wait / n
		m.WaitGPU += r.WaitGPU / n
		m.WaitLarge += r.WaitLarge / n
		m.MaxLarge = max(m.MaxLarge, r.MaxLarge)
		m.Never += r.Never
		m.Missed += r.Missed
	}
	if busy > 0 {
		m.Busy /= busy
	}
	return m
}
