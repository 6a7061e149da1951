package sim

import (
	"context"
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/engine/draft"
)

// deedsOf are what must have happened in some of many worlds, or they prove
// nothing of it.
func deedsOf() []string {
	return []string{
		"reclaimed", "preempted by priority", "relieved", "moved", "ran again and completed", "ended Preempted",
		"shared a device", "array gave a task", "array's task ran again", "array's task was told to run again", "array's ended task ran again", "tasks of an array were held", "array survived a node", "shrank", "grew", "ranks restarted", "survived a node", "followed another", "followed its fellow",
	}
}

// noted counts deeds.
func (o *watch) noted(c draft.Change) error {
	w := c.Workload
	for _, t := range c.Transitions {
		o.transition(w, t)
	}
	if len(w.HeldTasks) > 0 {
		o.deeds["tasks of an array were held"]++
	}
	for _, t := range c.Tasks {
		was, known := o.before[t.ID]
		switch {
		case !known && slices.ContainsFunc(t.Devices, func(s core.Share) bool { return s.Milli < 1000 && o.use[s.Device] > s.Milli }):
			o.deeds["shared a device"]++
		case known && t.Repeat && !was.Repeat:
			o.deeds["array's task was told to run again"]++
		case known && t.Leaving && !was.Leaving && w.Spec.Array != nil:
			o.deeds["array gave a task"]++
		case known && t.Again && !was.Again && !t.Leaving && t.State == core.TaskSucceeded:
			o.deeds["array's ended task ran again"]++
		case !known && t.ID.Run > 0:
			o.deeds["array's task ran again"]++
		case known && t.Again && !was.Again && t.Reason == string(lifecycle.ReasonNodeLost) && !t.Leaving:
			o.deeds["array survived a node"]++
		case known && w.Spec.Elastic() && t.Restarts > was.Restarts:
			o.deeds["ranks restarted"]++
		case known && w.Spec.Elastic() && t.Leaving && !was.Leaving && t.Reason == string(lifecycle.ReasonNodeLost):
			o.deeds["survived a node"]++
		}
	}
	return nil
}

// displacements are the deeds by which work is made to leave for others.
var displacements = map[lifecycle.Cause]string{
	lifecycle.CauseReclaim: "reclaimed", lifecycle.CausePreempt: "preempted by priority", lifecycle.CauseRelieve: "relieved",
}

func (o *watch) transition(w *core.Workload, t core.Transition) {
	switch {
	case t.To == lifecycle.Completed && t.Attempt > 0 && w.Attempts[t.Attempt-1].Event == lifecycle.Preempt:
		o.deeds["ran again and completed"]++
	case t.To == lifecycle.Preempted:
		o.deeds["ended Preempted"]++
	case t.Actor != "scheduler":
	case t.Event == lifecycle.Move:
		o.deeds["moved"]++
	case t.Event == lifecycle.Preempt:
		if deed := displacements[t.Cause]; deed != "" {
			o.deeds[deed]++
		}
	case t.Event == lifecycle.Scale && w.Spec.Elastic() && t.Cause == lifecycle.CauseNone:
		o.deeds["grew"]++
	case t.Event == lifecycle.Scale && w.Spec.Elastic():
		o.deeds["shrank"]++
	}
}

// inQuota (I7): what may not be displaced is only let in within the quota of
// its project and of every department above. What moves was let in before, and keeps
// its reservation though the quota may have become smaller since.
func (o *watch) inQuota(c draft.Change) error {
	w := c.Workload
	if o.hidden || len(c.Tasks) == 0 || *w.Spec.Preemptible || !slices.ContainsFunc(c.Transitions, func(t core.Transition) bool { return t.Event == lifecycle.Admit }) {
		return nil
	}
	if w.Attempt > 0 && w.Attempts[w.Attempt-1].Event == lifecycle.Move {
		return nil
	}
	tree, err := o.tree()
	if err != nil {
		return err
	}
	asked := w.Spec.TotalMilli()
	for id := w.Project; id != "" && asked > 0; {
		p, ok := tree(id)
		if !ok {
			return nil
		}
		if q := p.QuotaIn(c.Tasks[0].Backend).GPU.Quota; q != nil {
			held, err := o.fixed(id, c.Tasks[0].Backend)
			if err != nil {
				return err
			}
			if float64(held) > *q*1000+0.5 {
				return fmt.Errorf("I7: %d/1000 devices of %s are held by what may not be displaced, its quota is %v", held, id, *q)
			}
		}
		id = p.Parent
	}
	return nil
}

// fixed is what work that may not be displaced holds of a pool, in thousandths
// of devices, in a project or below a department.
func (o *watch) fixed(id core.ProjectID, pool string) (held int, err error) {
	tree, err := o.tree()
	if err != nil {
		return 0, err
	}
	entries, err := o.w.memory.Live(context.Background())
	for _, e := range entries {
		inside := false
		for at := e.Workload.Project; at != "" && !inside; {
			inside = at == id
			p, _ := tree(at)
			at = p.Parent
		}
		if !inside || *e.Workload.Spec.Preemptible || !e.Workload.Phase.Held() || e.Workload.Phase == lifecycle.Terminating {
			continue
		}
		for _, t := range e.Tasks {
			if t.Backend == pool && t.State.Held() && t.State != core.TaskStopping {
				for _, s := range t.Devices {
					held += s.Milli
				}
			}
		}
	}
	return held, err
}
