package engine_test

import (
	"testing"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/engine/submission"
)

// TestTasksKeepToNodesThatReachTheirVolumes: nodes say for which claims they are
// no use, of one project.
func TestTasksKeepToNodesThatReachTheirVolumes(t *testing.T) {
	s := newShift(t, 2)
	s.images = true
	s.open()
	const doc = `{"namePrefix":"train","image":"any","command":["fake"],"resources":{"gpu":1},"volumes":[{"path":"/sets","claim":"sets"}]}`
	for i := range s.nodes {
		s.nodes[i].Labels[core.LabelRuns] = core.RunsImages
	}
	s.do(engine.Inventory("p", s.nodes))
	placed := func(label string) core.NodeID {
		t.Helper()
		node := s.nodes[0]
		node.Labels = map[string]string{core.LabelRuns: core.RunsImages}
		if label != "" {
			node.Labels[label] = core.OutOfReach
		}
		s.do(engine.NodesChanged([]core.Node{node}, nil))
		w := s.run(doc)
		for _, a := range s.e.TakeActions() {
			if a.Kind == draft.ActStart && a.Task.Workload == w.ID {
				return a.Assignment.Node
			}
		}
		t.Fatalf("%s is %s", w.ID, w.Phase)
		return ""
	}
	w := s.run(doc)
	s.e.TakeActions()
	first := placed("")
	if first != s.nodes[0].ID {
		t.Fatalf("with no word of volumes it is on %s", first)
	}
	if at := placed(core.VolumeLabel(w.Project, "sets")); at == first {
		t.Errorf("it is on %s, which does not reach its volume", at)
	}
	if at := placed(core.VolumeLabel("another", "sets")); at != first {
		t.Errorf("it is on %s, because of another project's volume", at)
	}
}

// TestTasksKeepToNodesWhereTheyAreWelcome: nodes say which workloads others keep
// away from them.
func TestTasksKeepToNodesWhereTheyAreWelcome(t *testing.T) {
	s := newShift(t, 2)
	s.open()
	s.do(engine.Inventory("p", s.nodes))
	placed := func(unwelcome func(own core.WorkloadID) core.WorkloadID) core.NodeID {
		t.Helper()
		w := s.run(`{"namePrefix":"train","command":["fake"],"resources":{"gpu":1},"hold":true}`)
		node := s.nodes[0]
		node.Labels = map[string]string{}
		if of := unwelcome(w.ID); of != "" {
			node.Labels[core.UnwelcomeLabel(of)] = core.OutOfReach
		}
		s.do(engine.NodesChanged([]core.Node{node}, nil))
		s.do(submission.Release(submission.HoldRequest{Ref: draft.Ref{ID: w.ID}}))
		for _, a := range s.e.TakeActions() {
			if a.Kind == draft.ActStart && a.Task.Workload == w.ID {
				return a.Assignment.Node
			}
		}
		t.Fatalf("%s is not started", w.ID)
		return ""
	}
	first := placed(func(core.WorkloadID) core.WorkloadID { return "" })
	if first != s.nodes[0].ID {
		t.Fatalf("with no word of others it is on %s", first)
	}
	if at := placed(func(own core.WorkloadID) core.WorkloadID { return own }); at == first {
		t.Errorf("it is on %s, where others keep it away", at)
	}
	if at := placed(func(core.WorkloadID) core.WorkloadID { return "another" }); at != first {
		t.Errorf("it is on %s, because others keep another away", at)
	}
}
