package explanation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/consequence"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/planner"
)

// ClaimsWaiting are the keys of claims of a backend that have members without a
// place.
func ClaimsWaiting(backendName string) draft.Command[[]string] {
	return func(tx *draft.Tx) ([]string, error) {
		var out []string
		for k, c := range tx.State.Claims.Of {
			if k.Backend != backendName {
				continue
			}
			for _, m := range c.Members {
				if m.Task == (core.TaskID{}) {
					out = append(out, k.Key)
					break
				}
			}
		}
		slices.Sort(out)
		return out, nil
	}
}

// WordsOf is why claims of a backend wait. Those that do not are left out.
func WordsOf(backendName string, keys []string) draft.Command[[]backend.Word] {
	return func(tx *draft.Tx) ([]backend.Word, error) {
		var out []backend.Word
		planner.Sync(tx)
		planner.Ends(tx)
		for _, key := range keys {
			k := draft.ClaimKey{Backend: backendName, Key: key}
			c := tx.State.Claims.Of[k]
			if c == nil {
				continue
			}
			w := backend.Word{Claim: key}
			if w.Reason, w.Text = Word(tx, k, c); w.Text != "" {
				if c.Note != "" {
					w.Text += "; " + c.Note
				}
				out = append(out, w)
			}
		}
		return out, nil
	}
}

// wordMost is how many reasons one word gives.
const wordMost = 3

// Word is why the members of a claim wait that have no place.
func Word(tx *draft.Tx, k draft.ClaimKey, c *draft.Claim) (reason, text string) {
	d, err := consequence.StandsFor(tx, k, c)
	if err != nil || d == nil {
		return "", ""
	}
	if d.W.Phase.End() {
		if !consequence.Kept(d.W) {
			return "", ""
		}
		return string(d.W.Phase), fmt.Sprintf("workload %s of project %s is %s (%s); muster restart -p %s %s lets it run", d.W.Name, d.W.Project, d.W.Phase, d.W.Reason, d.W.Project, d.W.Name)
	}
	w, tasks, _ := tx.View(d.W.ID)
	p, ok := PendingOf(tx, w, tasks)
	held := w.Phase.Held()
	switch {
	case held && len(tx.State.Open(w, tasks)) == 0 || !ok || held:
		r, lacks := tx.State.Lacks(w, tasks)
		switch ex, explained := planner.Explain(tx, w.ID); {
		case lacks:
			p = OneReason(r)
		case tx.State.Wants(w, tasks) && explained:
			p.Explanation = named(tx, ex)
		case w.Phase == lifecycle.Terminating:
			return string(w.Phase), fmt.Sprintf("workload %s is being ended (%s); then it waits again", w.Name, w.Reason)
		default:
			return "", ""
		}
	}
	if len(p.Reasons) == 0 {
		return "", ""
	}
	var all []string
	for i := range p.Reasons[:min(len(p.Reasons), wordMost)] {
		all = append(all, p.Reasons[i].String())
	}
	return string(p.Reasons[0].Token), fmt.Sprintf("workload %s of project %s: %s", w.Name, w.Project, strings.Join(all, "; "))
}
