package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// ClaimsWaiting are the keys of claims of a backend that have members without a
// place; the value is a []string.
func ClaimsWaiting(backendName string) Command {
	return func(tx *tx) (any, error) {
		var out []string
		for k, c := range tx.e.Claims.Of {
			if k.backend != backendName {
				continue
			}
			for _, m := range c.members {
				if m.Task == (core.TaskID{}) {
					out = append(out, k.key)
					break
				}
			}
		}
		slices.Sort(out)
		return out, nil
	}
}

// WordsOf is why claims of a backend wait; the value is a []backend.Word. Those that
// do not are left out.
func WordsOf(backendName string, keys []string) Command {
	return func(tx *tx) (any, error) {
		var out []backend.Word
		tx.sync()
		tx.ends()
		for _, key := range keys {
			k := claimKey{backendName, key}
			c := tx.e.Claims.Of[k]
			if c == nil {
				continue
			}
			w := backend.Word{Claim: key}
			if w.Reason, w.Text = tx.word(k, c); w.Text != "" {
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

// word is why the members of a claim wait that have no place.
func (tx *tx) word(k claimKey, c *claim) (reason, text string) {
	d, err := tx.standsFor(k, c)
	if err != nil || d == nil {
		return "", ""
	}
	if d.w.Phase.End() {
		if !kept(d.w) {
			return "", ""
		}
		return string(d.w.Phase), fmt.Sprintf("workload %s of project %s is %s (%s); muster restart -p %s %s lets it run", d.w.Name, d.w.Project, d.w.Phase, d.w.Reason, d.w.Project, d.w.Name)
	}
	w, tasks, _ := tx.view(d.w.ID)
	p, ok := tx.phase(w, tasks)
	held := w.Phase.Held()
	switch {
	case held && len(tx.e.open(w, tasks)) == 0 || !ok || held:
		r, lacks := tx.e.lacks(w, tasks)
		switch ex, explained := tx.explain(w.ID); {
		case lacks:
			p = one(r)
		case tx.e.wants(w, tasks) && explained:
			p.Explanation = tx.named(ex)
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
