package control_test

import (
	"testing"

	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
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
	s.do(control.Inventory("p", s.nodes))
	placed := func(label string) core.NodeID {
		t.Helper()
		node := s.nodes[0]
		node.Labels = map[string]string{core.LabelRuns: core.RunsImages}
		if label != "" {
			node.Labels[label] = core.OutOfReach
		}
		s.do(control.NodesChanged([]core.Node{node}, nil))
		w := s.run(doc)
		for _, a := range s.e.TakeActions() {
			if a.Kind == control.ActStart && a.Task.Workload == w.ID {
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
