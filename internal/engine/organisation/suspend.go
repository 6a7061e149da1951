package organisation

import (
	"strconv"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/decide"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/consequence"
	"github.com/musterhq/muster/internal/engine/draft"
)

// suspending says whom an edit makes leave that drains a project or department:
// who goes back to its queue, to go on when it is opened again, and who ends for
// good, as workspaces do.
func suspending(tx *draft.Tx, p *core.Project) []string {
	if was, there := tx.State.Projects[p.ID]; p.StopMode != core.StopHoldAndDrain || there && was.StopMode == core.StopHoldAndDrain {
		return nil
	}
	var back, end []string
	for id := range tx.Workloads() {
		w, _, ok := tx.View(id)
		if !ok || w.Project != p.ID && !tx.Tree().Below(w.Project, p.ID) || !w.Phase.Active() {
			continue
		}
		if name := string(w.Project) + "/" + w.Name; decide.AfterPreemption(w.Kind, w.Spec) == lifecycle.Preempted {
			end = append(end, name)
		} else {
			back = append(back, name)
		}
	}
	var out []string
	if len(back) > 0 {
		out = append(out, howMany(len(back), "goes", "go")+" back to the queue, to run again when it is opened: "+consequence.Few(back))
	}
	if len(end) > 0 {
		out = append(out, howMany(len(end), "ends", "end")+" for good, as Preempted: "+consequence.Few(end))
	}
	return out
}

func howMany(n int, one, more string) string {
	if n == 1 {
		return "1 workload " + one
	}
	return strconv.Itoa(n) + " workloads " + more
}
