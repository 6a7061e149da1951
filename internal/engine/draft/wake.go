package draft

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/decide"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/state"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/workload"
)

const (
	// stuckAfter is how long after the grace period a workload that has not
	// ended counts as stuck; it is then ended again, by force.
	stuckAfter  = time.Minute
	deleteRetry = 10 * time.Second
	// deletePatience is when logs are deleted again of whose deletion nothing
	// was heard: the report itself may not have been stored.
	deletePatience = 2 * time.Minute
	ActorControl   = "control"
)

// wakeAt is when w next needs attention by itself; zero: never.
func (tx *Tx) wakeAt(w *core.Workload, tasks *workload.Tasks) time.Time {
	return workload.Earliest(tx.WakeIn(w, tasks), tx.DeadlineWake(w))
}

// WakeIn is when it does because of its phase.
func (tx *Tx) WakeIn(w *core.Workload, tasks *workload.Tasks) time.Time {
	now := tx.Now
	switch p := w.Phase; {
	case p == lifecycle.Backoff:
		a := w.Attempts[len(w.Attempts)-1]
		return w.PhaseAt.Add(decide.RetryWait(w.ID, w.Spec.Retry, w.Failures, workload.Since(a.RunningAt, w.PhaseAt)))
	case p.Checking():
		return workload.NextCheck(w)
	case p == lifecycle.Queued:
		return w.AskAt
	case p.Active():
		return tx.nextDue(w, tasks)
	case p == lifecycle.Terminating:
		if c := workload.Condition(w, lifecycle.Unreachable); c != nil && c.Cause == lifecycle.NodeSilent {
			return c.Since.Add(tx.State.NodeGrace())
		}
		for _, c := range w.Conditions {
			if c.Type == lifecycle.Degraded && c.Cause == lifecycle.StuckEnding {
				return now.Add(stuckAfter)
			}
		}
		return w.PhaseAt.Add(w.Grace() + stuckAfter)
	case p == lifecycle.Deleting:
		if w.Event == lifecycle.RemoveFail {
			return now.Add(deleteRetry)
		}
		return now.Add(deletePatience)
	}
	if ttl := time.Duration(w.Spec.TTLAfterEnd); ttl > 0 && w.Phase.End() && w.Phase != lifecycle.Deleted {
		return w.EndedAt.Add(ttl)
	}
	return time.Time{}
}

// nextDue is when something is due for a workload that runs: a limit or the
// warning of it, the restart of a task, the end of a gang's rest, or giving up a
// silent node.
func (tx *Tx) nextDue(w *core.Workload, tasks *workload.Tasks) time.Time {
	at := w.AskAt
	if end, ok := tx.FirstEnd(w); ok {
		next := end.At
		if !w.Warned.Equal(end.At) {
			next = end.At.Add(-end.Warning())
		}
		at = workload.Earliest(at, next)
	}
	for _, c := range w.Conditions {
		if c.Type == lifecycle.Unreachable && c.Cause == lifecycle.NodeSilent {
			at = workload.Earliest(at, c.Since.Add(tx.State.NodeGrace()))
		}
	}
	if w.Spec.Elastic() {
		at = workload.Earliest(at, workload.ResizeDue(tasks))
		if grows := tx.State.growsAt(w, tasks); grows.After(tx.Now) && workload.MissingRanks(w, tasks) > 0 {
			at = workload.Earliest(at, grows)
		}
	}
	if w.Kind.Attended() { // of others no task is restarted in place by itself
		for _, t := range tasks.All() {
			at = workload.Earliest(workload.Earliest(at, t.RestartAt), workload.LoopsAt(t))
		}
	}
	return at
}

// timers is a heap of wake times; entries of workloads that have moved on are
// skipped when they come up.
type timers []Timer

// Timer is when a workload is to be looked at.
type Timer struct {
	At time.Time
	Id core.WorkloadID
}

func (t timers) Len() int { return len(t) }

func (t timers) Less(i, j int) bool {
	return cmp.Or(t[i].At.Compare(t[j].At), cmp.Compare(t[i].Id, t[j].Id)) < 0
}

func (t timers) Swap(i, j int) { t[i], t[j] = t[j], t[i] }

// Push and Pop serve container/heap.
func (t *timers) Push(x any) { *t = append(*t, x.(Timer)) }

// Pop serves container/heap.
func (t *timers) Pop() any {
	old := *t
	last := old[len(old)-1]
	*t = old[:len(old)-1]
	return last
}

// Add has a workload looked at then.
func (t *timers) Add(at time.Time, id core.WorkloadID) { heap.Push(t, Timer{at, id}) }

func (t *timers) next() time.Time {
	if len(*t) == 0 {
		return time.Time{}
	}
	return (*t)[0].At
}

// Due takes the first workload whose time has come; false: none has.
func (t *timers) Due(now time.Time) (core.WorkloadID, bool) {
	if len(*t) == 0 || (*t)[0].At.After(now) {
		return "", false
	}
	return heap.Pop(t).(Timer).Id, true
}

// warnBefore is how long before its latest start a workload that still waits is
// warned that its deadline may be missed.
const warnBefore = 30 * time.Minute

// Deadline is by when a workload is to be done, and what follows from it.
type Deadline struct {
	At     time.Time
	Length time.Duration // that it is taken to run; 0: nobody knows
	From   string        // where the length is from: expectedDuration, learnt or maxDuration
	Start  time.Time     // its latest start; zero: nobody knows
}

// DeadlineOf is by when w is to be done; false: at any time.
func (e *State) DeadlineOf(w *core.Workload) (Deadline, bool) {
	if w.Spec.Deadline == "" {
		return Deadline{}, false
	}
	at, err := time.Parse(time.RFC3339, w.Spec.Deadline)
	if err != nil {
		return Deadline{}, false // no document has it
	}
	d := Deadline{At: at.UTC()}
	switch learnt, ok := e.Insight.Lengths.Length(w, 0); {
	case w.Spec.ExpectedDuration > 0:
		d.Length, d.From = w.Spec.ExpectedDuration.Std(), "expectedDuration"
	case ok:
		d.Length, d.From = time.Duration(learnt.Likely)*time.Millisecond, "learnt"
	default:
		d.Length, d.From = e.longest(w), "maxDuration"
	}
	if d.Length <= 0 {
		d.From = ""
		return d, true
	}
	d.Start = d.At.Add(-d.Length)
	return d, true
}

// startBy is the latest start of w for the scheduler, in unix ms; 0: none.
func (e *State) startBy(w *core.Workload) int64 {
	d, ok := e.DeadlineOf(w)
	if !ok || d.Start.IsZero() || w.Phase.Held() {
		return 0
	}
	return max(d.Start.UnixMilli(), 1)
}

// DeadlineCounts reports whether the deadline of a workload in this phase is still to be
// looked at.
func DeadlineCounts(w *core.Workload) bool {
	return w.Spec.Deadline != "" && w.Missed.IsZero() && !w.Phase.End() && w.Phase != lifecycle.None &&
		w.Phase != lifecycle.Terminating && w.Phase != lifecycle.Deleting && w.Phase != lifecycle.Publishing
}

// DeadlineWake is when the deadline of w needs attention; zero: never.
func (tx *Tx) DeadlineWake(w *core.Workload) time.Time {
	if !DeadlineCounts(w) {
		return time.Time{}
	}
	d, ok := tx.State.DeadlineOf(w)
	if !ok {
		return time.Time{}
	}
	if warn := d.Start.Add(-warnBefore); !d.Start.IsZero() && !w.Phase.Held() && w.AtRisk.IsZero() {
		return workload.Earliest(d.At, warn)
	}
	return d.At
}

// Notify has whoever asked for it told of something that is no phase.
func (d *Draft) Notify(what lifecycle.ConditionType, message string) {
	d.facts = append(d.facts, telling{what, message})
}

// telling is a notification of something that is no phase.
type telling struct {
	what    lifecycle.ConditionType
	message string
}

// deliverCondition makes deliveries of what has happened of that name.
func (n *notices) deliverCondition(to spec.Notification, on string, what lifecycle.ConditionType) {
	for i, t := range n.d.facts {
		if t.what != what {
			continue
		}
		h := n.happening()
		h.Reason, h.Message = lifecycle.Reason(t.what), t.message
		n.put(to, on, len(n.d.Trail)+1+i, h) // after all that has happened
	}
}

// FirstEnd is the limit that ends w first, as things stand; false: none does.
func (tx *Tx) FirstEnd(w *core.Workload) (decide.End, bool) {
	a := w.Attempts[len(w.Attempts)-1]
	return decide.FirstEnd(w.Kind, w.Spec, w.Project, tx.Tree().BoundsOf(w), a.RunningAt, w.IdleSince)
}

// Unwarn forgets the warning of an end that may not come any more; where it
// does, it is given again.
func (d *Draft) Unwarn() {
	d.Condition(core.Condition{Type: lifecycle.DeadlineNear}, false)
	d.W.Warned = time.Time{}
}

// NodeGrace is for how long a node may be silent.
func (e *State) NodeGrace() time.Duration {
	if e.D.NodeGrace > 0 {
		return e.D.NodeGrace
	}
	return 5 * time.Minute
}

// awaitedBy keeps, by workload, who waits for it.
type awaitedBy map[core.WorkloadID]map[core.WorkloadID]struct{}

func (a awaitedBy) index(w *core.Workload) {
	for id := range workload.Awaits(w) {
		if a[id] == nil {
			a[id] = map[core.WorkloadID]struct{}{}
		}
		a[id][w.ID] = struct{}{}
	}
}

func (a awaitedBy) unindex(w *core.Workload) {
	for id := range workload.Awaits(w) {
		if delete(a[id], w.ID); len(a[id]) == 0 {
			delete(a, id)
		}
	}
}

// awaitsTasks reports whether somebody waits for single tasks of a workload, which may
// have started or failed.
func awaitsTasks(tx *Tx, id core.WorkloadID) bool {
	for next := range tx.State.Awaited[id] {
		w, _, live := tx.View(next)
		if live && slices.ContainsFunc(w.Checks, func(c core.CheckState) bool { return c.Workload == id && c.Tasks != nil }) {
			return true
		}
	}
	return false
}

// instants are times at which a plan may come out differently though nothing
// has happened: someone's patience ends, or someone has run for long enough to
// be displaced. Each is kept once, in whole seconds of unix time.
type instants struct {
	heap  seconds
	known map[int64]struct{}
	past  int64 // up to which all have come
}

type seconds []int64

func (s seconds) Len() int           { return len(s) }
func (s seconds) Less(i, j int) bool { return s[i] < s[j] }
func (s seconds) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }

// Push and Pop serve container/heap.
func (s *seconds) Push(x any) { *s = append(*s, x.(int64)) }

// Pop serves container/heap.
func (s *seconds) Pop() any {
	old := *s
	last := old[len(old)-1]
	*s = old[:len(old)-1]
	return last
}

// Add keeps the second in which ms, in unix time, will have come, unless it has
// already; 0 is never.
func (i *instants) Add(ms int64) {
	at := (ms + 999) / 1000
	if _, twice := i.known[at]; twice || ms <= 0 || at <= i.past {
		return
	}
	if i.known == nil {
		i.known = map[int64]struct{}{}
	}
	i.known[at] = struct{}{}
	heap.Push(&i.heap, at)
}

// Passed forgets all that have come, and reports whether there were any.
func (i *instants) Passed(now time.Time) bool {
	any := false
	i.past = now.Unix()
	for len(i.heap) > 0 && !time.Unix(i.heap[0], 0).After(now) {
		delete(i.known, heap.Pop(&i.heap).(int64))
		any = true
	}
	return any
}

func (i *instants) next() time.Time {
	if len(i.heap) == 0 {
		return time.Time{}
	}
	return time.Unix(i.heap[0], 0).UTC()
}

// Expect notes when a plan may look at j in another way.
func (e *State) Expect(j *schedule.Job) {
	if len(j.Held) == 0 {
		e.Instants.Add(j.Patient)
		e.Instants.Add(j.Due)
		e.Instants.Add(j.Starved)
		e.Instants.Add(j.Booked.At)
		for _, t := range state.Turns(j) {
			e.Instants.Add(t)
		}
		return
	}
	if j.Started == 0 || !j.Preemptible {
		return
	}
	e.Instants.Add(j.Started + e.D.Policy.Quantum)
	long, short := state.Shield(j)
	e.Instants.Add(long)
	e.Instants.Add(short)
	if e.D.Policy.MaxMoves != 0 {
		e.Instants.Add(j.Started + e.D.Policy.MoveRest)
	}
	for _, d := range e.sheltered(j) {
		e.Instants.Add(j.Started + d.Milliseconds())
	}
}

// sheltered are the times after its start up to which someone may not displace
// j, each at least once: by its pool, and for every level of its queue.
func (e *State) sheltered(j *schedule.Job) []time.Duration {
	var out []time.Duration
	if p, ok := e.Pools[e.Nodes[j.Held[0].Place.Node].Pool]; ok && p.MinRuntime > 0 {
		out = append(out, p.MinRuntime)
	}
	id := j.Queue
	for range maxDepth {
		p, ok := e.Tree(id)
		if !ok {
			break
		}
		for _, d := range []*time.Duration{p.PreemptMinRuntime, p.ReclaimMinRuntime} {
			if d != nil && *d > 0 {
				out = append(out, *d)
			}
		}
		if id = p.Parent; id == "" {
			break
		}
	}
	return out
}

// maxDepth bounds the walk up a tree of departments.
const maxDepth = 64
