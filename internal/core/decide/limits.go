package decide

import (
	"fmt"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
)

// Limit is which limit ends a workload.
type Limit string

// The limits.
const (
	LimitDuration    Limit = "maxDuration"
	LimitProjectTime Limit = "timeLimit"
	LimitIdle        Limit = "idleLimit" // its own or its project's
)

// End is when and why a limit ends a workload.
type End struct {
	At      time.Time
	Length  time.Duration // of the whole limit
	Limit   Limit
	Message string
}

// Reason is how a transition explains the end.
func (e End) Reason() lifecycle.Reason {
	switch e.Limit {
	case LimitDuration:
		return lifecycle.ReasonMaxDuration
	case LimitProjectTime:
		return lifecycle.ReasonProjectTimeLimit
	default:
		return lifecycle.ReasonIdleLimit
	}
}

// Warning is how long before its end a workload is told: a tenth of its limit, at
// most ten minutes.
func (e End) Warning() time.Duration { return min(e.Length/10, 10*time.Minute) }

// FirstEnd is the limit that ends a workload of a project first, which runs since
// running and whose GPUs are idle since idle (zero: they are not); false: none does.
func FirstEnd(kind lifecycle.Kind, doc *spec.Document, project core.ProjectID, bounds core.Bounds, running, idle time.Time) (End, bool) {
	if running.IsZero() {
		return End{}, false
	}
	ownTime, ownIdle := doc.MaxDuration.Std(), doc.IdleLimit.Std()
	theirTime, theirIdle := bounds.TimeLimit, bounds.Idle(doc.Preemptible != nil && *doc.Preemptible)
	var first End
	for _, l := range []struct {
		from    time.Time
		length  time.Duration
		limit   Limit
		message string
	}{
		{running, ownTime, LimitDuration, "it ran for its maxDuration of " + doc.MaxDuration.String()},
		{running, theirTime, LimitProjectTime, fmt.Sprintf("project %s lets a %s run for %v", project, kind, theirTime)},
		{idle, ownIdle, LimitIdle, "its GPUs did nothing for its idleLimit of " + doc.IdleLimit.String()},
		{idle, theirIdle, LimitIdle, fmt.Sprintf("project %s lets the GPUs of a %s idle for %v", project, kind, theirIdle)},
	} {
		if l.length <= 0 || l.from.IsZero() {
			continue
		}
		if at := l.from.Add(l.length); first.At.IsZero() || at.Before(first.At) {
			first = End{at, l.length, l.limit, l.message}
		}
	}
	return first, !first.At.IsZero()
}
