package consequence

import (
	"fmt"
	"strconv"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/budget"
	"github.com/musterhq/muster/internal/core/decide"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/engine/accounts"
	"github.com/musterhq/muster/internal/engine/draft"
)

// OverNote says which budget is used up, by how much, and when it is counted anew.
func OverNote(tx *draft.Tx, x *accounts.Exceeded) string {
	r := tx.State.Spending.Rates
	_, all := x.Account.Of(&x.Budget, tx.Now, r)
	out := fmt.Sprintf("the budget of %s is used up: %s of %s since %s", WhoseBudget(x.Account), BudgetAmount(&x.Budget, x.Used, r), BudgetAmount(&x.Budget, all, r), x.Account.From.UTC().Format(time.RFC3339))
	if next := x.Account.Key.Next(x.Account.Until); !next.IsZero() {
		return out + "; it is counted anew at " + next.UTC().Format(time.RFC3339)
	}
	return out + "; it is for the time until " + x.Account.Until.UTC().Format(time.RFC3339)
}

// OverPending is that a budget is used up, as a reason for waiting.
func OverPending(tx *draft.Tx, w *core.Workload) schedule.Reason {
	x := tx.State.Spending.Over(w.Project, w.User)
	r := schedule.Reason{Token: schedule.OverBudget, Queue: x.Account.Key.Scope, User: x.Account.Key.User, Note: OverNote(tx, x), Until: x.Account.Until.UnixMilli()}
	return r
}

// WhoseBudget names a scope, or a user in it.
func WhoseBudget(a *budget.Account) string {
	if a.Key.User != "" {
		return a.Key.User + " in " + string(a.Key.Scope)
	}
	return string(a.Key.Scope)
}

// BudgetAmount is an amount of a budget in words: GPU-hours, or money.
func BudgetAmount(b *core.Budget, n float64, r budget.Rates) string {
	if b.Money > 0 {
		return strconv.FormatFloat(n, 'f', 2, 64) + " " + r.Currency
	}
	return strconv.FormatFloat(n/3600, 'f', 2, 64) + " GPU-hours"
}

// firstOf is the first of several pools; empty: any.
func firstOf(pools []string) string {
	if len(pools) == 0 {
		return ""
	}
	return pools[0]
}

// Short says of which budgets above a workload that is submitted more would be used, by
// its own time limit or its project's, than is left of them; nothing where it has no
// limit, or uses no GPUs.
func Short(tx *draft.Tx, w *core.Workload) (warnings []string) {
	s := &tx.State.Spending
	lines := s.Lines[w.Project]
	milli := int64(w.Spec.TotalMilli())
	if len(lines) == 0 || milli == 0 {
		return nil
	}
	end, ok := decide.FirstEnd(w.Kind, w.Spec, w.Project, tx.Tree().BoundsOf(w), tx.Now, time.Time{})
	if !ok {
		return nil
	}
	for i := range lines {
		k := lines[i].Key
		if lines[i].Each {
			k.User = w.User
		}
		a := s.Accounts[k]
		if a == nil { // nothing was used yet
			a = budget.NewAccount(k, tx.Now, nil)
		}
		for j := range lines[i].Budgets {
			b := &lines[i].Budgets[j]
			needs, left := a.Needs(b, budget.SortOf(firstOf(w.Spec.Pools), w.Spec.Resources.GPU.Type), milli, end.Length, tx.Now, s.Rates)
			if needs <= left {
				continue
			}
			text := fmt.Sprintf("it may use %s until %s, by its time limit of %v, and of the budget of %s %s are left", BudgetAmount(b, needs, s.Rates), a.Until.UTC().Format(time.RFC3339), end.Length, WhoseBudget(a), BudgetAmount(b, left, s.Rates))
			switch b.AtEnd {
			case core.BudgetStop:
				text += "; once that is used up it has to leave"
			case core.BudgetHold:
				text += "; once that is used up nothing new starts, and what runs goes on"
			}
			warnings = append(warnings, text)
		}
	}
	return warnings
}
