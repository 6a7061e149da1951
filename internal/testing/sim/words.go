package sim

import (
	"context"
	"fmt"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/workload"
)

// words are what the dialects have said of everything that was committed.
type words struct {
	seen  map[lifecycle.Dialect]map[string]bool
	steps map[lifecycle.Dialect]map[string]bool                    // and of what only the history shows
	last  map[core.WorkloadID]map[lifecycle.Dialect]lifecycle.Word // ends only
}

func newWords() words {
	return words{
		seen: map[lifecycle.Dialect]map[string]bool{}, steps: map[lifecycle.Dialect]map[string]bool{},
		last: map[core.WorkloadID]map[lifecycle.Dialect]lifecycle.Word{},
	}
}

func noted(all map[lifecycle.Dialect]map[string]bool, d lifecycle.Dialect, w lifecycle.Word) {
	if all[d] == nil {
		all[d] = map[string]bool{}
	}
	status := w.Status
	var done, of int
	if n, _ := fmt.Sscanf(status, "Init:%d/%d", &done, &of); n == 2 {
		status = "Init:A/B"
	}
	all[d][status] = true
	if w.Reason != "" {
		all[d][status+" with a reason"] = true
	}
}

// observe notes what every dialect says of a change. A word that a platform calls
// an end stays, unless a user restarts or deletes.
func (o *watch) observe(c draft.Change) error {
	w := c.Workload
	var history []core.Transition
	if w.State.Leaving() {
		var err error
		if history, err = o.w.memory.Transitions(context.Background(), w.ID, 0, 0); err != nil {
			return err
		}
	}
	tasks := make([]core.Task, len(c.Tasks))
	for i, t := range c.Tasks {
		tasks[i] = *t
	}
	excused := w.State.Leaving()
	for _, t := range c.Transitions {
		excused = excused || t.Event == lifecycle.Restart
		v := lifecycle.View{Kind: w.Kind, State: lifecycle.State{Phase: t.To, Target: t.Target, Reason: t.Reason, Message: t.Message, Attempt: t.Attempt, Started: w.Started}}
		for _, d := range lifecycle.Dialects() {
			noted(o.words.steps, d, lifecycle.Say(d, v))
		}
	}
	v := workload.View(w, tasks, history)
	if o.words.last[w.ID] == nil || excused {
		o.words.last[w.ID] = map[lifecycle.Dialect]lifecycle.Word{}
	}
	for _, d := range lifecycle.Dialects() {
		word := lifecycle.Say(d, v)
		noted(o.words.seen, d, word)
		was, ended := o.words.last[w.ID][d]
		if ended && was.Status != word.Status && !exempt(was, word) {
			return fmt.Errorf("%s said %s, which is an end, and now says %s (%+v)", d, was.Status, word.Status, w.State)
		}
		if word.End {
			o.words.last[w.ID][d] = word
		}
	}
	return nil
}

// exempt is the one step that ModelArts' own documents make from an end.
func exempt(was, is lifecycle.Word) bool {
	return was.Status == "JOBSTAT_COMPLETED" && (is.Status == "JOBSTAT_SUBMIT_MODEL_FAILED" || is.Status == "JOBSTAT_DEPLOY_SERVICE_FAILED")
}

// add takes over what another world has heard.
func (w words) add(other words) {
	for _, pair := range [][2]map[lifecycle.Dialect]map[string]bool{{w.seen, other.seen}, {w.steps, other.steps}} {
		for d, all := range pair[1] {
			if pair[0][d] == nil {
				pair[0][d] = map[string]bool{}
			}
			for s := range all {
				pair[0][d][s] = true
			}
		}
	}
}
