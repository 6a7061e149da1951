package explanation

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/explain"
	"github.com/musterhq/muster/internal/core/schedule/forecast"
	"github.com/musterhq/muster/internal/core/schedule/state"
	"github.com/musterhq/muster/internal/engine/consequence"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/estimate"
	"github.com/musterhq/muster/internal/engine/planner"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/engine/workload"
)

// Why is everything that can be told of why a workload does not run, or of what
// would become of one that was not submitted.
type Why struct {
	Workload *core.Workload
	At       time.Time // as of when
	// Waits says that something keeps it from running; the rest is empty where
	// nothing does.
	Waits bool
	schedule.Explanation
	Warnings []string // of a dry run: what is allowed and perhaps not meant
	// Running is how many of its tasks run while others of it wait; 0: it waits as
	// a whole.
	Running int
	AheadOf []RelatedWorkload // those of Ahead
	// Holders are those who hold what is missing.
	Holders  []RelatedWorkload
	Frees    []RelatedWorkload // whose ends make its room
	Forecast forecast.Forecast
	// Learnt, Limits and Unknown count the running workloads by what is known of
	// their ends.
	Learnt, Limits, Unknown int
	Score                   estimate.Score
	Suggestions             []Suggestion
	// Trial is what becomes of a submission, and Victims whom it displaces; of a
	// dry run only.
	Trial   *explain.Trial
	Victims []RelatedWorkload
	Checks  []core.CheckState // that it has to pass first

	Deadline *DeadlineState // nil: it has none
}

// Study is a question with everything that its answer needs, so that the answer,
// which may take a second, keeps nobody waiting.
type Study struct {
	now         time.Time
	w           *core.Workload
	pending     *Pending    // known without the scheduler
	copy        *state.Copy // nil: the scheduler has no say
	many        bool        // too many to tell when they start, see forecast.TooMany
	dry         bool
	warnings    []string // of a dry run
	job         schedule.Job
	suggestions []suggestion
	live        map[core.WorkloadID]*core.Workload
	jobs        map[core.WorkloadID]*schedule.Job // of copy
	in          *estimate.Learnt
	barred      planner.Barred
	failed      func(*schedule.Fault)
	due         *draft.Deadline // nil: it has none
}

// StudyOf asks why a workload waits. One that does not is an answer, too.
func StudyOf(r draft.Ref) draft.Command[*Study] {
	return func(tx *draft.Tx) (*Study, error) {
		d, err := tx.Find(r)
		if err != nil {
			return nil, err
		}
		s := &Study{now: tx.Now, w: d.W, in: tx.State.Insight}
		w, tasks, live := tx.View(d.W.ID)
		if !live {
			return s, nil
		}
		s.w = w
		if due, ok := tx.State.DeadlineOf(w); ok {
			s.due = &due
		}
		if p, ok := PendingOf(tx, w, tasks); ok {
			s.pending = &p
			return s, nil
		}
		if tx.State.Wants(w, tasks) {
			planner.Sync(tx)
			planner.Ends(tx)
			job, _ := tx.State.Job(w, tasks)
			study(tx, s, tasks, job)
		}
		return s, nil
	}
}

// StudyRun asks what would become of a submission. What could never run is refused
// as Submit does.
func StudyRun(sub submission.Submission) draft.Command[*Study] {
	return func(tx *draft.Tx) (*Study, error) {
		sub.DryRun, sub.Key = true, ""
		made, err := submission.Submit(sub)(tx)
		if err != nil {
			return nil, err
		}
		w := *made.Workload
		w.Attempts = []core.Attempt{{QueuedAt: tx.Now}}
		w.Phase, w.PhaseAt = lifecycle.Queued, tx.Now
		w.Replicas = workload.FirstReplicas(w.Spec)
		w.Checks = consequence.ChecksOf(tx, &w)
		s := &Study{now: tx.Now, w: &w, in: tx.State.Insight, dry: true, warnings: made.Warnings}
		if due, ok := tx.State.DeadlineOf(&w); ok {
			s.due = &due
		}
		planner.Sync(tx)
		planner.Ends(tx)
		if job, ok := tx.State.Job(&w, nil); ok {
			study(tx, s, nil, job)
		}
		return s, nil
	}
}

// study copies what an answer needs.
func study(tx *draft.Tx, s *Study, tasks *workload.Tasks, job schedule.Job) {
	s.job, s.barred = job, planner.BarredFor(tx, s.w)
	if len(job.Held) == 0 { // who runs already is not submitted otherwise
		s.suggestions = suggestions(tx, s.w, tasks, job)
	}
	s.copyOf(tx)
	if s.dry {
		s.live[s.w.ID] = s.w
	}
}

// copyOf copies the scheduler's state and whose it is.
func (s *Study) copyOf(tx *draft.Tx) {
	s.copy, s.failed = tx.State.Sched.Copy(tx.Now.UnixMilli(), tx.State.Work), tx.State.Failed
	s.many = forecast.TooMany(len(s.copy.Jobs))
	s.live = make(map[core.WorkloadID]*core.Workload, len(s.copy.Jobs)+1)
	s.jobs = make(map[core.WorkloadID]*schedule.Job, len(s.copy.Jobs))
	for i := range s.copy.Jobs {
		s.jobs[s.copy.Jobs[i].ID] = &s.copy.Jobs[i]
		if w, _, ok := tx.View(s.copy.Jobs[i].ID); ok {
			s.live[w.ID] = w
		}
	}
}

// Answer works the question out. It changes nothing and may run beside the
// engine; that an estimate was given is remembered.
func (s *Study) Answer() *Why {
	y := &Why{Workload: s.w, At: s.now, Warnings: s.warnings, Score: s.in.Score.Read()}
	defer s.deadlineNow(y)
	if s.dry {
		y.Checks = s.w.Checks
	}
	if s.pending != nil {
		y.Waits, y.Explanation = true, s.pending.Explanation
	}
	if s.copy == nil {
		return y
	}
	if f := s.copy.Safely(s.w.ID, func() { s.work(y) }); f != nil {
		s.failed(f)
		y.Waits, y.Trial, y.Victims, y.Suggestions = true, nil, nil, nil
		y.Explanation = OneReason(schedule.Reason{Token: schedule.PlanningFailed}).Explanation
		if s.dry {
			y.Trial = &explain.Trial{Reasons: y.Reasons}
		}
	}
	return y
}

// work is Answer for what the scheduler has to say.
func (s *Study) work(y *Why) {
	now, id := s.now.UnixMilli(), s.w.ID
	st := s.copy.State()
	if s.dry {
		t := explain.Turn(st, now, s.job)
		y.Trial, y.Victims = &t, s.victims(&t)
		if t.Starts() {
			return
		}
		st.PutJob(s.job)
		s.copy.Jobs = append(s.copy.Jobs, s.job)
		s.jobs[id] = &s.job
	}
	ex, ok := explain.Explain(st, now, id)
	if !ok {
		return
	}
	y.Waits, y.Explanation = true, ex
	for i := range y.Reasons {
		s.barred.Into(&y.Reasons[i])
		y.Reasons[i].Note = cmp.Or(s.holdersNote(&y.Reasons[i]), y.Reasons[i].Note)
	}
	y.Checked = append(y.Checked, s.checked()...)
	for i := range s.job.Held {
		y.Running += core.Bit(!s.job.Held[i].Leaving)
	}
	if y.Reasons[0].Token != schedule.WaitingForPreemption { // it has its place
		s.suggestion(y, st)
	}
	s.foretell(y)
	s.alignReasons(y)
	y.Holders = s.holders(y.Reasons)
}

// alignReasons makes the reasons agree with what was foretold: the same start of whom
// room is kept for, and an advice to wait only where a wait comes to an end.
func (s *Study) alignReasons(y *Why) {
	f := &y.Forecast
	endless := f.Span == (forecast.Span{}) && f.Until == 0 && !f.Simple
	for i := range y.Reasons {
		r := &y.Reasons[i]
		r.Endless = endless
		if w := s.live[r.For]; w != nil {
			if at := f.Starts[r.For]; at > 0 {
				r.Until = at
				r.Note = fmt.Sprintf("%s is expected to start with it at %s", w.Name, time.UnixMilli(at).UTC().Format(time.RFC3339))
			} else {
				r.Note = keptNote(w, r.Until)
			}
		}
	}
}

// foretell adds when it will start, and thanks to whom.
func (s *Study) foretell(y *Why) {
	now, id := s.now.UnixMilli(), s.w.ID
	spans, b := s.spans()
	y.Learnt, y.Limits, y.Unknown = b.Learnt, b.Limits, b.Unknown
	y.Forecast = forecast.Of(s.copy, id, spans)
	if y.Running > 0 && !s.many {
		forecast.Refine(s.copy, &y.Forecast, id, s.draws(now, spans))
	} else {
		s.agree(&y.Forecast, s.foresee(spans))
	}
	if !s.dry {
		s.in.Score.Remember(id, now, y.Forecast.Span)
	}
	for _, a := range y.Ahead {
		n := s.Related(a)
		n.At = y.Forecast.Starts[a]
		y.AheadOf = append(y.AheadOf, n)
	}
	for _, f := range y.Forecast.Frees {
		n := s.Related(f.ID)
		n.At = f.At
		if span := spans[f.ID]; span.Early > now { // an instant: it runs already
			n.Ends = span
		}
		y.Frees = append(y.Frees, n)
	}
	slices.SortStableFunc(y.Frees, func(a, b RelatedWorkload) int { return cmp.Compare(b.GPUs, a.GPUs) })
	y.Frees = y.Frees[:min(len(y.Frees), freesShown)]
}

// spans is what is known of when everything ends.
func (s *Study) spans() (map[core.WorkloadID]forecast.Span, estimate.Basis) {
	spans, b := make(map[core.WorkloadID]forecast.Span, len(s.copy.Jobs)), estimate.Basis{}
	for i := range s.copy.Jobs {
		j := &s.copy.Jobs[i]
		if s.many && len(j.Held) == 0 {
			continue // how long it will run tells nothing where no start is told
		}
		if w := s.live[j.ID]; w != nil {
			spans[j.ID] = s.in.Span(w, j, s.now.UnixMilli(), &b)
		}
	}
	return spans, b
}

// freesShown is how many of those are named whose ends make room.
const freesShown = 5

// suggestion tries what might let it start now. What disturbs nobody comes first.
func (s *Study) suggestion(y *Why, st *state.State) {
	now := s.now.UnixMilli()
	for i := range s.suggestions {
		flags, t := s.suggestions[i].try(st, now)
		if !t.Starts() {
			continue
		}
		y.Suggestions = append(y.Suggestions, Suggestion{Flags: flags, Now: t.Now, Pool: t.Pool, Victims: s.victims(&t)})
		if s.suggestions[i].enough {
			break
		}
	}
	slices.SortStableFunc(y.Suggestions, func(a, b Suggestion) int { return core.Bit(b.Now) - core.Bit(a.Now) })
	y.Suggestions = y.Suggestions[:min(len(y.Suggestions), suggestionsShown)]
}

// checked is what stands in nobody's way once a workload is in its queue.
func (s *Study) checked() []schedule.Check {
	var out []schedule.Check
	if s.w.Spec.Image != "" || s.w.Image != "" {
		out = append(out, schedule.Check{What: "image", Note: "images can run here; whether this one can be pulled shows on the node"})
	}
	if len(s.w.Spec.Secrets) > 0 {
		out = append(out, schedule.Check{What: "secrets", Note: "all existed when it was submitted"})
	}
	for _, c := range s.w.Checks {
		if c.Verdict == core.CheckApproved {
			out = append(out, schedule.Check{What: "check " + c.Name, Note: "approved by " + c.By})
		}
	}
	return out
}

// Related is another workload as those see it that wait.
func (s *Study) Related(id core.WorkloadID) RelatedWorkload {
	n := RelatedWorkload{ID: id}
	if w := s.live[id]; w != nil {
		n.Name, n.Project, n.User, n.Since = w.Name, w.Project, w.User, w.PhaseAt
	}
	if j := s.jobs[id]; j != nil {
		n.Milli, n.Tasks = devicesOf(j.Held, nil), len(j.Held)
		if len(j.Held) == 0 {
			n.Milli = devicesWanted(j)
		}
	}
	n.GPUs = int((n.Milli + 999) / 1000)
	return n
}

// victims are those whom a trial displaces.
func (s *Study) victims(t *explain.Trial) []RelatedWorkload {
	var out []RelatedWorkload
	for _, e := range t.Victims {
		n := s.Related(e.ID)
		n.Cause = e.Cause
		if j := s.jobs[e.ID]; j != nil { // perhaps not all of it
			n.Milli, n.Tasks = devicesOf(j.Held, e.Tasks), len(e.Tasks)
			n.GPUs = int((n.Milli + 999) / 1000)
		}
		out = append(out, n)
	}
	return out
}
