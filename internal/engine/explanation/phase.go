package explanation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/admission"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/forecast"
	"github.com/musterhq/muster/internal/engine/checking"
	"github.com/musterhq/muster/internal/engine/consequence"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/planner"
	"github.com/musterhq/muster/internal/engine/workload"
)

// Pending is why and how long a workload waits.
type Pending struct {
	schedule.Explanation
	AheadNames []string
	// Start is when it is expected to start, as it was told last; its parts are 0
	// where nobody can tell.
	Start forecast.Span
	Phase lifecycle.Phase // in which this is so; a record read before may be of another
}

// Explain answers, for each of the ids that waits, why. It is the cheap answer
// of lists; Study has the whole one.
func Explain(ids []core.WorkloadID) draft.Command[map[core.WorkloadID]Pending] {
	return func(tx *draft.Tx) (map[core.WorkloadID]Pending, error) {
		out := map[core.WorkloadID]Pending{}
		asked := false
		for _, id := range ids {
			w, tasks, ok := tx.View(id)
			if !ok {
				continue
			}
			if p, ok := PendingOf(tx, w, tasks); ok {
				p.Phase = w.Phase
				out[id] = p
				continue
			}
			if !tx.State.Wants(w, tasks) || w.Phase.Held() {
				continue
			}
			if !asked {
				asked = true
				planner.Sync(tx)
				planner.Ends(tx)
			}
			if ex, ok := planner.Explain(tx, id); ok {
				b := planner.BarredFor(tx, w)
				for i := range ex.Reasons {
					b.Into(&ex.Reasons[i])
				}
				out[id] = Pending{Explanation: named(tx, ex), AheadNames: namesOf(tx, ex.Ahead), Phase: w.Phase}
			}
		}
		return out, nil
	}
}

// Foremost are the ids of at most n of those that wait for room, the first of every
// queue before the second of any.
func Foremost(n int) draft.Command[[]core.WorkloadID] {
	return func(tx *draft.Tx) ([]core.WorkloadID, error) {
		planner.Sync(tx)
		return tx.State.Sched.Foremost(n), nil
	}
}

// Committed are those of the ids that live, as they are committed: never changed, so
// that anybody may read them.
func Committed(ids []core.WorkloadID) draft.Command[[]*core.Workload] {
	return func(tx *draft.Tx) ([]*core.Workload, error) {
		out := make([]*core.Workload, 0, len(ids))
		for _, id := range ids {
			if en := tx.State.Live[id]; en != nil && en.W != nil {
				out = append(out, en.W)
			}
		}
		return out, nil
	}
}

// named puts names into reasons that are about other workloads.
func named(tx *draft.Tx, ex schedule.Explanation) schedule.Explanation {
	for i := range ex.Reasons {
		r := &ex.Reasons[i]
		if w, _, ok := tx.View(r.For); ok {
			r.Note = keptNote(w, r.Until)
		}
	}
	return ex
}

func keptNote(w *core.Workload, until int64) string {
	return fmt.Sprintf("%s starts with it at the latest at %s", w.Name, time.UnixMilli(until).UTC().Format(time.RFC3339))
}

// PendingOf is why w waits in a phase in which that is not the scheduler's matter;
// false: it is, or it does not wait.
func PendingOf(tx *draft.Tx, w *core.Workload, tasks *workload.Tasks) (Pending, bool) {
	p, ok := ofPhase(tx, w, tasks)
	if ok && w.Hold != nil && w.Phase != lifecycle.Inadmissible { // it is still on its way to where it is held
		p.Reasons = append([]schedule.Reason{consequence.HeldPending(w.Hold)}, p.Reasons...)
		p.EarliestStart = 0
	}
	return p, ok
}

func ofPhase(tx *draft.Tx, w *core.Workload, tasks *workload.Tasks) (Pending, bool) {
	switch phase := w.Phase; {
	case phase == lifecycle.Submitted:
		return OneReason(schedule.Reason{Token: schedule.NotYetEvaluated, Note: w.Message}), true
	case phase == lifecycle.Reviewing:
		return checksPending(tx, w, workload.AtQueue), true
	case phase == lifecycle.Building:
		return OneReason(schedule.Reason{Token: schedule.ImageBuild, Note: "muster logs " + w.Name + " shows the build"}), true
	case workload.HeldBack(w, tasks):
		return perTaskPending(tx, w), true
	case phase.InQueue():
		if w.Phase == lifecycle.Queued && !w.AskAt.IsZero() && w.Cause != lifecycle.CauseCheck {
			return rests(w, w.Message), true
		}
		if w.Phase == lifecycle.Reserved && workload.ChecksOpen(w, workload.AtReservation) || !w.AskAt.IsZero() {
			p := checksPending(tx, w, workload.AtReservation)
			if !w.AskAt.IsZero() {
				p.EarliestStart = w.AskAt.UnixMilli()
			}
			return p, true
		}
		if w.Kind.Foreign() {
			if r, ok := tx.State.Lacks(w, tasks); ok {
				return OneReason(r), true
			}
		}
		return Pending{}, false
	case phase == lifecycle.Inadmissible:
		return shut(tx, w), true
	case phase == lifecycle.Backoff:
		p := OneReason(schedule.Reason{Token: schedule.RetryBackoff, Note: w.Message})
		if !w.WakeAt.IsZero() {
			p.EarliestStart, p.Reasons[0].Until = w.WakeAt.UnixMilli(), w.WakeAt.UnixMilli()
		}
		return p, true
	case phase.Active():
		p, ok := Pending{}, false
		if w.Phase != lifecycle.Running {
			p, ok = startingPending(tasks)
		}
		if !ok && w.Phase == lifecycle.Starting && w.Kind.Replicated() {
			p, ok = unreadyPending(w, tasks)
		}
		if t := workload.Refused(tasks); !ok && t != nil && !w.AskAt.IsZero() {
			return rests(w, workload.Blame(w, t)), true
		}
		return p, ok
	default:
		return Pending{}, false
	}
}

// rests is why w is not placed again at once, though there may be room.
func rests(w *core.Workload, note string) Pending {
	until := w.AskAt.UnixMilli()
	p := OneReason(schedule.Reason{Token: schedule.RetryBackoff, Note: note, Until: until})
	p.EarliestStart = until
	return p
}

// OneReason is a wait for one reason.
func OneReason(r schedule.Reason) Pending {
	return Pending{Explanation: schedule.Explanation{Reasons: []schedule.Reason{r}}}
}

// shut is why its queue does not take w.
func shut(tx *draft.Tx, w *core.Workload) Pending {
	var out Pending
	if w.Hold != nil {
		out = OneReason(consequence.HeldPending(w.Hold))
	}
	why, note := consequence.Closed(tx, w.Project)
	r := schedule.Reason{Token: schedule.QueueStopped, Queue: w.Project, Note: note}
	switch {
	case why == consequence.QueueOpen && tx.State.Spending.Over(w.Project, w.User) != nil:
		r = consequence.OverPending(tx, w)
		out.EarliestStart = r.Until
		if w.Hold != nil {
			out.EarliestStart = 0
		}
		out.Reasons = append(out.Reasons, r)
		return out
	case why == consequence.QueueOpen && w.Hold != nil:
		return out
	case why == consequence.QueueOpen: // it is about to be queued
		r.Note = w.Message
	case why == consequence.QueueMissing:
		r.Token = schedule.QueueNotFound
	}
	if mode, who := tx.Tree().Stopped(w.Project); mode != core.StopNone {
		r.Queue = who.ID
	}
	out.Reasons = append(out.Reasons, r)
	return out
}

// checksPending has a reason for every check that has not been approved.
func checksPending(tx *draft.Tx, w *core.Workload, when string) Pending {
	var p Pending
	for _, c := range w.Checks {
		if c.When == when && c.Verdict != core.CheckApproved && (c.Type == workload.CheckAfter || c.Type == workload.CheckTime) {
			p.Reasons = append(p.Reasons, consequence.ForegoingPending(tx, &c))
			if c.Type == workload.CheckTime || !c.Came.IsZero() {
				p.EarliestStart = max(p.EarliestStart, c.AskAt.UnixMilli())
			}
		} else if c.When == when && c.Verdict != core.CheckApproved {
			p.Reasons = append(p.Reasons, schedule.Reason{Token: schedule.AdmissionChecks, Resource: c.Name, Note: checkNote(tx, w, &c), Remedy: remedy(tx, w, &c)})
		} else if c.Verdict == core.CheckApproved {
			p.Checked = append(p.Checked, schedule.Check{What: "check " + c.Name, Note: "approved by " + c.By})
		}
	}
	if len(p.Reasons) == 0 { // it is about to be asked
		p.Reasons = []schedule.Reason{{Token: schedule.AdmissionChecks, Note: w.Message}}
	}
	return p
}

// perTaskPending is for which tasks of others those of w wait.
func perTaskPending(tx *draft.Tx, w *core.Workload) Pending {
	var p Pending
	if len(w.HeldTasks) > 0 {
		note := "held as far as its tasks " + workload.SpanWords(w.HeldTasks) + " go"
		p.Reasons = append(p.Reasons, schedule.Reason{Token: schedule.HeldBack, Note: note})
	}
	for _, c := range w.Checks {
		if len(c.Left) > 0 {
			p.Reasons = append(p.Reasons, consequence.ForegoingPending(tx, &c))
		}
	}
	return p
}

// alsoMost is how many are named who could approve something.
const alsoMost = 5

// alsoMay are some who could approve a check beside those who have.
func alsoMay(tx *draft.Tx, w *core.Workload, c *core.CheckState) (out []string) {
	people := checking.People(tx, w, "", false)
	names := slices.Clone(c.Users)
	if c.Role != "" {
		names = append(names, tx.Rights().Holders(c.Role, w.Project, alsoMost+len(c.Votes)+1)...)
	}
	if len(names) == 0 && tx.Rights().Enabled() {
		for _, u := range tx.Rights().Users() {
			names = append(names, u.Name)
		}
	}
	for _, name := range names {
		if _, refused := admission.Voter(c, w.User, name, people); refused == nil && len(out) < alsoMost && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

func checkNote(tx *draft.Tx, w *core.Workload, c *core.CheckState) string {
	var b strings.Builder
	switch c.Type {
	case admission.Image:
		fmt.Fprintf(&b, "check %s waits for a review of image %s before its first use", c.Name, strings.Join(c.Images, " and "))
	case "approval":
		who := "anybody"
		if len(c.Users) > 0 {
			who = strings.Join(c.Users, " or ")
		}
		if c.Scope != "" {
			who = admission.Whom(c)
		}
		fmt.Fprintf(&b, "check %s waits for %s to approve it", c.Name, who)
	case "budget":
		fmt.Fprintf(&b, "check %s waits for room in the budget of %s", c.Name, w.Project)
	default:
		fmt.Fprintf(&b, "check %s waits for the answer of its %s", c.Name, c.Type)
	}
	fmt.Fprintf(&b, " since %s", w.PhaseAt.UTC().Format(time.RFC3339))
	if c.Need > 0 {
		fmt.Fprintf(&b, "; %s", admission.Tally(c))
		if also := alsoMay(tx, w, c); len(also) > 0 {
			fmt.Fprintf(&b, "; who else may: %s", strings.Join(also, ", "))
		}
	}
	if c.Message != "" {
		fmt.Fprintf(&b, "; the last answer: %s", c.Message)
	}
	if !c.AskAt.IsZero() {
		fmt.Fprintf(&b, "; asked again at %s", c.AskAt.UTC().Format(time.RFC3339))
	}
	if !c.Deadline.IsZero() && c.Again {
		fmt.Fprintf(&b, "; asked anew at %s", c.Deadline.UTC().Format(time.RFC3339))
	} else if !c.Deadline.IsZero() {
		fmt.Fprintf(&b, "; rejected at %s", c.Deadline.UTC().Format(time.RFC3339))
	}
	return b.String()
}

// startingPending says what tasks that are not up yet are at.
func startingPending(tasks *workload.Tasks) (Pending, bool) {
	var p Pending
	at := map[schedule.Token]int{}
	for _, t := range workload.SortedTasks(tasks) {
		if t.State != core.TaskStarting {
			continue
		}
		token := schedule.Initializing
		if strings.Contains(t.Waiting, "Pull") || strings.HasPrefix(t.Message, "pulling ") {
			token = schedule.ImagePull
		}
		i, ok := at[token]
		if !ok {
			i = len(p.Reasons)
			at[token] = i
			p.Reasons = append(p.Reasons, schedule.Reason{Token: token, Note: taskNote(t)})
		}
		p.Reasons[i].Tasks++
	}
	return p, len(p.Reasons) > 0
}

// unreadyPending says what replicas that run are not ready for.
func unreadyPending(w *core.Workload, tasks *workload.Tasks) (Pending, bool) {
	var p Pending
	for _, t := range workload.SortedTasks(tasks) {
		if t.State != core.TaskRunning || t.Ready || t.Leaving {
			continue
		}
		if len(p.Reasons) == 0 {
			port, what := t.Port, "does not accept connections yet"
			if b := w.Spec.Probe; b != nil {
				if b.Path != "" {
					what = "has not answered GET " + b.Path + " with 200 to 399 yet"
				}
				port = cmp.Or(port, b.Port)
			}
			if port == 0 && len(w.Spec.Ports) > 0 {
				port = w.Spec.Ports[0].Port
			}
			note := fmt.Sprintf("%s %d on %s runs, but its port %d (it is told in $PORT) %s", t.Role, t.ID.Index, t.Node, port, what)
			p.Reasons = append(p.Reasons, schedule.Reason{Token: schedule.Initializing, Note: note})
		}
		p.Reasons[0].Tasks++
	}
	return p, len(p.Reasons) > 0
}

// taskNote is what one task is at, in its backend's words.
func taskNote(t *core.Task) string {
	out := fmt.Sprintf("%s %d on %s", t.Role, t.ID.Index, t.Node)
	for _, more := range []string{t.Waiting, t.Message} {
		if more != "" {
			out += ", " + more
		}
	}
	return out
}

func namesOf(tx *draft.Tx, ids []core.WorkloadID) []string {
	names := make([]string, 0, len(ids))
	for _, id := range ids {
		if w, _, ok := tx.View(id); ok {
			names = append(names, w.Name)
		}
	}
	return names
}
