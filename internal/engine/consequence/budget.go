package consequence

import (
	"fmt"
	"strconv"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/budget"
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
