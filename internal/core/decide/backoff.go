package decide

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
)

const (
	// Healthy is how long something must have run for its failure not to lengthen
	// the next wait (Kubernetes resets its back-off after as long).
	Healthy = 10 * time.Minute
	// restartBase and restartMax bound the wait before a workspace or replica
	// is restarted in place (Kubernetes' container back-off).
	restartBase, restartMax = 10 * time.Second, 5 * time.Minute
	// endlessBase is the wait after failures that are tried again without end,
	// where the document names none: nothing else would slow them down.
	endlessBase = 10 * time.Second
	// askBase and askMax bound the wait before a check is asked again that brought
	// no decision.
	askBase, askMax = 2 * time.Second, 2 * time.Minute
	// leftAlone is the first pause after a task that had run was taken away: whoever
	// took it is done with it. What was refused waits as after a failure.
	leftAlone = time.Second
)

// Backoff doubles base with every failure in a row, up to most, plus up to a tenth,
// so that what failed together is not tried together. The tenth is a function of
// workload and failure, not of chance, so that it can be computed again.
func Backoff(id core.WorkloadID, failures int, base, most time.Duration) time.Duration {
	d := base
	for n := failures; n > 1 && d < most; n-- {
		d *= 2
	}
	d = min(d, max(most, base))
	h := fnv.New32a()
	h.Write([]byte(id))
	h.Write(strconv.AppendInt(nil, int64(failures), 10))
	return d + time.Duration(float64(d)/10*float64(h.Sum32())/float64(1<<32))
}

// InRow is how many failures count as one after another when the last run took ran:
// limits count all of a life, waits only those in a row.
func InRow(failures int, ran time.Duration) int {
	if ran >= Healthy {
		return 1
	}
	return failures
}

// RetryWait is the wait before the next attempt after one that failed having run
// for ran.
func RetryWait(id core.WorkloadID, r spec.Retry, failures int, ran time.Duration) time.Duration {
	base := r.Backoff.Std()
	if base == 0 && endless(r) {
		base = endlessBase
	}
	return Backoff(id, InRow(failures, ran), base, r.MaxBackoff.Std())
}

// endless reports whether some failures are tried again however often they come.
func endless(r spec.Retry) bool {
	return slices.ContainsFunc(r.Rules, func(rule spec.RetryRule) bool { return rule.Action == "retryFree" && rule.Limit == 0 })
}

// RestartWait is the wait before a task is started again in place.
func RestartWait(id core.WorkloadID, failures int) time.Duration {
	return Backoff(id, failures, restartBase, restartMax)
}

// AskWait is the wait before a check is asked again that has been asked tries times
// and brought no decision.
func AskWait(id core.WorkloadID, tries int) time.Duration {
	return Backoff(id, tries, askBase, askMax)
}

// SystemWait is the wait after a backend has refused a task, or taken one away that
// had started, for the nth time.
func SystemWait(id core.WorkloadID, r spec.Retry, n int, started bool) time.Duration {
	base := leftAlone
	if !started {
		base = max(base, cmp.Or(r.Backoff.Std(), endlessBase))
	}
	return Backoff(id, max(n, 1), base, r.MaxBackoff.Std())
}
