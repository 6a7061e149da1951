package accounting

import (
	"cmp"
	"fmt"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/compat"
	"github.com/musterhq/muster/internal/compat/slurm/terms"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// entry is a line of the record of jobs: a job, a task of an array, some tasks
// that wait, or a step of one of these.
type entry struct {
	terms.Demand
	p       *compat.Place
	job     string // the job's id, as sacct calls it
	raw     string // its number
	attempt int

	tasks      []api.Task
	state, by  string
	submit     time.Time
	start, end time.Time
	code       *int
	signal     int
	used       *usage // what was sampled; nil: nobody has asked yet

	name    string       // of a step
	ofSrun  *api.JobStep // nil: it is none that srun has started
	derived int          // the highest end of its steps, as raw has it
}

// entriesOfAll are the lines of several jobs.
func entriesOfAll(c *compat.Call, p *compat.Place, ws []*api.Workload, some []int) (out []*entry) {
	for _, w := range ws {
		out = append(out, entriesOf(c, p, w, some)...)
	}
	return out
}

// entriesOf are the lines of a job; of some tasks of an array theirs alone.
func entriesOf(c *compat.Call, p *compat.Place, w *api.Workload, some []int) []*entry {
	d := cli.Document(w)
	number := strconv.FormatInt(w.Number, 10)
	e := entry{Demand: terms.Demand{Call: c, Workload: w, Document: d, Task: -1, Count: compat.Count(w)}, p: p, job: number, raw: number, submit: time.Time(w.CreatedAt)}
	if array, _, task, is := terms.Member(w); is {
		e.job = fmt.Sprintf("%d_%d", array, task)
	}
	var out []*entry
	tries := w.Attempts
	if n := len(tries); n > 0 && !c.Bool("duplicates") {
		tries = tries[n-1:]
	}
	for i := range tries {
		last := i == len(tries)-1
		of := e
		of.attempt = tries[i].Index
		if of.attempt > 0 && tries[i].QueuedAt != nil {
			of.submit = compat.At(tries[i].QueuedAt)
		}
		if d.Array != nil {
			out = append(out, of.array(&tries[i], last, some)...)
			continue
		}
		again := last && terms.StateOf(w) == terms.Pending && tries[i].StartedAt != nil
		if !again || c.Bool("duplicates") {
			out = append(out, of.whole(&tries[i], last && !again)...)
		}
		if again { // it waits for its next attempt
			next := e
			next.attempt, next.state = of.attempt+1, terms.Pending.Long
			out = append(out, &next)
		}
	}
	if len(tries) == 0 {
		e.state = e.stateNow()
		e.end, e.by = compat.At(w.EndedAt), e.canceller()
		out = append(out, &e)
	}
	return out
}

// whole is an attempt of a job that is no array, with its script.
func (e *entry) whole(a *api.Attempt, last bool) []*entry {
	e.tasks, e.start, e.end, e.code = a.Tasks, compat.At(a.StartedAt), compat.At(a.EndedAt), a.ExitCode
	e.state = attemptState(a)
	if last {
		e.state = e.stateNow()
		if e.state == "RUNNING" && e.start.IsZero() {
			e.state = terms.Pending.Long
		}
		if cli.Ended(e.Workload) {
			e.end = cmp.Or(e.end, compat.At(e.Workload.EndedAt))
		}
	}
	if a.Culprit != nil {
		for _, t := range a.Tasks {
			if t.Index == *a.Culprit {
				e.signal = t.Signal
			}
		}
	}
	return e.withSteps()
}

// stateNow is the state of a job; what starts or ends runs, as in Slurm's own
// record.
func (e *entry) stateNow() string {
	if e.Workload.Reason == string(lifecycle.ReasonDeadlineMissed) && cli.Ended(e.Workload) {
		return "DEADLINE"
	}
	switch s := terms.StateOf(e.Workload); s.Long {
	case "CONFIGURING", "COMPLETING":
		return "RUNNING"
	default:
		return s.Long
	}
}

// attemptState is how a former attempt ended.
func attemptState(a *api.Attempt) string {
	if a.Cause == string(lifecycle.CausePerson) { // scontrol requeue
		return "REQUEUED"
	}
	switch lifecycle.Reason(a.Reason) {
	case lifecycle.ReasonPreempted, lifecycle.ReasonMoved:
		return "PREEMPTED"
	case lifecycle.ReasonNodeLost, lifecycle.ReasonOutcomeUnknown:
		return "NODE_FAIL"
	case lifecycle.ReasonOutOfMemory:
		return "OUT_OF_MEMORY"
	case lifecycle.ReasonMaxDuration:
		return "TIMEOUT"
	}
	if a.ExitCode != nil && *a.ExitCode != 0 {
		return "FAILED"
	}
	return "REQUEUED"
}

// array are the tasks of an attempt: each that has begun by itself, those that
// wait together.
func (e *entry) array(a *api.Attempt, last bool, some []int) []*entry {
	numbers := terms.Numbers(e.Workload)
	wanted := func(i int) bool { return some == nil || slices.Contains(some, i) }
	begun := map[int]bool{}
	var out []*entry
	tasks := a.Tasks
	if last {
		tasks = slices.Concat(compat.SucceededBefore(e.Workload), tasks)
		slices.SortFunc(tasks, func(a, b api.Task) int { return cmp.Compare(a.Index, b.Index) })
	}
	for _, t := range tasks {
		begun[t.Index] = t.State != "pending"
		if !begun[t.Index] || !wanted(t.Index) {
			continue
		}
		one := *e
		one.job, one.Task, one.Count, one.tasks = fmt.Sprintf("%d_%d", e.Workload.Number, terms.NumberIn(numbers, t.Index)), t.Index, 1, []api.Task{t}
		one.raw = strconv.FormatInt(e.Workload.Number-e.Document.SlurmJobs()+1+int64(t.Index), 10)
		one.start, one.end, one.code, one.signal = compat.At(t.PlacedAt), compat.At(t.EndedAt), t.ExitCode, t.Signal
		one.state = e.taskState(t, a, last)
		out = append(out, one.withSteps()...)
	}
	if !last {
		return out
	}
	// What waits: an array that is over has cancelled them.
	var rest, gone []int
	done := compat.DoneBefore(e.Workload) // and not begun: there is no record of it any more
	for i := range compat.Count(e.Workload) {
		switch {
		case begun[i] || done[i] || !wanted(i):
		case cli.Ended(e.Workload) || slices.Contains(e.Workload.Canceled, i):
			gone = append(gone, terms.NumberIn(numbers, i))
		default:
			rest = append(rest, terms.NumberIn(numbers, i))
		}
	}
	together := func(which []int, state string) {
		if len(which) == 0 {
			return
		}
		one := *e
		one.Count, one.state = len(which), state
		one.job = fmt.Sprintf("%d_[%s]", e.Workload.Number, terms.Fold(which))
		if len(which) == 1 {
			one.job = fmt.Sprintf("%d_%d", e.Workload.Number, which[0])
		} else if most := e.Document.Array.Parallelism; most > 0 && state == terms.Pending.Long {
			one.job = strings.TrimSuffix(one.job, "]") + fmt.Sprintf("%%%d]", most)
		}
		if state != terms.Pending.Long {
			one.by, one.end = e.canceller(), compat.At(e.Workload.EndedAt)
		}
		out = append(out, &one)
	}
	together(gone, "CANCELLED")
	together(rest, terms.Pending.Long)
	return out
}

// taskState is the state of an array's task.
func (e *entry) taskState(t api.Task, a *api.Attempt, last bool) string {
	switch t.State {
	case "succeeded":
		return "COMPLETED"
	case "lost":
		return "NODE_FAIL"
	case "failed":
	default:
		return "RUNNING"
	}
	if t.Reason == string(lifecycle.ReasonOutOfMemory) {
		return "OUT_OF_MEMORY"
	}
	if slices.Contains(e.Workload.Canceled, t.Index) {
		return "CANCELLED"
	}
	if a.Culprit != nil && *a.Culprit == t.Index {
		return "FAILED"
	}
	if !last { // it was ended with the others, or by itself before
		return attemptState(a)
	}
	at := e.endBegan()
	if at.IsZero() || compat.At(t.EndedAt).Before(at) {
		return "FAILED"
	}
	switch s := terms.StateOf(e.Workload).Long; s {
	case "TIMEOUT", "CANCELLED", "PREEMPTED", "NODE_FAIL":
		return s
	}
	return "FAILED"
}

// endBegan is when a job was told to end, if it was.
func (e *entry) endBegan() time.Time {
	for i := len(e.Workload.Transitions) - 1; i >= 0; i-- {
		if t := e.Workload.Transitions[i]; t.To == string(lifecycle.Terminating) {
			return time.Time(t.At)
		}
	}
	return time.Time{}
}

// canceller is the number of whoever ended a job; "": nobody, or nobody knows.
func (e *entry) canceller() string {
	if terms.StateOf(e.Workload).Long != "CANCELLED" && len(e.Workload.Canceled) == 0 {
		return ""
	}
	for i := len(e.Workload.Transitions) - 1; i >= 0; i-- {
		name, is := strings.CutPrefix(e.Workload.Transitions[i].Actor, "user:")
		if !is || i == 0 { // who submitted it has not ended it by that
			continue
		}
		if u, err := user.Lookup(name); err == nil {
			return u.Uid
		}
		return ""
	}
	return ""
}

// truncate has it begin and end no earlier and later than was asked for.
func (e *entry) truncate(w window) {
	if !e.start.IsZero() && e.start.Before(w.from) {
		e.start = w.from
	}
	if !e.start.IsZero() && (e.end.IsZero() || e.end.After(w.to)) {
		e.end = w.to
	}
}

func (e *entry) id() string {
	if e.Step != "" {
		return e.job + "." + e.Step
	}
	return e.job
}

func (e *entry) rawID() string {
	if e.Step != "" {
		return e.raw + "." + e.Step
	}
	return e.raw
}

// word is the state with who ended it.
func (e *entry) word() string {
	if e.state == "CANCELLED" && e.by != "" {
		return "CANCELLED by " + e.by
	}
	return e.state
}

func (e *entry) nodes() []string { return compat.Nodes(&api.Attempt{Tasks: e.tasks}) }

// seconds is how long it ran, in whole ones: End less Start.
func (e *entry) seconds() int64 {
	if e.start.IsZero() {
		return 0
	}
	end := e.end
	if end.IsZero() {
		end = e.Call.Now()
	}
	return max(end.Unix()-e.start.Unix(), 0)
}

// exit is the exit code and the signal. Of a job that something else has ended,
// Slurm keeps neither; of its script it says by which signal.
func (e *entry) exit() (code, signal int) {
	switch e.state {
	case "PENDING", "RUNNING", "COMPLETED":
		return 0, 0
	case "OUT_OF_MEMORY":
		return 0, 125
	case "CANCELLED", "TIMEOUT", "REQUEUED", "PREEMPTED":
		if e.Step != "" {
			if e.ofSrun != nil && e.signal > 0 {
				return 0, e.signal
			}
			return 0, 15
		}
		return 0, 0
	case "NODE_FAIL":
		return 1, 0
	}
	switch {
	case e.signal > 0:
		return 0, e.signal
	case e.Document.Slurm != nil && (e.code == nil || *e.code == 128+terms.NotLaunched): // before the script, by us
		return 0, terms.NotLaunched
	case e.code == nil:
		return 1, 0
	case *e.code > 128: // a shell's, of what it ran
		return *e.code - 128, 0
	}
	return *e.code, 0
}
