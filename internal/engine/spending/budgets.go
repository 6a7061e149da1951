package spending

import (
	"cmp"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/budget"
	"github.com/musterhq/muster/internal/engine/draft"
)

// State is how a budget stands.
type State struct {
	core.Budget
	Scope       core.ProjectID
	Department  bool
	User        string // of whom it is; empty: of all, or of each who has used nothing yet
	From, Until time.Time
	Used        float64 // device-seconds, or money
	All         float64 // of as many
	Warned      float64 // the highest share that was passed; 0: none
	Over        bool
	OverAt      time.Time // when it will be used up if nothing changes; zero: not in this time
	Currency    string
}

// Budgets are all budgets of projects and departments, by scope; of those that each
// user has, one for each who has used some.
func Budgets() draft.Command[[]State] {
	return func(tx *draft.Tx) ([]State, error) {
		s := &tx.State.Spending
		var out []State
		seen := map[budget.Key]bool{}
		add := func(k budget.Key, a *budget.Account, b core.Budget) {
			p, _ := tx.Project(k.Scope)
			x := State{Budget: b, Scope: k.Scope, Department: p.Department, User: k.User, Currency: s.Rates.Currency}
			x.From, x.Until = k.Window(tx.Now)
			if _, x.All = (&budget.Account{}).Of(&b, tx.Now, s.Rates); a != nil {
				x.Used, x.All = a.Of(&b, tx.Now, s.Rates)
				for _, l := range a.Levels {
					if l.Budget.Same(&b) {
						x.Warned, x.Over = l.Warned, l.Over
					}
				}
				if !x.Over && tx.Now.Before(x.Until) {
					x.OverAt = a.Reached(&b, x.All, tx.Now, s.Rates)
				}
			}
			out = append(out, x)
		}
		for k, a := range s.Accounts {
			base := k
			base.User = ""
			seen[base] = true
			for _, l := range a.Levels {
				add(k, a, l.Budget)
			}
		}
		for p := range tx.EachProject() {
			for _, b := range p.Budgets {
				if k := budget.KeyOf(p.ID, &b, ""); !seen[k] {
					add(k, nil, b)
				}
			}
		}
		slices.SortFunc(out, func(x, y State) int {
			return cmp.Or(cmp.Compare(x.Scope, y.Scope), cmp.Compare(x.User, y.User), cmp.Compare(x.Period, y.Period), x.From.Compare(y.From), cmp.Compare(x.Money, y.Money))
		})
		return out, nil
	}
}
