package firsterror

import (
	"cmp"
	"slices"
	"time"
)

// Together is how far apart in time errors of several tasks may be for one of
// them still to be the cause of an earlier one: a peer may notice the end of
// another before that has written why.
const Together = 5 * time.Second

// Order puts the error that explains the others first: by time, but one that
// reports another's end after what came at about the same time. Look tells of
// an error what was found, in the output of which task, and when it was
// written (zero: nobody knows). Culprit is the task that ended first, if known.
func Order[E any](found []E, culprit *int, look func(E) (f *Finding, task int, at time.Time)) {
	first := time.Time{}
	for _, e := range found {
		if _, _, at := look(e); !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	rank := func(f *Finding, at time.Time) int {
		switch near := at.IsZero() || at.Sub(first) <= Together; {
		case near && !f.Echo:
			return 0
		case near:
			return 1
		default:
			return 2
		}
	}
	same := func(task int) int {
		if culprit != nil && task == *culprit {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(found, func(a, b E) int {
		fa, ta, at := look(a)
		fb, tb, bt := look(b)
		return cmp.Or(rank(fa, at)-rank(fb, bt), at.Compare(bt), same(ta)-same(tb), ta-tb)
	})
}

// hints are what to do about each kind.
var hints = map[Kind]string{
	Python:      "the last line names the exception, the lines above it where it was raised",
	CUDAMemory:  "the GPU's memory is full: make batches smaller, spread the model over more GPUs, or ask for GPUs with more memory",
	CUDA:        "run it with CUDA_LAUNCH_BLOCKING=1 to see which call fails; where it fails on one node only, cordon that",
	NCCL:        "another rank has died or hangs: look at the rank that ended first; NCCL_DEBUG=INFO tells more",
	OutOfMemory: "ask for more with resources.memory, or load less at once",
	GoPanic:     "the first goroutine is the one that panicked",
	RustPanic:   "run it with RUST_BACKTRACE=1 to see where",
	Terminate:   "the line before tells what was thrown or asserted",
	Signal:      "a library crashed: run it with PYTHONFAULTHANDLER=1 to see in which call",
	MPI:         "the rank that called MPI_Abort has written why before",
}

// Hint is what to do about errors of a kind; empty: nothing is known.
func (k Kind) Hint() string { return hints[k] }
