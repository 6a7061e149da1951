package spending

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/budget"
	"github.com/musterhq/muster/internal/core/decide"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/accounts"
	"github.com/musterhq/muster/internal/engine/consequence"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/workload"
)

// judge looks at every account whose time has come or that is new, and draws what
// follows for workloads.
func judge(tx *draft.Tx) {
	s := &tx.State.Spending
	var due []*budget.Account
	for a := s.Due(tx.Now); a != nil; a = s.Due(tx.Now) {
		due = append(due, a)
	}
	for k := range s.Touched {
		if a := s.Accounts[k]; a != nil && slices.ContainsFunc(a.Levels, func(l budget.Level) bool { return !l.Judged }) {
			due = append(due, a)
		}
	}
	slices.SortFunc(due, func(a, b *budget.Account) int {
		switch {
		case a.Key.Less(b.Key):
			return -1
		case b.Key.Less(a.Key):
			return 1
		}
		return 0
	})
	for _, a := range slices.Compact(due) {
		was := slices.Clone(a.Levels)
		changed := a.Judge(tx.Now, s.Rates)
		s.Plan(a)
		for _, i := range changed {
			follow(tx, a, was[i], a.Levels[i])
		}
	}
}

// follow draws what follows for workloads when a budget stands otherwise than before.
func follow(tx *draft.Tx, a *budget.Account, was, is budget.Level) {
	news := was.Judged && (is.Over && !was.Over || is.Warned > was.Warned)
	acts := is.Budget.AtEnd != core.BudgetWarn && is.Over != was.Over
	if was.Judged && !is.Over && !is.Announced.Equal(was.Announced) {
		foretell(tx, a, &is)
	}
	if !news && !acts {
		return
	}
	notified := map[string]bool{}
	for id := range tx.Workloads() {
		w, _, ok := tx.View(id)
		if !ok || w.Phase.End() || a.Key.User != "" && a.Key.User != w.User || !tx.Tree().Below(w.Project, a.Key.Scope) {
			continue
		}
		first := news && !notified[w.User] && (w.Phase.Active() || w.Phase.InQueue())
		notified[w.User] = notified[w.User] || first
		if err := reconsider(tx, w, first, &is, a); err != nil {
			tx.State.D.Log.Error("budget does not fit the state", "workload", id, "err", err)
		}
	}
}

// reconsider applies what holds now to one workload; the first of each user tells of
// the budget.
func reconsider(tx *draft.Tx, w *core.Workload, notify bool, is *budget.Level, a *budget.Account) error {
	why, note := consequence.ClosedTo(tx, w)
	open := why == consequence.QueueOpen
	x := tx.State.Spending.Over(w.Project, w.User)
	toggles := !open && w.Phase.InQueue() || open && w.Phase == lifecycle.Inadmissible
	leaves := x != nil && stops(tx, w) && w.Phase.Active()
	grows := w.Phase.Held() && !leaves // whether what runs may have more is asked as it is put into the indexes
	spared := leavesSoon(w) && x == nil && !near(tx, w)
	if !toggles && !leaves && !notify && !grows && !spared {
		return nil
	}
	d, _ := tx.Open(w.ID)
	if !toggles && !leaves && !notify && !spared {
		draft.Reindexed(tx, d)
		return nil
	}
	return tx.Change(d, func() error {
		if spared {
			d.Condition(core.Condition{Type: lifecycle.DeadlineNear}, false)
		}
		if notify {
			what, message := lifecycle.BudgetNear, Near(a, is, tx.Now, tx.State.Spending.Rates)
			if is.Over {
				what, message = lifecycle.BudgetOver, consequence.OverNote(tx, &accounts.Exceeded{Account: a, Level: *is})
			}
			d.Notify(what, message)
		}
		switch {
		case toggles:
			return consequence.ToQueue(tx, d)
		case leaves:
			return consequence.End(tx, d, lifecycle.Input{On: lifecycle.Preempt, Target: decide.AfterPreemption(d.W.Kind, d.W.Spec), Cause: lifecycle.CauseBudget, Message: note}, draft.ActorControl)
		}
		return nil
	})
}

// stops reports whether some budget that is used up has what runs leave.
func stops(tx *draft.Tx, w *core.Workload) bool {
	s := &tx.State.Spending
	for _, l := range s.Lines[w.Project] {
		k := l.Key
		if l.Each {
			k.User = w.User
		}
		if a := s.Accounts[k]; a != nil && slices.ContainsFunc(a.Levels, func(x budget.Level) bool { return x.Over && x.Budget.AtEnd == core.BudgetStop }) {
			return true
		}
	}
	return false
}

// sweep applies what holds to all workloads below a budget, or that were, after budgets
// or prices have changed, and when a server begins: what waited for one may go on.
func sweep(tx *draft.Tx, former map[core.ProjectID][]accounts.Line) {
	s := &tx.State.Spending
	for id := range tx.Workloads() {
		w, tasks, ok := tx.View(id)
		if !ok || w.Phase.End() || len(s.Lines[w.Project])+len(former[w.Project]) == 0 && w.Phase != lifecycle.Inadmissible {
			continue
		}
		if w.Phase.Held() && s.Over(w.Project, w.User) == nil && !workload.Waiting(w, tasks) && !leavesSoon(w) {
			continue
		}
		if err := reconsider(tx, w, false, nil, nil); err != nil {
			tx.State.D.Log.Error("budget does not fit the state", "workload", id, "err", err)
		}
	}
}

// Near says how much of a budget was used.
func Near(a *budget.Account, l *budget.Level, now time.Time, r budget.Rates) string {
	_, all := a.Of(&l.Budget, now, r)
	return fmt.Sprintf("%s of %s is used by more than %s%%: %s of %s until %s", "the budget", consequence.WhoseBudget(a), strconv.FormatFloat(l.Warned*100, 'f', -1, 64),
		consequence.BudgetAmount(&l.Budget, l.Used, r), consequence.BudgetAmount(&l.Budget, all, r), a.Until.UTC().Format(time.RFC3339))
}

// leavesSoon reports whether a workload was told that it will have to leave for a budget.
func leavesSoon(w *core.Workload) bool {
	c := workload.Condition(w, lifecycle.DeadlineNear)
	return c != nil && c.Cause == lifecycle.ConditionCause(lifecycle.CauseBudget)
}

// near reports whether of some budget above a workload it was told that it will soon have
// what runs leave.
func near(tx *draft.Tx, w *core.Workload) bool {
	s := &tx.State.Spending
	for _, l := range s.Lines[w.Project] {
		k := l.Key
		if l.Each {
			k.User = w.User
		}
		if a := s.Accounts[k]; a != nil && slices.ContainsFunc(a.Levels, func(x budget.Level) bool { return x.Announced.Equal(a.From) }) {
			return true
		}
	}
	return false
}

// foretell tells what runs below a budget that it will have to leave soon: by a condition
// of each, and each user once.
func foretell(tx *draft.Tx, a *budget.Account, is *budget.Level) {
	r := tx.State.Spending.Rates
	_, all := a.Of(&is.Budget, tx.Now, r)
	message := fmt.Sprintf("it will have to leave at about %s: at the present rate the budget of %s is used up then, %s of %s by now", a.Reached(&is.Budget, all, tx.Now, r).UTC().Format(time.RFC3339),
		consequence.WhoseBudget(a), consequence.BudgetAmount(&is.Budget, is.Used, r), consequence.BudgetAmount(&is.Budget, all, r))
	notified := map[string]bool{}
	for id := range tx.Workloads() {
		w, _, ok := tx.View(id)
		if !ok || !w.Phase.Active() || a.Key.User != "" && a.Key.User != w.User || !tx.Tree().Below(w.Project, a.Key.Scope) {
			continue
		}
		d, ok := tx.Open(id)
		if !ok {
			continue
		}
		if err := tx.Change(d, func() error {
			d.Condition(core.Condition{Type: lifecycle.DeadlineNear}, false) // of an earlier window
			d.Fact(lifecycle.DeadlineNear, true, tx.Now, lifecycle.ConditionCause(lifecycle.CauseBudget), message)
			if !notified[w.User] {
				d.Notify(lifecycle.BudgetNear, message)
			}
			return nil
		}); err != nil {
			tx.State.D.Log.Error("the end of a budget cannot be told", "workload", id, "err", err)
		}
		notified[w.User] = true
	}
}
