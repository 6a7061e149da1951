package sim

import (
	"context"
	"fmt"
	"slices"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/org"
	"github.com/musterhq/muster/internal/core/schedule"
)

// physical (I1): the living tasks of a backend have at most all of a device. A task that a
// fault made vanish may have run twice; its workload does not count.
func (o *watch) physical() error {
	for _, l := range o.w.links {
		seen, err := l.backend.Observe(context.Background())
		if err != nil {
			return err
		}
		by := map[string]int{}
		for _, ob := range seen {
			a, ok := l.backend.Assigned(ob.ID)
			if !ok || ob.State.Ended() || o.lost[ob.ID.Workload] {
				continue
			}
			for _, s := range a.Devices {
				if by[s.Device] += s.Milli; by[s.Device] > 1000 {
					return fmt.Errorf("I1: tasks run on %d/1000 of device %s, %s among them", by[s.Device], s.Device, ob.ID)
				}
			}
		}
	}
	return nil
}

// tree is the tree of projects as it is stored.
func (o *watch) tree() (org.Tree, error) {
	projects, err := o.w.memory.Projects(context.Background())
	byID := map[core.ProjectID]core.Project{core.DefaultProject: {ID: core.DefaultProject}}
	for _, p := range projects {
		byID[p.ID] = p
	}
	return func(id core.ProjectID) (core.Project, bool) { p, ok := byID[id]; return p, ok }, err
}

// mayBeOverBudget reports whether a project has a budget that may keep its workloads.
func mayBeOverBudget(tree org.Tree, id core.ProjectID) bool {
	p, _ := tree(id)
	return slices.ContainsFunc(p.Budgets, func(b core.Budget) bool { return b.AtEnd != core.BudgetWarn })
}

// explained (I8): whoever waits is told why.
func (o *watch) explained() error {
	if o.w.disk.failed {
		return nil // the plan was taken back with the commit
	}
	entries, err := o.w.memory.Live(context.Background())
	if err != nil {
		return err
	}
	tree, err := o.tree()
	if err != nil {
		return err
	}
	open := map[core.ProjectID]bool{}
	for _, e := range entries {
		p, there := tree(e.Workload.Project)
		mode, _ := tree.Stopped(p.ID)
		open[e.Workload.Project] = there && mode == core.StopNone && !p.Department
	}
	var waiting []core.WorkloadID
	for _, e := range entries {
		if p := e.Workload.Phase; e.Workload.Hold != nil && p != lifecycle.Queued || p == lifecycle.Inadmissible && mayBeOverBudget(tree, e.Workload.Project) {
			// closed to it alone, or by what it costs
		} else if open[e.Workload.Project] == (p == lifecycle.Inadmissible) && (p == lifecycle.Inadmissible || p == lifecycle.Queued) {
			return fmt.Errorf("workload %s is %s; that its project is open is %v", e.Workload.Name, p, open[e.Workload.Project])
		}
		switch e.Workload.Phase {
		case lifecycle.Queued, lifecycle.Inadmissible, lifecycle.Backoff:
			waiting = append(waiting, e.Workload.ID)
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	all, err := o.w.pending(o.w.clock(), waiting)
	if o.w.disk.failed {
		return nil // it was tried again, in vain
	}
	if err != nil {
		return fmt.Errorf("I8: %w", err)
	}
	for _, id := range waiting {
		p, ok := all[id]
		if !ok || len(p.Reasons) == 0 {
			return fmt.Errorf("I8: workload %s waits and nobody says why", id)
		}
		for _, why := range p.Reasons {
			if why.Token == schedule.NotYetEvaluated || why.String() == "" {
				return fmt.Errorf("I8: workload %s waits because of %+v", id, why)
			}
		}
	}
	return nil
}
