package recurring

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/recur"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/submission"
	"github.com/musterhq/muster/internal/engine/workload"
)

const (
	// eventsKept is how many events of a schedule are remembered.
	eventsKept = 20
	// refusedAgain is when a run is tried again that was refused for now only.
	refusedAgain = time.Minute
	// refusedLongest bounds, in characters, what is kept of why a run was refused.
	refusedLongest = 500
)

// passing are refusals of what may be accepted in a while: a node that is away comes
// back.
var passing = []draft.Code{draft.CodeFull, draft.CodeUnavailable, draft.CodeUnschedulable}

// Round does what is due of all schedules. A run and the note that its time has been
// seen to are of the same commit: no time is lost, and none has two runs.
func Round(tx *draft.Tx) {
	for _, id := range tx.State.Agenda.Due(tx.Now) {
		t, ok := tx.Template(id)
		if !ok {
			continue
		}
		r := &round{tx: tx, t: t, s: copied(t.Schedule)}
		r.look()
		r.forget()
		next := r.start()
		if r.changed {
			r.write()
		}
		draft.Put(&tx.Looked, id, next)
	}
}

// round is a schedule in one round.
type round struct {
	tx      *draft.Tx
	t       core.Template
	s       core.Schedule // as it will be
	changed bool
}

// write puts the schedule into the draft.
func (r *round) write() {
	r.t.Schedule = &r.s
	put(r.tx, r.t)
}

// look takes over which runs have ended, and forgets those that are gone.
func (r *round) look() {
	kept := r.s.Runs[:0]
	for _, run := range r.s.Runs {
		was := run
		if w := r.workload(&run); w != nil {
			run.Phase, run.EndedAt = "", time.Time{}
			switch {
			case w.Phase == lifecycle.Deleted:
				r.changed = true
				continue
			case w.Phase == lifecycle.Deleting:
				run.Phase, run.EndedAt = w.Phase, cmp.Or(was.EndedAt, r.tx.Now)
			case w.Phase.End():
				run.Phase, run.EndedAt = w.Phase, w.EndedAt
			}
		}
		r.changed = r.changed || run != was
		kept = append(kept, run)
	}
	r.s.Runs = kept
}

// workload is that of a run; nil: it is as it was looked at before.
func (r *round) workload(run *core.ScheduledRun) *core.Workload {
	if w, _, live := r.tx.View(run.ID); live {
		return w
	}
	if !run.Live() && run.Phase != lifecycle.Deleting {
		return nil
	}
	w, err := r.tx.State.D.Store.Workload(r.tx.Ctx, run.ID)
	if err != nil {
		r.tx.State.D.Log.Error("a run of a schedule cannot be read", "workload", run.ID, "err", err)
		return nil
	}
	return w
}

// forget deletes the oldest runs that have ended, of those beyond what is kept.
func (r *round) forget() {
	var completed, failed []core.ScheduledRun
	for _, run := range r.s.Runs {
		switch {
		case run.Live() || run.Phase == lifecycle.Deleting:
		case run.Phase == lifecycle.Completed:
			completed = append(completed, run)
		default:
			failed = append(failed, run)
		}
	}
	for _, of := range []struct {
		runs []core.ScheduledRun
		keep int
	}{{completed, r.s.KeepCompleted}, {failed, r.s.KeepFailed}} {
		slices.SortStableFunc(of.runs, func(a, b core.ScheduledRun) int { return a.EndedAt.Compare(b.EndedAt) })
		for _, run := range of.runs[:max(0, len(of.runs)-of.keep)] {
			if _, err := submission.Delete(draft.Ref{ID: run.ID}, actor(&r.t))(r.tx); err != nil {
				r.tx.State.D.Log.Warn("a run of a schedule was not deleted", "schedule", r.t.Name, "workload", run.Name, "err", err)
				continue
			}
			i := slices.IndexFunc(r.s.Runs, func(x core.ScheduledRun) bool { return x.ID == run.ID })
			r.s.Runs[i].Phase, r.changed = lifecycle.Deleting, true
		}
	}
}

// start does what the clock asks for, and says when it does so again; zero: never.
func (r *round) start() time.Time {
	e, err := recur.Parse(r.s.Cron)
	zone, zerr := r.tx.State.Agenda.Zone(r.s.TimeZone)
	if err = cmp.Or(err, zerr); err != nil { // a zone that this machine does not know, unlike the one before
		r.event(core.RunRefused, r.tx.Now.Truncate(time.Hour), err.Error())
		return r.tx.Now.Add(time.Hour)
	}
	running := 0
	for _, run := range r.s.Runs {
		running += core.Bit(run.Live())
	}
	a := recur.Decide(recur.Question{
		Expression: e, Zone: zone, From: r.s.From, Suspended: r.s.Suspended, Within: r.s.Within, Concurrency: r.s.Concurrency, Running: running,
	}, r.tx.Now)
	switch {
	case !a.TooLate.IsZero():
		r.event(core.RunTooLate, a.TooLate, fmt.Sprintf("it would have started %v after its time, and startingDeadline is %v", r.tx.Now.Sub(a.TooLate).Round(time.Second), r.s.Within))
		r.missed(a.TooLate, a.Missed)
		r.passed(a.TooLate)
	case !a.Held.IsZero():
		r.event(core.RunHeld, a.Held, "it waits: a run before it has not ended, and concurrency is forbid")
	case !a.Start.IsZero():
		return workload.Earliest(a.Next, r.begin(a, running))
	}
	return a.Next
}

// begin starts the run of a time. Where it was refused for now only it says when that
// is tried again.
func (r *round) begin(a recur.Answer, running int) time.Time {
	err := r.run(a, running)
	var refused *draft.Error
	if errors.As(err, &refused) && slices.Contains(passing, refused.Code) {
		r.event(core.RunRefused, a.Start, shortened(sentence(err))+"; it is tried again in "+refusedAgain.String())
		return r.tx.Now.Add(refusedAgain)
	}
	if err != nil {
		r.event(core.RunRefused, a.Start, shortened(sentence(err)))
		r.tx.State.D.Log.Warn("a run of a schedule was refused", "schedule", r.t.Name, "project", r.t.Project, "due", a.Start, "err", err)
	}
	r.missed(a.Start, a.Missed)
	r.passed(a.Start)
	return time.Time{}
}

func (r *round) run(a recur.Answer, running int) error {
	if running >= liveMost && !a.Replace {
		return &draft.Error{Code: draft.CodeConflict, Message: fmt.Sprintf("%d of its runs have not ended", running), Hint: "stop some of them, or give it concurrency forbid or replace"}
	}
	doc, err := document(r.tx, &r.t)
	if err == nil {
		err = rightsOf(r.tx, &r.t, doc)
	}
	if err != nil {
		return err
	}
	doc.Name = recur.RunName(r.t.Name, a.Start)
	doc.Annotations = with(doc.Annotations, core.AnnotationDueAt, a.Start.Format(time.RFC3339))
	w, err := r.submit(doc, actor(&r.t))
	if err != nil {
		return err
	}
	if a.Replace {
		r.replace(a.Start)
	}
	r.s.Runs = append(r.s.Runs, core.ScheduledRun{ID: w.ID, Name: w.Name, At: a.Start, MadeAt: r.tx.Now})
	r.s.Last = a.Start
	return nil
}

// submit makes a workload of a document that has its name, as the schedule's owner.
func (r *round) submit(doc *spec.Document, by string) (*core.Workload, error) {
	doc.Labels = with(doc.Labels, core.LabelSchedule, r.t.Name)
	made, err := submission.Submit(submission.Submission{Doc: doc, User: r.t.User, As: asOf(r.tx, &r.t), Actor: by})(r.tx)
	if err != nil {
		return nil, err
	}
	return made.Workload, nil
}

// asOf is who a schedule's runs are of, as the machine knows them; nil: tasks do not run
// as who submits them.
func asOf(tx *draft.Tx, t *core.Template) *core.OSUser {
	if !tx.State.D.AsSubmitter {
		return nil
	}
	return t.Schedule.As
}

// replace stops the runs that have not ended.
func (r *round) replace(due time.Time) {
	stopped := 0
	for _, run := range r.s.Runs {
		w, _, live := r.tx.View(run.ID)
		if !run.Live() || !live || w.Phase == lifecycle.Terminating {
			continue
		}
		if _, err := submission.Stop(submission.StopRequest{Ref: draft.Ref{ID: run.ID}, Actor: actor(&r.t), Message: "the next run of its schedule is due, and concurrency is replace"})(r.tx); err != nil {
			r.tx.State.D.Log.Warn("a run of a schedule was not stopped for the next", "schedule", r.t.Name, "workload", run.Name, "err", err)
			continue
		}
		stopped++
	}
	if stopped > 0 {
		r.event(core.RunReplaced, due, fmt.Sprintf("%d of its runs had not ended and were stopped for it", stopped))
	}
}

// passed notes that the times up to one have been seen to.
func (r *round) passed(at time.Time) { r.s.From, r.changed = at, true }

// missed tells of the times before one that have had no run.
func (r *round) missed(due time.Time, n int) {
	switch {
	case n > recur.ManyMissed:
		r.event(core.TimesMissed, due, fmt.Sprintf("more than %d times before it have had no run", recur.ManyMissed))
	case n > 0:
		r.event(core.TimesMissed, due, fmt.Sprintf("%d times before it have had no run", n))
	}
}

// event tells of what has happened to a time, once.
func (r *round) event(what core.ScheduleEventKind, due time.Time, message string) {
	e := core.ScheduleEvent{What: what, At: r.tx.Now, Due: due, Count: 1, Message: message}
	if n := len(r.s.Events); n > 0 && r.s.Events[n-1].What == what {
		last := r.s.Events[n-1]
		if last.Due.Equal(due) && last.Message == message {
			return
		}
		e.Count = last.Count + 1
		r.s.Events = r.s.Events[:n-1] // one line says it for all of them
	}
	r.s.Events = append(r.s.Events, e)
	r.s.Events = r.s.Events[max(0, len(r.s.Events)-eventsKept):]
	r.changed = true
}

func shortened(text string) string {
	if all := []rune(text); len(all) > refusedLongest {
		return string(all[:refusedLongest]) + "…"
	}
	return text
}

// with is a map with another entry; the map itself stays as it is.
func with(m map[string]string, k, v string) map[string]string {
	out := map[string]string{k: v}
	for key, value := range m {
		if key != k {
			out[key] = value
		}
	}
	return out
}
