package explanation

import (
	"fmt"
	"strconv"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine/draft"
)

// remedy is what helps a workload past a check, and who can give it.
func remedy(tx *draft.Tx, w *core.Workload, c *core.CheckState) string {
	switch c.Type {
	case "approval", "image":
		return fmt.Sprintf("ask those who may approve it: muster approve %s --check %s", w.Name, c.Name)
	case "budget":
		return budgetRemedy(tx, w)
	default:
		if c.Scope != "" {
			return "wait for its answer, or ask who may change it: muster check describe " + draft.CheckName(c)
		}
		return "wait for its answer, or ask who runs " + c.URL
	}
}

// budgetRemedy is what helps against a budget: nobody approves that by hand.
func budgetRemedy(tx *draft.Tx, w *core.Workload) string {
	d, rate := time.Duration(w.Spec.MaxDuration), float64(w.Spec.TotalMilli())/1000
	for _, b := range tx.Tree().Budgets(w.Project) {
		whole, until := min(d, b.Period).Seconds()*rate, tx.Now.Truncate(b.Period).Add(b.Period)
		raise := fmt.Sprintf("have it raised: muster project update %s --budget", b.ID)
		if whole <= b.Budget {
			continue
		}
		if b.Budget <= 0 {
			return "no wait helps: " + raise
		}
		most := time.Duration(b.Budget / rate * float64(time.Second)).Truncate(time.Second)
		return fmt.Sprintf("it may use %s GPU-hours, which is more than the whole budget of %s (%s in every %s): give it a --max-duration of at most %s, or %s; as it is it fits at the earliest at %s, when so little is left of the period",
			hours(whole), b.ID, hours(b.Budget), b.Period, most, raise, until.Add(-most).UTC().Format(time.RFC3339))
	}
	out := ""
	for _, b := range tx.Tree().Budgets(w.Project) {
		if until := tx.Now.Truncate(b.Period).Add(b.Period).UTC().Format(time.RFC3339); out == "" || until > out {
			out = until
		}
	}
	if out == "" {
		return "wait: it is asked again within minutes"
	}
	return "wait until others end that have been promised it, or until the next period at " + out + "; ask for less, or have the budget raised"
}

// hours are GPU-seconds in GPU-hours.
func hours(seconds float64) string { return strconv.FormatFloat(seconds/3600, 'f', -1, 64) }
