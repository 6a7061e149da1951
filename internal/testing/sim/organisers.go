package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine/organisation"
)

// department is one that projects are moved below and away from.
const department core.ProjectID = "lab"

// organiserAct is what those ask who look after projects and nodes.
func (w *World) organiserAct() act {
	if w.one(3) {
		return w.nodeAct()
	}
	return w.projectAct()
}

// projectAct changes a project.
func (w *World) projectAct() act {
	project := projects[w.chance.IntN(len(projects)-1)]
	mode := []core.StopMode{core.StopNone, core.StopNone, core.StopHold, core.StopHoldAndDrain}[w.chance.IntN(4)]
	switch n := w.chance.IntN(16); {
	case n >= 13:
		return w.protection(project)
	case n >= 11:
		return w.quotaAct(project)
	case n < 2:
		return act{what: "create " + string(project), command: organisation.CreateProject(project)}
	case n < 6:
		return act{what: fmt.Sprintf("project %s: %q", project, mode), command: organisation.SetProject(organisation.RecordProject, project, mode, "sim")}
	case n < 7:
		return act{what: fmt.Sprintf("department %s: %q", department, mode), command: organisation.SetProject(organisation.RecordDepartment, department, mode, "sim")}
	case n < 8:
		parent := []core.ProjectID{"", department}[w.chance.IntN(2)]
		return act{what: fmt.Sprintf("project %s goes below %q", project, parent), command: organisation.Organise([]organisation.Edit{
			{What: organisation.RecordDepartment, Name: string(department), Project: func(*core.Project) error { return nil }},
			{What: organisation.RecordProject, Name: string(project), Project: func(p *core.Project) error { p.Parent = parent; return nil }},
		}, w.chance.IntN(8) == 0)}
	case n < 9:
		return act{what: "delete project " + string(project), command: organisation.Organise([]organisation.Edit{{What: organisation.RecordProject, Name: string(project), Drop: true}}, false)}
	default:
		r := w.someRules()
		return act{what: fmt.Sprintf("rules of %s: %+v", project, r), command: organisation.SetRules(project, r)}
	}
}

// quotaAct changes what a project, or the department, may have.
func (w *World) quotaAct(project core.ProjectID) act {
	r := w.chance
	what, name := organisation.RecordProject, string(project)
	if w.one(4) {
		what, name = organisation.RecordDepartment, string(department)
	}
	number := func(most int) *float64 {
		if w.one(6) {
			return nil
		}
		f := float64(r.IntN(2*most)) / 2
		return &f
	}
	q := core.ResourceQuota{Quota: number(8), Weight: number(3)}
	priority := 100 + r.IntN(2)
	text, err := json.Marshal(q)
	if err != nil {
		w.fail("%w", err)
	}
	return act{what: fmt.Sprintf("quota of %s %s: %s", what, name, text), command: organisation.Organise([]organisation.Edit{{What: what, Name: name, Project: func(p *core.Project) error {
		p.Pools, p.Priority = map[string]core.PoolQuota{core.AnyPool: {GPU: q}}, priority
		return nil
	}}}, false)}
}

// protection changes for how long what has started in a project is let alone.
func (w *World) protection(project core.ProjectID) act {
	length := func() *time.Duration {
		if w.one(3) {
			return nil
		}
		d := time.Duration(w.chance.IntN(60)) * time.Second
		return &d
	}
	preempt, reclaim, most := length(), length(), w.chance.IntN(6)
	return act{what: fmt.Sprintf("protection in %s, at most %d at once", project, most), command: organisation.Organise([]organisation.Edit{{What: organisation.RecordProject, Name: string(project), Project: func(p *core.Project) error {
		p.PreemptMinRuntime, p.ReclaimMinRuntime, p.MaxRunning = preempt, reclaim, most
		return nil
	}}}, false)}
}

// nodeAct changes what is said of a node.
func (w *World) nodeAct() act {
	ids := w.nodeIDs()
	id := ids[w.chance.IntN(len(ids))]
	switch n := w.chance.IntN(8); {
	case n < 3:
		r := organisation.DrainRequest{Node: id, Force: w.one(3), DryRun: w.one(5), Actor: "user:sim"}
		return act{what: fmt.Sprintf("drain %s, force %v, dry run %v", id, r.Force, r.DryRun), command: organisation.Drain(r)}
	case n < 6:
		return act{what: "uncordon " + string(id), command: organisation.CordonNode(id, false, "")}
	case n < 7:
		t := core.Taint{Key: "sim", Effect: []core.TaintEffect{core.NoSchedule, core.NoExecute}[w.chance.IntN(2)]}
		return act{what: fmt.Sprintf("taint %s %s", id, t), command: organisation.TaintNode(organisation.Tainting{Node: id, Set: []core.Taint{t}})}
	default:
		return act{what: "untaint " + string(id), command: organisation.TaintNode(organisation.Tainting{Node: id, Drop: []core.Taint{{Key: "sim"}}})}
	}
}

// nodeIDs are the nodes that backends report.
func (w *World) nodeIDs() []core.NodeID {
	var ids []core.NodeID
	for _, l := range w.links {
		nodes, err := l.backend.Inventory(context.Background())
		if err != nil {
			w.fail("inventory: %w", err)
		}
		for _, n := range nodes {
			ids = append(ids, n.ID)
		}
	}
	return ids
}
