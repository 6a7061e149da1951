package organisation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/decide"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/org"
	"github.com/musterhq/muster/internal/core/schedule"
	"github.com/musterhq/muster/internal/core/schedule/explain"
	"github.com/musterhq/muster/internal/engine/consequence"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/planner"
	"github.com/musterhq/muster/internal/engine/workload"
)

// CordonNode keeps new work from a node, or lets it in again, which ends a drain
// too.
func CordonNode(id core.NodeID, on bool, note string) draft.Command[[]Edited] {
	return Organise([]Edit{{What: RecordNode, Name: string(id), Node: func(s *core.NodeSetting, reported core.Node) error {
		if !on && reported.Cordon {
			return &draft.Error{Code: draft.CodeConflict, Message: fmt.Sprintf("backend %s itself keeps work from node %s", reported.Backend, id), Hint: "let it in there, such as with kubectl uncordon"}
		}
		s.Cordon, s.Note = on, note
		s.Drain = s.Drain && on
		return nil
	}}}, false)
}

// LabelNode sets and drops labels of a node.
func LabelNode(id core.NodeID, set map[string]string, drop []string) draft.Command[[]Edited] {
	return Organise([]Edit{{What: RecordNode, Name: string(id), Node: func(s *core.NodeSetting, reported core.Node) error {
		return Label(s, reported, set, drop)
	}}}, false)
}

// Label sets and drops labels of what is said of a node.
func Label(s *core.NodeSetting, reported core.Node, set map[string]string, drop []string) error {
	for _, key := range slices.Sorted(maps.Keys(set)) {
		if key == core.LabelCluster || key == core.LabelRuns {
			return &draft.Error{Code: draft.CodeConflict, Field: "labels." + key, Message: fmt.Sprintf("label %s says what backend %s is; it cannot be changed", key, reported.Backend), Hint: "use a label of another name"}
		}
		if err := org.CheckLabel("labels."+key, core.Label{Key: key, Value: set[key]}); err != nil {
			return err
		}
		draft.Put(&s.Labels, key, set[key])
	}
	for _, key := range drop {
		_, own := s.Labels[key]
		if _, there := reported.Labels[key]; !own && there {
			return &draft.Error{Code: draft.CodeConflict, Field: "labels." + key, Message: fmt.Sprintf("backend %s reports this label; it cannot be dropped here", reported.Backend), Hint: fmt.Sprintf("muster node label %s %s=VALUE gives it another value", s.ID, key)}
		}
		delete(s.Labels, key)
	}
	return nil
}

// Tainting is a change of the taints of a node.
type Tainting struct {
	Node core.NodeID
	Set  []core.Taint // one of the same key and effect is replaced
	Drop []core.Taint // without an effect: all of that key
}

// TaintNode sets and drops taints of a node. What runs there is moved away where a
// new taint says NoExecute.
func TaintNode(r Tainting) draft.Command[[]Edited] {
	return Organise([]Edit{{What: RecordNode, Name: string(r.Node), Node: r.Apply}}, false)
}

// expel moves what runs away from nodes that have a new taint NoExecute.
func expel(tx *draft.Tx, edits []Edit, was draft.OrganisationDraft) error {
	for _, e := range edits {
		id := core.NodeID(e.Name)
		if e.What != RecordNode {
			continue
		}
		before := tx.State.Settings[id]
		if s := was.Nodes[id]; s != nil {
			before = *s
		}
		for _, t := range tx.Setting(id).Taints {
			if t.Effect != core.NoExecute || slices.Contains(before.Taints, t) {
				continue
			}
			message := fmt.Sprintf("node %s was given the taint %s", id, t)
			if _, err := vacate(tx, id, vacation{actor: draft.ActorControl, message: message, do: true}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Apply sets and drops taints of what is said of a node.
func (r Tainting) Apply(s *core.NodeSetting, reported core.Node) error {
	for _, t := range r.Drop {
		same := func(x core.Taint) bool { return x.Key == t.Key && (t.Effect == "" || x.Effect == t.Effect) }
		left := slices.DeleteFunc(slices.Clone(s.Taints), same)
		if len(left) == len(s.Taints) && slices.ContainsFunc(reported.Taints, same) {
			return &draft.Error{Code: draft.CodeConflict, Field: "taints", Message: fmt.Sprintf("backend %s reports the taint %s; it cannot be dropped here", reported.Backend, t.Key), Hint: "drop it there, such as with kubectl taint"}
		}
		s.Taints = left
	}
	for _, t := range r.Set {
		if err := org.CheckTaint(t); err != nil {
			return err
		}
		s.Taints = slices.DeleteFunc(slices.Clone(s.Taints), func(x core.Taint) bool { return x.Key == t.Key && x.Effect == t.Effect })
		s.Taints = append(s.Taints, t)
	}
	slices.SortFunc(s.Taints, func(a, b core.Taint) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Effect, b.Effect))
	})
	return nil
}

// DrainRequest empties a node.
type DrainRequest struct {
	Node   core.NodeID
	Force  bool // also what is not preemptible
	DryRun bool
	Note   string
	Actor  string
}

// Drained is what a drain does, or would do.
type Drained struct {
	Node  core.NodeID
	Steps []DrainStep
}

// DrainStep is what becomes of one workload that has tasks on a node.
type DrainStep struct {
	Workload *core.Workload
	Tasks    int // on the node
	GPUMilli int // of the node's devices, held by them
	Do       DrainWord
	// Within is how long its tasks have to end once they are told; By is when it
	// ends by itself at the latest, where that is known.
	Within time.Duration
	By     time.Time
}

// DrainWord says what becomes of a workload.
type DrainWord string

// What becomes of workloads on a node that is drained.
const (
	DrainMoves  DrainWord = "move"   // it starts again on other nodes
	DrainParks  DrainWord = "park"   // it is ended as well, and no other node could take it: it waits
	DrainWaits  DrainWord = "wait"   // it is not preemptible: it runs to its own end
	DrainEnding DrainWord = "ending" // it is on its way out
)

// Drain keeps new work from a node and has what runs there move away. What is not
// preemptible is waited for, unless forced.
func Drain(r DrainRequest) draft.Command[*Drained] {
	return func(tx *draft.Tx) (*Drained, error) {
		was := tx.Org.Clone()
		_, err := Apply(tx, []Edit{{What: RecordNode, Name: string(r.Node), Node: func(s *core.NodeSetting, _ core.Node) error {
			s.Cordon, s.Drain, s.Note = true, true, r.Note
			return nil
		}}})
		var steps []DrainStep
		if err == nil {
			message := fmt.Sprintf("node %s is drained%s", r.Node, planner.Noted(r.Note))
			steps, err = vacate(tx, r.Node, vacation{actor: r.Actor, message: message, force: r.Force, do: !r.DryRun})
		}
		if err != nil || r.DryRun {
			tx.Org = was
			tx.Survey()
		}
		return &Drained{Node: r.Node, Steps: steps}, err
	}
}

// vacation is how a node is emptied.
type vacation struct {
	actor, message string
	force          bool // also of what is not preemptible
	do             bool // or only say what would be done
}

// vacate has everything on a node that may be displaced move away.
func vacate(tx *draft.Tx, id core.NodeID, v vacation) ([]DrainStep, error) {
	var steps []DrainStep
	for _, wid := range slices.Sorted(maps.Keys(tx.State.Held)) {
		w, tasks, ok := tx.View(wid)
		if !ok {
			continue
		}
		s := DrainStep{Workload: w, Do: DrainMoves, Within: w.Grace()}
		for _, t := range tasks.Open() {
			if t.Node == id && workload.Holds(w, t) {
				s.Tasks++
				s.GPUMilli += int(workload.MilliOf(w, t))
			}
		}
		if s.Tasks == 0 {
			continue
		}
		_, illegal := lifecycle.Next(w.State, lifecycle.Input{On: lifecycle.Move})
		switch {
		case illegal != nil:
			s.Do = DrainEnding
		case !*w.Spec.Preemptible && !v.force:
			s.Do, s.Within = DrainWaits, 0
			if end, ok := tx.FirstEnd(w); ok {
				s.By = end.At
			}
		case !w.Kind.Foreign() && !fitsBeside(tx, w, id):
			s.Do = DrainParks
		}
		steps = append(steps, s)
	}
	if !v.do {
		return steps, nil
	}
	for _, s := range steps {
		if s.Do != DrainMoves && s.Do != DrainParks {
			continue
		}
		d, _ := tx.Open(s.Workload.ID)
		err := tx.Change(d, func() error {
			switch {
			case d.W.Kind.Replicated():
				return replace(tx, d, id, true)
			case d.W.Spec.Array != nil && workload.HoldsElsewhere(d.Tasks, id):
				return consequence.Gives(tx, d, id, v.message, v.actor)
			}
			if d.W.Kind.Foreign() {
				return expelMembers(tx, d, id, v)
			}
			return consequence.End(tx, d, lifecycle.Input{On: lifecycle.Move, Cause: lifecycle.CauseDrain, Message: v.message}, v.actor)
		})
		if err != nil {
			return nil, err
		}
	}
	return steps, nil
}

// replace has others take over from the replicas on a node, as in an update, or
// keeps them there after all. It must run inside change.
func replace(tx *draft.Tx, d *draft.Draft, id core.NodeID, away bool) error {
	for _, t := range workload.SortedTasks(d.Tasks) {
		if t.Node != id || !workload.Wanted(t) || t.Away == away {
			continue
		}
		c := *t
		c.Away = away
		d.SetTask(c)
		if away && !c.RestartAt.IsZero() {
			consequence.Leave(tx, d, &c) // it would be started again here
		}
	}
	tx.State.Dirty = true
	return consequence.Conclude(tx, d)
}

// stay keeps the replicas on nodes whose drain has ended.
func stay(tx *draft.Tx, edits []Edit) error {
	for _, e := range edits {
		id := core.NodeID(e.Name)
		if e.What != RecordNode || tx.Setting(id).Drain || !tx.State.Settings[id].Drain {
			continue
		}
		for _, wid := range slices.Sorted(maps.Keys(tx.State.Held)) {
			w, tasks, ok := tx.View(wid)
			if !ok || !w.Kind.Replicated() || !slices.ContainsFunc(workload.SortedTasks(tasks), func(t *core.Task) bool { return t.Node == id && t.Away }) {
				continue
			}
			d, _ := tx.Open(wid)
			if err := tx.Change(d, func() error { return replace(tx, d, id, false) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// fitsBeside reports whether the other nodes could ever take w.
func fitsBeside(tx *draft.Tx, w *core.Workload, id core.NodeID) bool {
	var others []schedule.Node
	for _, n := range tx.State.Nodes {
		if n.ID != id && !n.Cordon {
			others = append(others, planner.BareSite(n))
		}
	}
	st, ok := explain.Bare(others), false
	if f := st.Safely(func() { _, ok = explain.Fits(st, tx.State.Fresh(w.Spec)) }); f != nil {
		tx.State.Failed(f)
	}
	return ok
}

// expelMembers has the members on a node leave. Of a gang that would be too few
// then all do. It must run inside change.
func expelMembers(tx *draft.Tx, d *draft.Draft, id core.NodeID, v vacation) error {
	var there []*core.Task
	for _, t := range workload.SortedTasks(d.Tasks) {
		if t.Node == id && workload.Wanted(t) {
			there = append(there, t)
		}
	}
	if d.W.Spec.TerminateAfterPreemption || !consequence.ShedsMembers(d, len(there)) {
		return consequence.End(tx, d, lifecycle.Input{On: lifecycle.Preempt, Target: decide.AfterPreemption(d.W.Kind, d.W.Spec), Cause: lifecycle.CauseDrain, Message: v.message}, v.actor)
	}
	for _, t := range there {
		consequence.Leave(tx, d, t)
	}
	return consequence.Conclude(tx, d)
}
