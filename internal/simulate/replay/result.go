package replay

import (
	"math"
	"slices"
)

// Result is what one run was like. Times are in seconds, and every job is in
// it once, whatever its size.
type Result struct {
	// Name is the policy's, as a reader should see it.
	Name    string  `json:"name"`
	Cluster Cluster `json:"cluster"`
	Jobs    int     `json:"jobs"`
	// WorkGPUSeconds is what the jobs had to do.
	WorkGPUSeconds int64 `json:"workGPUSeconds"`
	// UtilisationPercent is the share of GPUs held between the first and the
	// last submission; WhileWaiting is over all times at which a job waits.
	UtilisationPercent             float64 `json:"utilisationPercent"`
	UtilisationWhileWaitingPercent float64 `json:"utilisationWhileWaitingPercent"`
	// Times are what became of all jobs; Wait and Completion stand for themselves
	// since they were there first.
	Times
	// BySize and ByProject are the same for parts of the jobs; projects with
	// the most work come first. Of the sizes the fourth is all above 8 GPUs, the
	// fifth and sixth are its parts.
	BySize    []Group   `json:"bySize"`
	ByProject []Project `json:"byProject"`

	Preemptions      int   `json:"preemptions"`
	WastedGPUSeconds int64 `json:"wastedGPUSeconds"` // work done in vain
	MakespanSeconds  int64 `json:"makespanSeconds"`  // first submission to last completion
	// LongestRestartSeconds is the longest that a preempted job waited to run again.
	LongestRestartSeconds int64 `json:"longestRestartSeconds"`
	// Check is the first 8 digits of 64-bit FNV-1a over "first start,completion;"
	// of all jobs: two runs with the same value are the same run.
	Check string `json:"check"`

	// WaitPercentilesSeconds are p0 to p100 of Wait.
	WaitPercentilesSeconds []int64 `json:"waitPercentilesSeconds"`
	// BucketSeconds is the length of each of Buckets, which begin at 0.
	BucketSeconds int64    `json:"bucketSeconds"`
	Buckets       []Bucket `json:"buckets"`
}

// Times sum up how jobs fared.
type Times struct {
	// Wait is from submission to the first start, Completion to the end.
	Wait       Spread `json:"wait"`
	Completion Spread `json:"completion"`
	// TotalWait is what of Completion is not work: the time before the first start,
	// between two starts, and what was done in vain.
	TotalWait Spread `json:"totalWait"`
	// Slowdown is Completion ÷ work, where work of less than slowdownLeast seconds
	// counts as so much, and at least 1.
	Slowdown Ratios `json:"slowdown"`
	// Starts is how often one job was started.
	Starts Ratios `json:"starts"`
	// LostGPUSeconds is work done in vain.
	LostGPUSeconds int64 `json:"lostGPUSeconds"`
}

// slowdownLeast is as what the shortest work counts in slowdowns, in seconds.
const slowdownLeast = 10

// Ratios sums up a number without a unit, as Spread does a time.
type Ratios struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
}

// Spread sums up a time in seconds. Of n values, pN is the ⌈N/100·n⌉-th smallest.
type Spread struct {
	MeanSeconds float64 `json:"meanSeconds"`
	P50Seconds  int64   `json:"p50Seconds"`
	P90Seconds  int64   `json:"p90Seconds"`
	P99Seconds  int64   `json:"p99Seconds"`
	MaxSeconds  int64   `json:"maxSeconds"`
}

// Group is some of the jobs.
type Group struct {
	Name           string `json:"name"`
	Jobs           int    `json:"jobs"`
	WorkGPUSeconds int64  `json:"workGPUSeconds"`
	Times
}

// Project is the jobs of one project, and what it held over time.
type Project struct {
	Group
	// Weight is its part when GPUs are short, relative to the others'.
	Weight float64 `json:"weight"`
	// HeldGPUs and EntitledGPUs are means of each bucket. A project is entitled
	// to its weighted share of the GPUs but to no more than it asks for; what
	// one does not ask for is shared among the others. Only the seriesOf
	// projects with the most work have them.
	HeldGPUs     []float64 `json:"heldGPUs,omitempty"`
	EntitledGPUs []float64 `json:"entitledGPUs,omitempty"`
}

// Bucket is a span of time; numbers are means over it.
type Bucket struct {
	HeldGPUs    float64 `json:"heldGPUs"`
	WaitingJobs float64 `json:"waitingJobs"` // preempted ones too
	WaitingGPUs float64 `json:"waitingGPUs"` // what they ask for
	// Fairness is Jain's index over projects of GPUs held ÷ GPUs entitled to:
	// 1 is fair, 1/n is all for one of n. 1 if nobody is entitled to any.
	Fairness float64 `json:"fairness"`
}

// seriesOf is for how many projects a Result keeps numbers over time.
const seriesOf = 20

// sizeClasses are the rows of BySize: more than so many GPUs, and up to so many.
var sizeClasses = []struct {
	name       string
	more, most int
}{{"1", 0, 1}, {"2–4", 1, 4}, {"5–8", 4, 8}, {">8", 8, math.MaxInt}, {"9–32", 8, 32}, {">32", 32, math.MaxInt}}

func spread(values []int64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	slices.Sort(values)
	sum := 0.0
	for _, v := range values {
		sum += float64(v)
	}
	return Spread{
		MeanSeconds: sum / float64(len(values)),
		P50Seconds:  percentile(values, 50),
		P90Seconds:  percentile(values, 90),
		P99Seconds:  percentile(values, 99),
		MaxSeconds:  values[len(values)-1],
	}
}

func ratios(values []float64) Ratios {
	if len(values) == 0 {
		return Ratios{}
	}
	slices.Sort(values)
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return Ratios{sum / float64(len(values)), percentile(values, 50), percentile(values, 90), percentile(values, 99), values[len(values)-1]}
}

// percentile returns the ⌈n/100·len⌉-th smallest of sorted values.
func percentile[T any](sorted []T, n int) T {
	return sorted[max((n*len(sorted)+99)/100, 1)-1]
}
